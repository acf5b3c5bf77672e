"""Per-layer embeddings (Gemma 3n and 4): each layer adds a piece made for it from the token alone."""

from llama.kernels.graph import Graph, Value
from llama.models.hparams import HParams
from llama.models.layer import Layer, scaled_linear, weighted_norm
from llama.models.weights import Weights


def layer_inputs(g: Graph, h: HParams, w: Weights, x: Value, width: int) -> list[Value]:
    """The piece of each layer, `width` columns: half from a table of its own, half projected from the embedding x."""
    total = width * h.n_layer
    table = w.need("per_layer_token_embd.weight", h.n_vocab, total)
    projected = g.scale(scaled_linear(g, w, x, "per_layer_model_proj", total), h.n_embd**-0.5)
    projected = weighted_norm(g, h, w, projected, "per_layer_proj_norm", size=width)
    both = g.scale(g.add(projected, g.scale(g.embed(table), width**0.5)), 0.5**0.5)
    return [g.columns(both, il * width, width) for il in range(h.n_layer)]


def gated_piece(layer: Layer, x: Value, piece: Value) -> Value:
    """What the layer adds: its piece through a gate that x opens, projected and normed."""
    opened = layer.g.gate(layer.linear(x, "inp_gate", piece.width), piece, "gelu")
    return layer.norm(layer.linear(opened, "proj", layer.h.n_embd), "post_norm")
