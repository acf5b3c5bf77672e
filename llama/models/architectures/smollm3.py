"""SmolLM 3: a llama layer whose every fourth has no positions."""

from llama.kernels.graph import Graph, Value
from llama.models.blocks import decoder, gated_ffn, grouped_attention, sequential_block
from llama.models.hparams import HParams
from llama.models.layer import Layer
from llama.models.registry import architecture
from llama.models.rope import NEIGHBOURS, make_rope
from llama.models.weights import Weights


@architecture("smollm3")
def smollm3(g: Graph, h: HParams, w: Weights) -> None:
    """The step of four is fixed in llama.cpp too."""
    rope = make_rope(h, w, NEIGHBOURS)

    def attention(layer: Layer, x: Value) -> Value:
        return grouped_attention(layer, x, rope=rope if (layer.il + 1) % 4 else None)

    decoder(g, h, w, sequential_block(attention, gated_ffn))
