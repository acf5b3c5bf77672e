"""SmallThinker: the router looks at the layer before any norm, experts gated by ReLU."""

from llama.kernels.graph import Graph, Value
from llama.models.blocks import decoder, experts, grouped_attention, routing
from llama.models.hparams import HParams
from llama.models.layer import Layer
from llama.models.registry import architecture
from llama.models.rope import HALVES, make_rope
from llama.models.weights import Weights
from llama.models.windows import windowed

#: The window of windowed layers, whatever the metadata says; fixed in llama.cpp too.
WINDOW = 4096


@architecture("smallthinker")
def smallthinker(g: Graph, h: HParams, w: Weights) -> None:
    """With a window in the metadata every fourth layer is a full one without positions, beginning with the first."""
    local = windowed(h, 4, dense_first=True) if h.keys.integer("attention.sliding_window", 0) else (False,) * h.n_layer
    base = h.keys.number("rope.freq_base_swa", h.keys.number("rope.freq_base", 10000.0))
    full, near = make_rope(h, w, HALVES, factors=False), make_rope(h, w, HALVES, base=base, factors=False)

    def block(layer: Layer, x: Value) -> Value:
        scores = layer.linear(x, "ffn_gate_inp", h.n_expert)
        here = local[layer.il]
        rope = (near if here else full) if layer.il % 4 or not any(local) else None
        out = grouped_attention(layer, layer.norm(x, "attn_norm"), rope=rope, window=WINDOW if here else 0)
        out, x, scores = layer.wanted(out, x, scores)
        x = g.add(out, x)
        route = routing(layer, normalise=True)
        return g.add(experts(layer, layer.norm(x, "ffn_norm"), route, act="relu", router_logits=scores), x)

    decoder(g, h, w, block)
