"""A model's numbers: metadata read with the defaults that llama.cpp uses, and checked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from llama.errors import ModelFileError

#: More layers than any model has; keeps a hostile file from filling the memory.
MAX_LAYERS = 512
MAX_SIZE = 1 << 24


@dataclass(frozen=True, slots=True)
class Keys:
    """The metadata of one architecture: `read.integer("block_count")` reads `llama.block_count`."""

    architecture: str
    metadata: Mapping[str, object]

    def name(self, key: str) -> str:
        """The full name of a key."""
        return f"{self.architecture}.{key}"

    def has(self, key: str) -> bool:
        """Whether the key is there."""
        return self.name(key) in self.metadata

    def integer(self, key: str, default: int | None = None) -> int:
        """A whole number from 0 to MAX_SIZE; without a default it must be there."""
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 0 <= value <= MAX_SIZE:
            raise ModelFileError(f"{self.name(key)} must be a whole number from 0 to {MAX_SIZE}, got {value!r}")
        return int(value)

    def number(self, key: str, default: float | None = None) -> float:
        """A finite number; without a default it must be there."""
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not np.isfinite(float(value)):
            raise ModelFileError(f"{self.name(key)} must be a finite number, got {value!r}")
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self._value(key, default)
        if not isinstance(value, bool | np.bool_):
            raise ModelFileError(f"{self.name(key)} must be true or false, got {value!r}")
        return bool(value)

    def text(self, key: str, default: str) -> str:
        """A string."""
        value = self._value(key, default)
        if not isinstance(value, str):
            raise ModelFileError(f"{self.name(key)} must be a string, got {value!r}")
        return value

    def array(self, key: str) -> list[float] | None:
        """An array of numbers, or None when the key is missing or holds a single value."""
        value = self.metadata.get(self.name(key))
        if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray):
            return None
        return [float(item) for item in value]

    def per_layer(self, key: str, n_layer: int, default: float = 0) -> tuple[int, ...]:
        """One whole number a layer; a single value serves every layer."""
        values = self.array(key)
        if values is None:
            return (self.integer(key, int(default)),) * n_layer
        if len(values) < n_layer:
            raise ModelFileError(f"{self.name(key)} has {len(values)} entries, the model has {n_layer} layers")
        if any(not 0 <= value <= MAX_SIZE for value in values):
            raise ModelFileError(f"{self.name(key)} must hold numbers from 0 to {MAX_SIZE}, got {values}")
        return tuple(int(value) for value in values[:n_layer])

    def _value(self, key: str, default: object) -> object:
        value = self.metadata.get(self.name(key), default)
        if value is None:
            raise ModelFileError(f"the model file has no {self.name(key)}")
        return value


@dataclass(frozen=True, slots=True)
class HParams:
    """The numbers of a model. Arrays have one entry a layer.

    n_ctx           positions the model is opened for; decides between long and short rope factors
    norm            "rms" or "layer", by which epsilon the file has
    n_layer         layers that are run; layers that predict further tokens (MTP) come after and are left out
    head_k, head_v, n_rot   columns of a key head, of a value head, and rotated ones
    pooling         how an encoder makes one vector: "none", "mean", "cls", "last", "rank"
    keys            anything else: `h.keys.number("logit_scale", 0.0)`
    """

    keys: Keys
    architecture: str
    n_vocab: int
    n_ctx_train: int
    n_ctx: int
    n_embd: int
    n_layer: int
    n_heads: tuple[int, ...]
    n_heads_kv: tuple[int, ...]
    n_ffs: tuple[int, ...]
    head_k: int
    head_v: int
    n_rot: int
    norm: str
    eps: float
    n_expert: int
    n_experts_used: tuple[int, ...]
    causal: bool
    pooling: str
    labels: tuple[str, ...] = field(default=())

    @property
    def n_head(self) -> int:
        """Query heads of the first layer."""
        return self.n_heads[0]

    @property
    def n_head_kv(self) -> int:
        """Key and value heads of the first layer."""
        return self.n_heads_kv[0]


POOLING = ("none", "mean", "cls", "last", "rank")


def read_hparams(architecture: str, metadata: Mapping[str, object], n_vocab: int, n_ctx: int = 0) -> HParams:
    """Read and check what every architecture has. n_ctx 0: as long as in training. Raises ModelFileError."""
    keys = Keys(architecture, metadata)
    n_embd = keys.integer("embedding_length")
    n_layer = keys.integer("block_count") - keys.integer("nextn_predict_layers", 0)
    if not 1 <= n_layer <= MAX_LAYERS or n_embd < 1:
        raise ModelFileError(f"a model of {n_layer} layers and {n_embd} columns makes no sense")
    n_heads = keys.per_layer("attention.head_count", n_layer)
    n_heads_kv = keys.per_layer("attention.head_count_kv", n_layer) if keys.has("attention.head_count_kv") else n_heads
    default_head = n_embd // n_heads[0] if n_heads[0] else 0
    head_k = keys.integer("attention.key_length", default_head)
    n_rot = keys.integer("rope.dimension_count", head_k)
    n_ctx_train = keys.integer("context_length")
    norm, eps = _norm(keys)
    _check_heads(n_heads, n_heads_kv, head_k, n_rot)
    return HParams(
        keys=keys,
        architecture=architecture,
        n_vocab=n_vocab,
        n_ctx_train=n_ctx_train,
        n_ctx=n_ctx or n_ctx_train,
        n_embd=n_embd,
        n_layer=n_layer,
        n_heads=n_heads,
        n_heads_kv=n_heads_kv,
        n_ffs=keys.per_layer("feed_forward_length", n_layer),
        head_k=head_k,
        head_v=keys.integer("attention.value_length", default_head),
        n_rot=n_rot,
        norm=norm,
        eps=eps,
        n_expert=keys.integer("expert_count", 0),
        n_experts_used=keys.per_layer("expert_used_count", n_layer),
        causal=keys.flag("attention.causal", True),
        pooling=_pooling(keys),
        labels=_labels(keys),
    )


def _norm(keys: Keys) -> tuple[str, float]:
    if keys.has("attention.layer_norm_rms_epsilon"):
        return "rms", keys.number("attention.layer_norm_rms_epsilon")
    return "layer", keys.number("attention.layer_norm_epsilon", 0.0)


def _pooling(keys: Keys) -> str:
    pooling = keys.integer("pooling_type", 0)
    if pooling >= len(POOLING):
        raise ModelFileError(f"{keys.name('pooling_type')} must be 0 to {len(POOLING) - 1}, got {pooling}")
    return POOLING[pooling]


def _labels(keys: Keys) -> tuple[str, ...]:
    labels = keys.metadata.get(keys.name("classifier.output_labels"), ())
    return tuple(str(label) for label in labels) if isinstance(labels, Sequence) else ()


def _check_heads(n_heads: Sequence[int], n_heads_kv: Sequence[int], head_k: int, n_rot: int) -> None:
    for n_head, n_head_kv in zip(n_heads, n_heads_kv, strict=True):
        if n_head and n_head_kv and n_head % n_head_kv:
            raise ModelFileError(f"{n_head} query heads cannot share {n_head_kv} key heads")
    if n_rot > head_k > 0 or n_rot % 2:
        raise ModelFileError(f"cannot rotate {n_rot} columns of a head of {head_k}")
