"""StableLM: LayerNorm, a quarter of each head rotates; q and k norms with a weight for each head."""

from functools import partial

from llama.kernels.graph import Graph, Value
from llama.models.blocks import decoder, gated_ffn, grouped_attention, parallel_block, sequential_block
from llama.models.hparams import HParams
from llama.models.layer import Layer
from llama.models.registry import architecture
from llama.models.rope import HALVES, make_rope
from llama.models.weights import Weights


@architecture("stablelm")
def stablelm(g: Graph, h: HParams, w: Weights) -> None:
    """Layers without ffn_norm run attention and network side by side, whatever the metadata says."""
    attention = partial(grouped_attention, rope=make_rope(h, w, HALVES))
    side_by_side, in_turn = parallel_block(attention, gated_ffn), sequential_block(attention, gated_ffn)

    def block(layer: Layer, x: Value) -> Value:
        return (in_turn if layer.w.has("ffn_norm.weight") else side_by_side)(layer, x)

    decoder(g, h, w, block)
