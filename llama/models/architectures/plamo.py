"""PLaMo 1 and 3: attention and network side by side (1), or norms after each (3)."""

from functools import partial

from llama.kernels.graph import Graph, Value
from llama.models.blocks import decoder, gated_ffn, grouped_attention, parallel_block, sequential_block
from llama.models.hparams import HParams
from llama.models.layer import Layer
from llama.models.registry import architecture
from llama.models.rope import HALVES, make_rope
from llama.models.weights import Weights
from llama.models.windows import windows


@architecture("plamo")
def plamo(g: Graph, h: HParams, w: Weights) -> None:
    """Both parts read one norm; the whole head rotates."""
    attention = partial(grouped_attention, rope=make_rope(h, w, HALVES, n_rot=h.head_k, factors=False))
    decoder(g, h, w, parallel_block(attention, gated_ffn))


@architecture("plamo3")
def plamo3(g: Graph, h: HParams, w: Weights) -> None:
    """Seven windowed layers, then a full one. The norms after each part have no ".weight" in their names."""
    full = make_rope(h, w, HALVES, factors=False)
    base = h.keys.number("rope.freq_base_swa", 10000.0)
    near = make_rope(h, w, HALVES, base=base, scaled=False, factors=False)
    sizes = windows(h, 8)

    def attention(layer: Layer, x: Value) -> Value:
        window = sizes[layer.il]
        return grouped_attention(layer, x, rope=near if window else full, window=window)

    decoder(g, h, w, sequential_block(attention, gated_ffn))
