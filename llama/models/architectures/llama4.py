"""Llama 4: chunked attention, layers without positions, experts whose weights multiply their input."""

from llama.kernels.graph import Graph, Value
from llama.models.blocks import attend, decoder, experts, gated_ffn, qkv, routing, sequential_block, shared_expert
from llama.models.blocks.attention import temperature
from llama.models.hparams import HParams
from llama.models.layer import Layer, plain_norm
from llama.models.registry import architecture
from llama.models.rope import NEIGHBOURS, make_rope
from llama.models.weights import Weights
from llama.models.windows import windowed

#: Positions of a chunk, and of one step of the temperature; fixed in llama.cpp too.
CHUNK = 8192


@architecture("llama4")
def llama4(g: Graph, h: HParams, w: Weights) -> None:
    """Every fourth layer has no positions and grows warmer. 128 experts (Maverick) leave q and k un-normed."""
    rope, chunked = make_rope(h, w, NEIGHBOURS), windowed(h, 4)
    whole = h.keys.has("attention.sliding_window") and h.keys.integer("attention.sliding_window") == 0
    normed = h.n_expert != 128

    def attention(layer: Layer, x: Value) -> Value:
        q, k, v = qkv(layer, x)
        if (layer.il + 1) % (h.n_layer if whole else 4):
            q, k = g.rope(q, rope), g.rope(k, rope)
            if normed:
                q, k = (plain_norm(g, h, part, size=h.head_k) for part in (q, k))
        elif not whole:
            q = temperature(layer, q, scale=0.1, length=CHUNK, offset=1.0)
        mixed = attend(layer, q, k, v, chunk=CHUNK if chunked[layer.il] and not whole else 0)
        return layer.linear(mixed, "attn_output", h.n_embd)

    decoder(g, h, w, sequential_block(attention, llama4_ffn))


def llama4_ffn(layer: Layer, x: Value) -> Value:
    """A gated network, or experts chosen by raw logits next to a shared one of the same width."""
    if not layer.w.has("ffn_gate_inp.weight"):
        return gated_ffn(layer, x)
    route = routing(layer, "none", sigmoid_chosen=True)
    return layer.g.add(experts(layer, x, route, weights_first=True), shared_expert(layer, x))
