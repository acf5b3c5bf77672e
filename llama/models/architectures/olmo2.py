"""OLMo 2 and 3: norms after attention and network only, queries and keys normed over their whole width."""

from llama.kernels.graph import Graph, Value
from llama.models.blocks import decoder, gated_ffn, grouped_attention, sequential_block
from llama.models.hparams import HParams
from llama.models.layer import Layer
from llama.models.registry import architecture
from llama.models.rope import HALVES, make_rope
from llama.models.weights import Weights
from llama.models.windows import windows


@architecture("olmo2")
def olmo2(g: Graph, h: HParams, w: Weights) -> None:
    """Windowed layers (OLMo 3) rotate as if there were no scaling."""
    full = make_rope(h, w, HALVES, factors=False)
    near = make_rope(h, w, HALVES, plain=True)
    sizes = windows(h, 4)

    def attention(layer: Layer, x: Value) -> Value:
        window = sizes[layer.il]
        return grouped_attention(layer, x, rope=near if window else full, window=window)

    decoder(g, h, w, sequential_block(attention, gated_ffn))
