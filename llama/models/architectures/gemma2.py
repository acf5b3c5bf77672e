"""Gemma 2: soft caps on scores and logits, windows in even layers, norms after attention and network too."""

from functools import partial

from llama.kernels.graph import Graph, Value
from llama.models.blocks import decoder, gated_ffn, grouped_attention, sequential_block
from llama.models.hparams import HParams
from llama.models.layer import Layer
from llama.models.registry import architecture
from llama.models.rope import HALVES, make_rope
from llama.models.weights import Weights
from llama.models.windows import windows


@architecture("gemma2")
def gemma2(g: Graph, h: HParams, w: Weights) -> None:
    """Windowed layers may have a rope base of their own. 46 layers (27B) scale scores by n_embd / n_head."""
    base = h.keys.number("rope.freq_base", 10000.0)
    full = make_rope(h, w, HALVES)
    near = make_rope(h, w, HALVES, base=h.keys.number("rope.freq_base_swa", base))
    sizes = windows(h, 2, default=4096)
    scale = (h.n_embd // h.n_head if h.n_layer == 46 else h.head_k) ** -0.5
    cap = h.keys.number("attn_logit_softcapping", 50.0)

    def attention(layer: Layer, x: Value) -> Value:
        window = sizes[layer.il]
        return grouped_attention(layer, x, rope=near if window else full, window=window, scale=scale, softcap=cap)

    block = sequential_block(attention, partial(gated_ffn, act="gelu"))
    softcap = h.keys.number("final_logit_softcapping", 30.0)
    decoder(g, h, w, block, embedding_scale=h.n_embd**0.5, softcap=softcap)
