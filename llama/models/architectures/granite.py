"""Granite in all its kinds, and MiniCPM: scales on embeddings, scores, residuals and logits."""

from collections.abc import Callable, Mapping
from functools import partial

from llama.kernels.graph import Graph, Value
from llama.models.blocks import decoder, dense_or_experts, grouped_attention, sequential_block
from llama.models.blocks.mamba import mamba2
from llama.models.hparams import HParams
from llama.models.layer import Layer
from llama.models.registry import architecture
from llama.models.rope import NEIGHBOURS, make_rope
from llama.models.weights import Weights
from llama.models.windows import windows


@architecture("granite", "granitemoe")
def granite(g: Graph, h: HParams, w: Weights) -> None:
    """rope.scaling.finetuned = false switches positions off."""
    rope = make_rope(h, w, NEIGHBOURS) if h.keys.flag("rope.scaling.finetuned", True) else None
    scaled_decoder(g, h, w, partial(grouped_attention, rope=rope))


@architecture("granitehybrid")
def granitehybrid(g: Graph, h: HParams, w: Weights) -> None:
    """A layer without key heads is a Mamba 2 mixer."""
    rope = make_rope(h, w, NEIGHBOURS) if h.keys.flag("rope.scaling.finetuned", True) else None

    def mixer(layer: Layer, x: Value, scale: float | None) -> Value:
        return grouped_attention(layer, x, rope=rope, scale=scale) if layer.n_head_kv else mamba2(layer, x)

    scaled_decoder(g, h, w, mixer)


@architecture("granite_swa")
def granite_swa(g: Graph, h: HParams, w: Weights) -> None:
    """Windows and positions as arrays say, sinks in every layer."""
    rope, sizes = make_rope(h, w, NEIGHBOURS), windows(h, 0)
    turning = h.keys.per_layer("attention.rope_pattern", h.n_layer, 1)

    def attention(layer: Layer, x: Value, scale: float | None) -> Value:
        sinks, turn = layer.w.need("attn_sinks.weight", layer.n_head), rope if turning[layer.il] else None
        return grouped_attention(layer, x, rope=turn, window=sizes[layer.il], sinks=sinks, scale=scale)

    scaled_decoder(g, h, w, attention)


@architecture("minicpm")
def minicpm(g: Graph, h: HParams, w: Weights) -> None:
    """The same scales under other defaults. llama.cpp's default for the logits is upside down; so is ours."""
    defaults = {"embedding_scale": 12.0, "residual_scale": 1.4 / h.n_layer**0.5, "logit_scale": 256 / h.n_embd}
    scaled_decoder(g, h, w, partial(grouped_attention, rope=make_rope(h, w, NEIGHBOURS)), defaults)


def scaled_decoder(
    g: Graph, h: HParams, w: Weights, mixer: Callable[..., Value], defaults: Mapping[str, float] | None = None
) -> None:
    """Scales from the metadata, 0 meaning 1; logits are divided by theirs. Experts are renormalised."""

    def scale(key: str) -> float:
        return h.keys.number(key, (defaults or {}).get(key, 0.0)) or 1.0

    mixer = partial(mixer, scale=h.keys.number("attention.scale", 0.0) or None)
    ffn = partial(dense_or_experts, gate="softmax", normalise=True, own_width=False)
    block = sequential_block(mixer, ffn, residual_scale=scale("residual_scale"))
    decoder(g, h, w, block, embedding_scale=scale("embedding_scale"), logit_scale=1 / scale("logit_scale"))
