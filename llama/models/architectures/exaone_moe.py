"""EXAONE MoE: windowed layers that rotate, full ones without positions, a shared expert."""

from functools import partial

from llama.kernels.graph import Graph, Value
from llama.models.blocks import decoder, dense_or_experts, grouped_attention, sequential_block
from llama.models.hparams import HParams
from llama.models.layer import Layer
from llama.models.registry import architecture
from llama.models.rope import HALVES, make_rope
from llama.models.weights import Weights
from llama.models.windows import windows


@architecture("exaone-moe")
def exaone_moe(g: Graph, h: HParams, w: Weights) -> None:
    """Three windowed layers, then a full one; query and key heads are normed."""
    base = h.keys.number("rope.freq_base_swa", h.keys.number("rope.freq_base", 10000.0))
    rope, sizes = make_rope(h, w, HALVES, base=base), windows(h, 4)

    def attention(layer: Layer, x: Value) -> Value:
        window = sizes[layer.il]
        return grouped_attention(layer, x, rope=rope if window else None, window=window)

    shared = h.keys.integer("expert_shared_feed_forward_length", 0) or h.keys.integer("expert_feed_forward_length")
    decoder(g, h, w, sequential_block(attention, partial(dense_or_experts, shared=shared)))
