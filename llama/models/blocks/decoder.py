"""The frame of nearly every model: embeddings, a stack of layers, a last norm, logits."""

from collections.abc import Callable

from llama.kernels.graph import Graph, Value
from llama.models.hparams import HParams
from llama.models.layer import Layer, layers, plain_norm, scaled_linear, weighted_norm
from llama.models.weights import Weights

#: Part of a layer: what it adds to the stream, computed from the normed stream.
Mixer = Callable[[Layer, Value], Value]
#: A whole layer: the stream before it to the stream after it.
Block = Callable[[Layer, Value], Value]


def embed(g: Graph, h: HParams, w: Weights, scale: float = 1.0) -> Value:
    """The tokens' embeddings, with learned positions added and normed where the file has these tensors."""
    x = g.embed(w.need("token_embd.weight", h.n_vocab, h.n_embd))
    if scale != 1.0:
        x = g.scale(x, scale)
    if w.has("token_types.weight"):
        x = g.add(x, g.embed(w.need("token_types.weight", None, h.n_embd), "zero"))
    if w.has("position_embd.weight"):
        x = g.add(x, g.embed(w.need("position_embd.weight", None, h.n_embd), "position"))
    return x


def sequential_block(
    attention: Mixer,
    ffn: Mixer,
    *,
    attn_norm: str = "attn_norm",
    ffn_norm: str = "ffn_norm",
    post_attn_norm: str = "post_attention_norm",
    post_ffn_norm: str = "post_ffw_norm",
    residual_scale: float = 1.0,
) -> Block:
    """x += attention(norm(x)); x += ffn(norm(x)). Norms that the file lacks are left out; those after a part too."""

    def block(layer: Layer, x: Value) -> Value:
        out = attention(layer, layer.norm_if(x, attn_norm))
        out, x = layer.wanted(out, x)
        if post_attn_norm != ffn_norm:
            out = layer.norm_if(out, post_attn_norm)
        x = add_scaled(layer, x, out, residual_scale)
        out = layer.norm_if(ffn(layer, layer.norm_if(x, ffn_norm)), post_ffn_norm)
        return add_scaled(layer, x, out, residual_scale)

    return block


def parallel_block(attention: Mixer, ffn: Mixer, *, ffn_norm: str | None = None) -> Block:
    """x + attention(norm(x)) + ffn(norm(x)); ffn_norm: a second norm for the network, else both read one."""

    def block(layer: Layer, x: Value) -> Value:
        normed = layer.norm(x, "attn_norm")
        out = attention(layer, normed)
        into = normed if ffn_norm is None else layer.norm(x, ffn_norm)
        out, x, into = layer.wanted(out, x, into)
        return layer.g.add(layer.g.add(ffn(layer, into), out), x)

    return block


def add_scaled(layer: Layer, x: Value, out: Value, scale: float = 1.0) -> Value:
    """x + scale * out."""
    return layer.g.add(out if scale == 1.0 else layer.g.scale(out, scale), x)


def decoder(
    g: Graph,
    h: HParams,
    w: Weights,
    block: Block,
    *,
    embedding_scale: float = 1.0,
    logit_scale: float = 1.0,
    softcap: float = 0.0,
    output_norm: str | None = "output_norm",
) -> None:
    """Build the whole model out of `block`, once a layer."""
    x = embed(g, h, w, embedding_scale)
    if w.has("token_embd_norm.weight") and output_norm != "token_embd_norm":
        x = weighted_norm(g, h, w, x, "token_embd_norm")
    for layer in layers(g, h, w):
        x = block(layer, x)
    logits(g, h, w, x, scale=logit_scale, softcap=softcap, output_norm=output_norm)


def logits(
    g: Graph,
    h: HParams,
    w: Weights,
    x: Value,
    *,
    scale: float = 1.0,
    softcap: float = 0.0,
    output_norm: str | None = "output_norm",
) -> None:
    """Finish the graph: the last norm, None for one without weights, then the output matrix or the embeddings."""
    hidden = plain_norm(g, h, x) if output_norm is None else weighted_norm(g, h, w, x, output_norm)
    name = "output" if w.has("output.weight") else "token_embd"
    result = scaled_linear(g, w, hidden, name, h.n_vocab)
    if scale != 1.0:
        result = g.scale(result, scale)
    if softcap:
        result = g.softcap(result, softcap)
    g.finish(hidden, result)
