"""Windowed layers with a rotation of their own, gates on attention: Trinity, Laguna, Step 3.5, MiMo 2 and others."""

from collections.abc import Sequence
from functools import partial

from llama.errors import ModelFileError
from llama.kernels.graph import Graph, Rope, Unary, Value
from llama.models.blocks import Mixer, decoder, dense_or_experts, gated_ffn, grouped_attention, sequential_block
from llama.models.blocks.experts import Gate
from llama.models.hparams import HParams
from llama.models.layer import Layer
from llama.models.registry import architecture
from llama.models.rope import HALVES, make_rope
from llama.models.weights import Weights
from llama.models.windows import windows


@architecture("afmoe")
def afmoe(g: Graph, h: HParams, w: Weights) -> None:
    """Trinity: every fourth layer has no positions; norms after each part too."""
    base = h.keys.number("rope.freq_base", 10000.0)
    full = make_rope(h, w, HALVES, factors=False)
    near = make_rope(h, w, HALVES, base=h.keys.number("rope.freq_base_swa", base), factors=False)
    sizes = windows(h, 4)

    def attention(layer: Layer, x: Value) -> Value:
        window = sizes[layer.il]
        rope = (near if window else full) if (layer.il + 1) % 4 else None
        return grouped_attention(layer, x, rope=rope, window=window, gate="sigmoid")

    block = sequential_block(attention, partial(dense_or_experts, gate=sigmoid_by_default(h)))
    decoder(g, h, w, block, embedding_scale=h.n_embd**0.5)


@architecture("laguna")
def laguna(g: Graph, h: HParams, w: Weights) -> None:
    """Windowed layers rotate as if there were no scaling, with a size and a base of their own."""
    full = make_rope(h, w, HALVES, factors=False)
    base = h.keys.number("rope.freq_base_swa", h.keys.number("rope.freq_base", 10000.0))
    n_rot = h.keys.integer("rope.dimension_count_swa", h.n_rot)
    near = make_rope(h, w, HALVES, base=base, n_rot=n_rot, plain=True)
    attention = two_kinds(full, near, windows(h, 4, dense_first=True), gate="softplus")
    decoder(g, h, w, sequential_block(attention, partial(dense_or_experts, gate=sigmoid_by_default(h))))


@architecture("step35")
def step35(g: Graph, h: HParams, w: Weights) -> None:
    """Full layers rotate half of what the metadata says, whose limits of gated activations must be 0."""
    for key in ("swiglu_clamp_exp", "swiglu_clamp_shexp"):
        if any(h.keys.array(key) or ()):
            raise ModelFileError(f"{h.keys.name(key)}: limits of gated activations are not supported")
    full = make_rope(h, w, HALVES, n_rot=h.n_rot // 2)
    n_rot = h.keys.integer("rope.dimension_count_swa", h.n_rot)
    base = h.keys.number("rope.freq_base_swa", 10000.0)
    near = make_rope(h, w, HALVES, base=base, n_rot=n_rot, scaled=False, factors=False)
    gate: Unary | None = "sigmoid" if w.has("blk.0.attn_gate.weight") else None
    attention = two_kinds(full, near, windows(h, 0), gate=gate)
    decoder(g, h, w, sequential_block(attention, partial(dense_or_experts, gate=sigmoid_by_default(h))))


@architecture("spark2_5")
def spark(g: Graph, h: HParams, w: Weights) -> None:
    """A gate for each head, a gated GELU network."""
    base = h.keys.number("rope.freq_base_swa", h.keys.number("rope.freq_base", 10000.0))
    n_rot = h.keys.integer("rope.dimension_count_swa", h.n_rot)
    full, near = make_rope(h, w, HALVES, factors=False), make_rope(h, w, HALVES, base=base, n_rot=n_rot, factors=False)
    attention = two_kinds(full, near, windows(h, 0), gate="sigmoid")
    decoder(g, h, w, sequential_block(attention, partial(gated_ffn, act="gelu")))


@architecture("mellum")
def mellum(g: Graph, h: HParams, w: Weights) -> None:
    """Qwen 3 with experts and windows; windowed layers rotate as if there were no scaling."""
    attention = two_kinds(make_rope(h, w, HALVES, factors=False), make_rope(h, w, HALVES, plain=True), windows(h, 4))
    decoder(g, h, w, sequential_block(attention, partial(dense_or_experts, gate="softmax", normalise=True)))


@architecture("mimo2")
def mimo2(g: Graph, h: HParams, w: Weights) -> None:
    """Sinks in some layers, values scaled, sigmoid experts that are renormalised."""
    base = h.keys.number("rope.freq_base_swa", 10000.0)
    near = make_rope(h, w, HALVES, base=base, scaled=False, factors=False)
    kinds = two_kinds(make_rope(h, w, HALVES, factors=False), near, windows(h, 0))
    scale = h.keys.number("attention.value_scale", 0.0) or 1.0

    def attention(layer: Layer, x: Value) -> Value:
        out = kinds(layer, x)
        return out if scale == 1.0 else g.scale(out, scale)

    decoder(g, h, w, sequential_block(attention, partial(dense_or_experts, gate="sigmoid", normalise=True)))


def two_kinds(full: Rope, near: Rope, sizes: Sequence[int], gate: Unary | None = None) -> Mixer:
    """Attention whose windowed layers rotate in their own way; sinks where a layer has them."""

    def attention(layer: Layer, x: Value) -> Value:
        window, sinks = sizes[layer.il], layer.w.get("attn_sinks.weight", layer.n_head)
        rope = near if window else full
        return grouped_attention(layer, x, rope=rope, window=window, gate=gate, sinks=sinks)

    return attention


def sigmoid_by_default(h: HParams) -> Gate | None:
    """The gate of experts whose metadata may leave out that it is a sigmoid."""
    return None if h.keys.integer("expert_gating_func", 0) else "sigmoid"
