"""Encoders with norms before each part: EmbeddingGemma, ModernBERT, NeoBERT, EuroBERT."""

from collections.abc import Sequence
from functools import partial

from llama.kernels.graph import Graph, Unary, Value
from llama.models.blocks import Block, Mixer, embed, gated_ffn, grouped_attention, sequential_block
from llama.models.hparams import HParams
from llama.models.layer import Layer, layers, weighted_norm
from llama.models.registry import architecture
from llama.models.rope import HALVES, NEIGHBOURS, make_rope
from llama.models.weights import Weights
from llama.models.windows import windows


@architecture("gemma-embedding")
def gemma_embedding(g: Graph, h: HParams, w: Weights) -> None:
    """Gemma 3 without a mask, with symmetric windows."""
    block = sequential_block(windowed_attention(h, w, windows(h, 6)), partial(gated_ffn, act="gelu"))
    pre_norm_encoder(g, h, w, embed(g, h, w, h.n_embd**0.5), block)


@architecture("modern-bert")
def modern_bert(g: Graph, h: HParams, w: Weights) -> None:
    """Two symmetric windows after a full layer; the first layer has no attention norm."""
    attention = windowed_attention(h, w, windows(h, 3, dense_first=True))
    act: Unary = "silu" if h.keys.text("hidden_activation", "gelu") in ("silu", "swish") else "gelu"
    x = weighted_norm(g, h, w, embed(g, h, w), "token_embd_norm")
    pre_norm_encoder(g, h, w, x, sequential_block(attention, partial(gated_ffn, act=act)))


@architecture("neo-bert", "eurobert")
def rotated_encoder(g: Graph, h: HParams, w: Weights) -> None:
    """A llama layer without a mask; NeoBERT rotates neighbours, EuroBERT halves."""
    pairing = NEIGHBOURS if h.architecture == "neo-bert" else HALVES
    attention = partial(grouped_attention, rope=make_rope(h, w, pairing, factors=False), causal=False)
    pre_norm_encoder(g, h, w, embed(g, h, w), sequential_block(attention, gated_ffn))


def windowed_attention(h: HParams, w: Weights, sizes: Sequence[int]) -> Mixer:
    """Attention without a mask; windowed layers have a rotation base of their own and no scaling."""
    full = make_rope(h, w, HALVES, factors=False)
    base = h.keys.number("rope.freq_base_swa", 10000.0)
    near = make_rope(h, w, HALVES, base=base, scaled=False, factors=False)

    def attention(layer: Layer, x: Value) -> Value:
        window = sizes[layer.il]
        rope = near if window else full
        return grouped_attention(layer, x, rope=rope, window=window, symmetric=True, causal=False)

    return attention


def pre_norm_encoder(g: Graph, h: HParams, w: Weights, x: Value, block: Block) -> None:
    """The layers and a last norm, which NeoBERT calls enc.output_norm. There are no logits."""
    for layer in layers(g, h, w):
        x = block(layer, x)
    name = w.first("output_norm.weight", "enc.output_norm.weight").removesuffix(".weight")
    g.finish(weighted_norm(g, h, w, x, name), None)
