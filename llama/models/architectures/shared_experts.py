"""Experts next to a shared one: DeepSeek 1, dots.llm1, GLM 4.5, Ling, ERNIE 4.5, Hunyuan."""

from functools import partial

from llama.kernels.graph import Graph
from llama.models.blocks import decoder, dense_or_experts, grouped_attention, sequential_block
from llama.models.blocks.experts import Gate
from llama.models.hparams import HParams
from llama.models.registry import architecture
from llama.models.rope import HALVES, NEIGHBOURS, make_rope
from llama.models.weights import Weights


@architecture("deepseek")
def deepseek(g: Graph, h: HParams, w: Weights) -> None:
    """Weights of the chosen experts are not renormalised."""
    attention = partial(grouped_attention, rope=make_rope(h, w, NEIGHBOURS))
    decoder(g, h, w, sequential_block(attention, partial(dense_or_experts, gate="softmax", normalise=False)))


@architecture("dots1")
def dots1(g: Graph, h: HParams, w: Weights) -> None:
    """All as the metadata says; query and key heads are normed."""
    attention = partial(grouped_attention, rope=make_rope(h, w, HALVES))
    decoder(g, h, w, sequential_block(attention, dense_or_experts))


@architecture("glm4moe")
def glm4moe(g: Graph, h: HParams, w: Weights) -> None:
    """The gate is a sigmoid unless the metadata says otherwise; post_attention_norm comes before the network."""
    attention = partial(grouped_attention, rope=make_rope(h, w, HALVES, sections="blocks"))
    gate: Gate | None = None if h.keys.integer("expert_gating_func", 0) else "sigmoid"
    ffn = partial(dense_or_experts, gate=gate)
    decoder(g, h, w, sequential_block(attention, ffn, ffn_norm="post_attention_norm"))


@architecture("bailingmoe")
def bailingmoe(g: Graph, h: HParams, w: Weights) -> None:
    """Scores are scaled by the rotated part of the head."""
    attention = partial(grouped_attention, rope=make_rope(h, w, NEIGHBOURS), scale=h.n_rot**-0.5)
    decoder(g, h, w, sequential_block(attention, partial(dense_or_experts, gate="softmax")))


@architecture("bailingmoe2")
def bailingmoe2(g: Graph, h: HParams, w: Weights) -> None:
    """Query and key heads are normed; the shared expert is as wide as the metadata says, times their number."""
    attention = partial(grouped_attention, rope=make_rope(h, w, HALVES))
    width = h.keys.integer("expert_shared_feed_forward_length", 0) or h.keys.integer("expert_feed_forward_length")
    ffn = partial(dense_or_experts, shared=width * h.keys.integer("expert_shared_count"))
    decoder(g, h, w, sequential_block(attention, ffn))


@architecture("ernie4_5-moe")
def ernie4_5_moe(g: Graph, h: HParams, w: Weights) -> None:
    """Experts are renormalised after a softmax, with a bias for the choice."""
    attention = partial(grouped_attention, rope=make_rope(h, w, NEIGHBOURS))
    decoder(g, h, w, sequential_block(attention, partial(dense_or_experts, gate="softmax", normalise=True)))


@architecture("hunyuan-moe", "hunyuan-dense", "hunyuan_vl")
def hunyuan(g: Graph, h: HParams, w: Weights) -> None:
    """Heads are normed after they are rotated; an alpha in the metadata stretches the rotation base."""
    base, alpha = h.keys.number("rope.freq_base", 10000.0), h.keys.number("rope.scaling.alpha", 0.0)
    if alpha > 0 and h.architecture != "hunyuan-moe":
        base *= alpha ** (h.head_k / (h.head_k - 2))
    rope = make_rope(h, w, HALVES, base=base, sections="blocks")
    attention = partial(grouped_attention, rope=rope, norm_after_rope=True)
    ffn = partial(dense_or_experts, gate="softmax", normalise=True, own_width=False)
    decoder(g, h, w, sequential_block(attention, ffn))


@architecture("hy_v3")
def hy_v3(g: Graph, h: HParams, w: Weights) -> None:
    """Hunyuan 3: query and key heads are normed before they are rotated; a sigmoid unless the metadata differs."""
    attention = partial(grouped_attention, rope=make_rope(h, w, HALVES))
    gate: Gate | None = None if h.keys.integer("expert_gating_func", 0) else "sigmoid"
    decoder(g, h, w, sequential_block(attention, partial(dense_or_experts, gate=gate)))


@architecture("deepseek2-ocr")
def deepseek2_ocr(g: Graph, h: HParams, w: Weights) -> None:
    """Plain attention; the rotation takes no number from the metadata."""
    rope = make_rope(h, w, HALVES, base=10000.0, n_rot=h.head_k, plain=True)
    decoder(g, h, w, sequential_block(partial(grouped_attention, rope=rope), dense_or_experts))
