"""gpt-oss: attention sinks, a clamped gate, softmax over the chosen experts, windows in even layers."""

from llama.kernels.graph import Graph, Value
from llama.models.blocks import decoder, experts, grouped_attention, routing, sequential_block
from llama.models.hparams import HParams
from llama.models.layer import Layer
from llama.models.registry import architecture
from llama.models.rope import HALVES, make_rope
from llama.models.weights import Weights
from llama.models.windows import windows


@architecture("gpt-oss")
def gpt_oss(g: Graph, h: HParams, w: Weights) -> None:
    """post_attention_norm is the norm before the experts."""
    base = h.keys.number("rope.freq_base", 10000.0)
    full = make_rope(h, w, HALVES, head=h.n_rot)
    near = make_rope(h, w, HALVES, head=h.n_rot, base=h.keys.number("rope.freq_base_swa", base))
    sizes = windows(h, 2)

    def attention(layer: Layer, x: Value) -> Value:
        window = sizes[layer.il]
        sinks = layer.w.get("attn_sinks.weight", layer.n_head)
        return grouped_attention(layer, x, rope=near if window else full, window=window, sinks=sinks)

    def ffn(layer: Layer, x: Value) -> Value:
        route = routing(layer, "none", softmax_chosen=True)
        return experts(layer, x, route, combine=clamped_swiglu)

    decoder(g, h, w, sequential_block(attention, ffn, ffn_norm="post_attention_norm"))


def clamped_swiglu(layer: Layer, gate: Value, up: Value) -> Value:
    """min(g, 7) * sigmoid(1.702 g) * (clamp(u) + 1)."""
    g = layer.g
    gate = g.clamp(gate, float("-inf"), 7.0)
    return g.gate(gate, g.scale(g.clamp(up, -7.0, 7.0), 1.0, 1.0), "gelu_quick")
