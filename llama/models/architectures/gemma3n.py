"""Gemma 3n: four parallel streams (AltUp), a learned residual (LAuReL), sparse networks, per-layer embeddings."""

from collections.abc import Sequence
from typing import Any

from llama.kernels.graph import Graph, Rope, Value
from llama.models.blocks import attend_kv, embed, gated_ffn, logits, qkv
from llama.models.blocks.attention import head_norm
from llama.models.blocks.per_layer import gated_piece, layer_inputs
from llama.models.hparams import HParams
from llama.models.layer import Layer, layers, plain_norm
from llama.models.registry import architecture
from llama.models.rope import HALVES, make_rope
from llama.models.weights import Weights
from llama.models.windows import windows

#: Fixed in llama.cpp too: streams, columns of a per-layer piece, layers with keys of their own, sparse layers.
STREAMS, PIECE, OWN_KEYS, SPARSE = 4, 256, 20, 10
#: The normal distribution's 95 % point: what a sparse network's gate must exceed, in standard deviations.
CUTOFF = 1.6448533535003662


@architecture("gemma3n")
def gemma3n(g: Graph, h: HParams, w: Weights) -> None:
    """Layer by layer: predict the streams, run the layer on the first, correct all by what came out."""
    full = make_rope(h, w, HALVES, factors=False)
    base = h.keys.number("rope.freq_base_swa", 10000.0)
    near = make_rope(h, w, HALVES, base=base, scaled=False, factors=False)
    sizes = windows(h, 5)
    x = embed(g, h, w, h.n_embd**0.5)
    pieces = layer_inputs(g, h, w, x, PIECE)
    streams = [x, *_matched(g, h, w, "altup_proj.weight", [x] * (STREAMS - 1), x)]
    caches: list[int] = []
    for layer in layers(g, h, w):
        il = layer.il
        predicted = _predict(layer, streams)
        out = _layer(layer, predicted[0], near if sizes[il] else full, sizes[il], caches)
        first, *rest = _correct(layer, predicted, out)
        scaled = g.vector(first, layer.w.need("altup_correct_scale.weight", h.n_embd), "mul")
        piece = gated_piece(layer, scaled, pieces[il])
        streams = [first, *(g.add(stream, piece) for stream in rest)]
    merged = streams[0]
    for stream in _matched(g, h, w, "altup_unembd_proj.weight", streams[1:], streams[0]):
        merged = g.add(merged, stream)
    logits(g, h, w, g.select(g.scale(merged, 1 / STREAMS)), softcap=30.0)


def _matched(g: Graph, h: HParams, w: Weights, name: str, inputs: Sequence[Value], target: Value) -> list[Value]:
    """Each input through a matrix of its own, stretched to the length of `target`."""
    matrices = w.need(name, STREAMS - 1, h.n_embd, h.n_embd)
    outputs = [g.linear(x, matrices.matrix(i)) for i, x in enumerate(inputs)]
    wanted = _length(g, target)
    return [g.binary(g.mul(y, wanted), _length(g, y), "div") for y in outputs]


def _length(g: Graph, x: Value) -> Value:
    return g.unary(g.reduce(g.mul(x, x), "sum"), "sqrt")


def _modalities(layer: Layer, x: Value) -> Value:
    """(T, STREAMS) what the router of the streams makes of x."""
    normed = layer.g.scale(layer.norm(x, "altup_router_norm"), 1 / layer.h.n_embd)
    return layer.g.unary(layer.linear(normed, "altup_router", STREAMS), "tanh")


def _predict(layer: Layer, streams: Sequence[Value]) -> list[Value]:
    """Every stream plus a mix of all."""
    g = layer.g
    mix = layer.linear(_modalities(layer, streams[0]), "altup_predict_coef", STREAMS * STREAMS)
    predicted = []
    for j, stream in enumerate(streams):
        total = stream
        for i, other in enumerate(streams):
            total = g.add(total, g.mul(other, g.columns(mix, STREAMS * j + i, 1)))
        predicted.append(total)
    return predicted


def _correct(layer: Layer, predicted: Sequence[Value], out: Value) -> list[Value]:
    """Every stream plus its share of what the layer brought beyond the prediction."""
    g = layer.g
    share = layer.linear(_modalities(layer, out), "altup_correct_coef", STREAMS)
    news = g.binary(out, predicted[0], "sub")
    return [g.add(stream, g.mul(news, g.scale(g.columns(share, j, 1), 1.0, 1.0))) for j, stream in enumerate(predicted)]


def _layer(layer: Layer, x: Value, rope: Rope, window: int, caches: list[int]) -> Value:
    """Attention and network with their norms; the learned residual joins between them."""
    g, h = layer.g, layer.h
    normed = layer.norm(x, "attn_norm")
    rank = layer.linear(normed, "laurel_l", layer.w.need("laurel_l.weight").shape[0])
    laurel = g.add(layer.norm(layer.linear(rank, "laurel_r", h.n_embd), "laurel_post_norm"), normed)
    attended = layer.norm(_attention(layer, normed, rope, window, caches), "post_attention_norm")
    x = g.scale(g.add(g.add(attended, x), laurel), 0.5**0.5)
    return g.add(layer.norm(_ffn(layer, layer.norm(x, "ffn_norm")), "post_ffw_norm"), x)


def _attention(layer: Layer, x: Value, rope: Rope, window: int, caches: list[int]) -> Value:
    """Scores unscaled, values normed without a weight; late layers read the caches of layers 18 and 19."""
    g, h, head = layer.g, layer.h, layer.h.head_k
    options: dict[str, Any] = {
        "head_k": head,
        "head_v": head,
        "n_head_kv": layer.n_head_kv,
        "scale": 1.0,
        "window": window,
    }
    q, k, v = qkv(layer, x)
    q = g.rope(head_norm(layer, q, "attn_q_norm", head), rope)
    if layer.il >= OWN_KEYS:
        mixed = attend_kv(layer, q, None, None, caches[OWN_KEYS - (2 if window else 1)], **options)
    else:
        caches.append(g.cache(layer.n_head_kv, head, head))
        k = g.rope(head_norm(layer, k, "attn_k_norm", head), rope)
        mixed = attend_kv(layer, q, k, plain_norm(g, h, v, size=head), caches[-1], **options)
    return layer.linear(mixed, "attn_output", h.n_embd)


def _ffn(layer: Layer, x: Value) -> Value:
    """A gated GELU network; in the first layers only gates far above their mean open."""
    if layer.il >= SPARSE:
        return gated_ffn(layer, x, "gelu")
    g = layer.g
    gate, up = layer.linear(x, "ffn_gate", layer.n_ff), layer.linear(x, "ffn_up", layer.n_ff)
    cutoff = g.add(g.reduce(gate, "mean"), g.scale(g.reduce(gate, "std"), CUTOFF))
    sparse = g.unary(g.binary(gate, cutoff, "sub"), "relu")
    return layer.linear(g.gate(sparse, up, "gelu"), "ffn_down", layer.h.n_embd)
