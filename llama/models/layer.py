"""One layer while its graph is being built: the graph, the model's numbers and this layer's tensors together."""

from collections.abc import Iterator
from dataclasses import dataclass

from llama.errors import ModelFileError
from llama.kernels.graph import Graph, Value
from llama.kernels.tensor import Tensor
from llama.models.hparams import HParams
from llama.models.weights import Weights


@dataclass(frozen=True, slots=True)
class Layer:
    """Layer `il` of a model. `w` holds the tensors under `blk.il.`; `is_last`: no further layer reads the result."""

    g: Graph
    h: HParams
    w: Weights
    il: int
    is_last: bool

    @property
    def n_head(self) -> int:
        """Query heads."""
        return self.h.n_heads[self.il]

    @property
    def n_head_kv(self) -> int:
        """Key and value heads."""
        return self.h.n_heads_kv[self.il]

    @property
    def n_ff(self) -> int:
        """Columns between the two matrices of the feed-forward network."""
        return self.h.n_ffs[self.il]

    def wanted(self, *values: Value) -> tuple[Value, ...]:
        """The values; in the last layer only the rows whose result is wanted."""
        return tuple(self.g.select(value) for value in values) if self.is_last else values

    def linear(self, x: Value, name: str, n_out: int) -> Value:
        """x through matrix `name`, with its bias and its scale where the file has them."""
        return scaled_linear(self.g, self.w, x, name, n_out)

    def split_linear(self, x: Value, name: str, *sizes: int) -> tuple[Value, ...]:
        """x through consecutive groups of rows of one matrix `name`, each a value of its own."""
        matrix = self.w.need(f"{name}.weight", sum(sizes), x.width)
        bias = self.w.get(f"{name}.bias", sum(sizes))
        parts, start = [], 0
        for size in sizes:
            part = None if bias is None else bias.rows(start, start + size)
            value = self.g.linear(x, matrix.rows(start, start + size), part)
            parts.append(times_scale(self.g, self.w, value, name))
            start += size
        return tuple(parts)

    def norm(self, x: Value, name: str, *, size: int | None = None, kind: str | None = None) -> Value:
        """x normed with the weight and bias called `name`; each segment of `size` columns on its own."""
        return weighted_norm(self.g, self.h, self.w, x, name, size=size, kind=kind)

    def norm_if(self, x: Value, name: str) -> Value:
        """x normed if the file has the norm, else x."""
        return self.norm(x, name) if self.w.has(f"{name}.weight") or self.w.has(name) else x


def layers(g: Graph, h: HParams, w: Weights, repeats: int = 1) -> Iterator[Layer]:
    """Every layer in turn; `repeats` times over, each time with a cache of its own."""
    for turn in range(repeats):
        for il in range(h.n_layer):
            last = il == h.n_layer - 1 and turn == repeats - 1
            yield Layer(g, h, w.under(f"blk.{il}."), il, last)


def weighted_norm(
    g: Graph, h: HParams, w: Weights, x: Value, name: str, *, size: int | None = None, kind: str | None = None
) -> Value:
    """x normed as the model norms, or as `kind` says. The weight has `size` elements, or as many as x has columns."""
    full = name if w.has(name) else f"{name}.weight"  # some files leave out the ".weight" of a norm
    weight, bias = w.need(full), w.get(f"{name}.bias")
    for tensor in (weight, bias):
        if tensor is not None and _elements(tensor) not in (size or x.width, x.width):
            raise ModelFileError(f"tensor {tensor.name}: expected {size or x.width} elements, got {tensor.shape}")
    return plain_norm(g, h, x, kind=kind, weight=weight, bias=bias, size=size)


def plain_norm(
    g: Graph,
    h: HParams,
    x: Value,
    *,
    kind: str | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    size: int | None = None,
) -> Value:
    """x normed with the model's epsilon, by default without weights."""
    if (kind or h.norm) == "rms":
        return g.norm(x, weight, h.eps, kind="rms", bias=bias, size=size)
    return g.norm(x, weight, h.eps, kind="layer", bias=bias, size=size)


def scaled_linear(g: Graph, w: Weights, x: Value, name: str, n_out: int) -> Value:
    """x through the matrix `name`, with `name.bias` added and `name.scale` multiplied where the file has them."""
    y = g.linear(x, w.need(f"{name}.weight", n_out, x.width), w.get(f"{name}.bias", n_out))
    return times_scale(g, w, y, name)


def times_scale(g: Graph, w: Weights, y: Value, name: str) -> Value:
    """y times the one-element tensor `name.scale`, which some quantised files carry."""
    scale = w.get(f"{name}.scale", 1)
    return y if scale is None else g.vector(y, scale, "mul")


def _elements(tensor: Tensor) -> int:
    n = 1
    for size in tensor.shape:
        n *= size
    return n
