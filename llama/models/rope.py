"""Frequencies of the rotary position embedding, with every way of stretching the context that llama.cpp knows."""

import math
from enum import Enum
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from llama.errors import ModelFileError
from llama.kernels.graph import Rope
from llama.models.hparams import HParams, Keys
from llama.models.weights import Weights


class Pairing(Enum):
    """Which columns of a head turn together; fixed by the architecture."""

    NEIGHBOURS = "2i, 2i + 1"
    HALVES = "i, i + n_rot / 2"


#: How the pairs of a multimodal rotation follow the streams of positions.
Sections = Literal["", "blocks", "interleaved"]

NEIGHBOURS, HALVES = Pairing.NEIGHBOURS, Pairing.HALVES


def make_rope(
    h: HParams,
    w: Weights,
    pairing: Pairing,
    *,
    head: int | None = None,
    n_rot: int | None = None,
    base: float | None = None,
    scaled: bool = True,
    factors: bool = True,
    last: bool = False,
    plain: bool = False,
    sections: Sections = "",
    betas: tuple[float, float] = (32.0, 1.0),
    log_multiplier: float = 0.0,
    unit: bool = False,
) -> Rope:
    """The rotation that the metadata asks for.

    scaled False: no stretching (windowed layers of some models); factors False: rope_freqs and the like are ignored;
    last: the last n_rot columns of a head turn, not the first; plain: the metadata's scaling plays no part at all;
    sections: how the pairs of a multimodal rotation are dealt out, see `_text_sections`;
    log_multiplier: YaRN's magnitude is divided by that of this multiplier; unit: it is 1 then (DeepSeek).
    """
    head, n_rot = h.head_k if head is None else head, h.n_rot if n_rot is None else n_rot
    base = h.keys.number("rope.freq_base", 10000.0) if base is None else base
    if base <= 0:
        raise ModelFileError(f"{h.keys.name('rope.freq_base')} must be above 0, got {base}")
    frequencies = base ** (-2.0 * np.arange(n_rot // 2) / max(n_rot, 1))
    first = head - n_rot if last else 0
    if sections:
        frequencies = _text_sections(h, frequencies, sections == "interleaved")
    if plain:
        return Rope(head, frequencies, pairing is NEIGHBOURS, 1.0, first)
    divisors = frequency_factors(h, w, n_rot) if factors else None
    if divisors is not None:
        frequencies = frequencies / divisors
    magnitude = h.keys.number("rope.scaling.attn_factor", 1.0)
    kind, factor = scaling(h.keys)
    if kind == "yarn":
        stretch = factor if scaled else 1.0
        frequencies = _yarn(h, frequencies, base, stretch, betas)
        magnitude *= _magnitude(factor, stretch, log_multiplier, unit)
    elif scaled:
        frequencies = frequencies / factor
    return Rope(head, frequencies, pairing is NEIGHBOURS, magnitude, first)


def _text_sections(h: HParams, frequencies: NDArray[np.float64], interleaved: bool) -> NDArray[np.float64]:
    """Frequencies with 0 for the pairs that follow the fourth stream of positions, which is 0 on text.

    rope.dimension_sections deals out the pairs to four streams: one block after the other, or in turn for the first
    three. On text these three are the same, so only the fourth matters.
    """
    sections = [int(n) for n in h.keys.array("rope.dimension_sections") or ()]
    if len(sections) < 4 or sum(sections) == 0:
        return frequencies
    place = np.arange(len(frequencies)) % sum(sections)
    moving = place < 3 * np.array(sections)[place % 3] if interleaved else place < sum(sections[:3])
    return np.where(moving, frequencies, 0.0)


def scaling(keys: Keys) -> tuple[str, float]:
    """Kind and factor of the stretching; a factor of 0 means 1, and kind "none" switches it off."""
    kind = keys.text("rope.scaling.type", "linear")
    if kind not in ("none", "linear", "yarn", "longrope"):
        raise ModelFileError(f"{keys.name('rope.scaling.type')} must be none, linear, yarn or longrope, got {kind!r}")
    factor = keys.number("rope.scaling.factor", keys.number("rope.scale_linear", 0.0))
    if factor < 0:
        raise ModelFileError(f"{keys.name('rope.scaling.factor')} must be 0 or more, got {factor}")
    return kind, 1.0 if kind == "none" or factor == 0.0 else factor


def original_context(h: HParams) -> int:
    """Positions the model was first trained for, before stretching."""
    return h.keys.integer("rope.scaling.original_context_length", 0) or h.n_ctx_train


def frequency_factors(h: HParams, w: Weights, n_rot: int) -> NDArray[np.float64] | None:
    """Divisors of the frequencies: `rope_freqs` (llama3), else long or short ones by the context's length."""
    long = -(-h.n_ctx // 256) * 256 > original_context(h)
    for name in ("rope_freqs.weight", f"rope_factors_{'long' if long else 'short'}.weight"):
        tensor = w.get(name, n_rot // 2) or w.get(f"blk.0.{name}", n_rot // 2)
        if tensor is not None:
            factors = tensor.floats().reshape(-1).astype(np.float64)
            if not np.all(factors > 0):
                raise ModelFileError(f"tensor {tensor.name}: factors of frequencies must be above 0")
            return factors
    return None


def _yarn(
    h: HParams, frequencies: NDArray[np.float64], base: float, factor: float, betas: tuple[float, float]
) -> NDArray[np.float64]:
    """YaRN (Peng and others, 2023): fast pairs stay, slow pairs are stretched, a ramp lies between."""
    n_rot = 2 * len(frequencies)
    context = original_context(h)

    def dimension(turns: float) -> float:
        return n_rot * math.log(context / (turns * 2 * math.pi)) / (2 * math.log(base))

    low = max(0, math.floor(dimension(betas[0])))
    high = min(n_rot - 1, math.ceil(dimension(betas[1])))
    ramp = (np.arange(len(frequencies)) - low) / max(0.001, high - low)
    stays = 1 - np.clip(ramp, 0.0, 1.0)
    return np.asarray(frequencies / factor * (1 - stays) + frequencies * stays, np.float64)


def _magnitude(factor: float, stretch: float, log_multiplier: float, unit: bool) -> float:
    """YaRN's factor of cosine and sine: 1 + 0.1 ln(factor), less where a log multiplier takes its place.

    Layers that are not stretched (`stretch` 1) divide by it without having multiplied, as llama.cpp does.
    """

    def mscale(value: float, multiplier: float) -> float:
        return 1.0 if value <= 1.0 else 1.0 + 0.1 * multiplier * math.log(value)

    own = log_multiplier if unit and log_multiplier else 1.0
    net = mscale(factor, own) / (mscale(factor, log_multiplier) if log_multiplier else 1.0)
    return net * (1.0 + 0.1 * math.log(stretch)) / (1.0 + 0.1 * math.log(factor))
