"""EXAONE 4: norms after attention and network only, query and key heads normed."""

from llama.kernels.graph import Graph, Value
from llama.models.blocks import decoder, gated_ffn, grouped_attention, sequential_block
from llama.models.hparams import HParams
from llama.models.layer import Layer
from llama.models.registry import architecture
from llama.models.rope import HALVES, make_rope
from llama.models.weights import Weights
from llama.models.windows import windows


@architecture("exaone4")
def exaone4(g: Graph, h: HParams, w: Weights) -> None:
    """Exactly 64 layers (32B) switch windows on; full layers have no positions then."""
    rope = make_rope(h, w, HALVES)
    sizes = windows(h, 4, default=4096) if h.n_layer == 64 else (0,) * h.n_layer
    near = make_rope(h, w, HALVES, base=h.keys.number("rope.freq_base_swa", h.keys.number("rope.freq_base", 10000.0)))

    def attention(layer: Layer, x: Value) -> Value:
        window = sizes[layer.il]
        turn = near if window else None if any(sizes) else rope
        return grouped_attention(layer, x, rope=turn, window=window)

    decoder(g, h, w, sequential_block(attention, gated_ffn))
