"""Gemma 3 and EmbeddingGemma: five windowed layers, then a full one, each kind with its own rotation."""

from functools import partial

from llama.kernels.graph import Graph, Value
from llama.models.blocks import decoder, gated_ffn, grouped_attention, sequential_block
from llama.models.hparams import HParams
from llama.models.layer import Layer
from llama.models.registry import architecture
from llama.models.rope import HALVES, make_rope
from llama.models.weights import Weights
from llama.models.windows import windows


@architecture("gemma3")
def gemma3(g: Graph, h: HParams, w: Weights) -> None:
    """Windowed layers rotate unstretched, base 10000. 62 layers (27B) scale scores by n_embd / n_head."""
    full = make_rope(h, w, HALVES)
    near = make_rope(h, w, HALVES, base=h.keys.number("rope.freq_base_swa", 10000.0), scaled=False)
    sizes = windows(h, 6)
    scale = (h.n_embd // h.n_head if h.n_layer == 62 else h.head_k) ** -0.5

    def attention(layer: Layer, x: Value) -> Value:
        window = sizes[layer.il]
        return grouped_attention(layer, x, rope=near if window else full, window=window, scale=scale)

    block = sequential_block(attention, partial(gated_ffn, act="gelu"))
    softcap = h.keys.number("final_logit_softcapping", 0.0)
    decoder(g, h, w, block, embedding_scale=h.n_embd**0.5, softcap=softcap)
