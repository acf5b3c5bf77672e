"""Fakes for tests: a vocabulary of bytes, and models whose logits spell a script or depend on every token before.

Their cache is honest: each cell remembers the token it was written with and a digest of everything before it, and every
read checks both, so a test notices a cache block that two sequences should not have shared.
"""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from llama.engine.model import Loaded
from llama.kernels.batch import Batch
from llama.sampling import SamplingVocab

CONTROLS = (
    "<s>",
    "</s>",
    "<|end|>",
    "<|im_start|>",
    "<|im_end|>",
    "<unk>",
    "<pad>",
    "<fim_prefix>",
    "<fim_suffix>",
    "<fim_middle>",
)
MARKERS = ("<think>", "</think>", "<tool_call>", "</tool_call>")


class ByteVocab:
    """Ids 0-255 are bytes, then come `CONTROLS`, `MARKERS` (ordinary text, one token each) and the given `pieces`.

    `encode` never picks one of `pieces`: they are for scripts that say exactly how the text is cut into tokens.
    """

    type = "bpe"

    def __init__(self, pieces: Sequence[str | bytes] = (), *, add_bos: bool = False) -> None:
        self._texts = [f"<0x{b:02X}>" for b in range(256)] + [*CONTROLS, *MARKERS]
        extra = [p.encode() if isinstance(p, str) else p for p in pieces]
        self._pieces = [bytes([b]) for b in range(256)] + [text.encode() for text in (*CONTROLS, *MARKERS)] + extra
        self._texts += [piece.decode(errors="replace") for piece in extra]
        self._ids = {text: id for id, text in enumerate(self._texts)}
        self._controls = range(256, 256 + len(CONTROLS))
        self.n_vocab = len(self._pieces)
        self.add_bos, self.add_eos = add_bos, False
        self.bos, self.eos, self.eot = self._ids["<s>"], self._ids["</s>"], self._ids["<|im_end|>"]
        self.unk, self.pad = self._ids["<unk>"], self._ids["<pad>"]
        self.sep = self.mask = None
        self.fim_pre, self.fim_suf = self._ids["<fim_prefix>"], self._ids["<fim_suffix>"]
        self.fim_mid: int | None = self._ids["<fim_middle>"]
        self.fim_rep = self.fim_sep = self.fim_pad = None
        self.eog = frozenset({self.eos, self._ids["<|end|>"], self.eot})
        self.pieces = tuple(b"" if id in self._controls else piece for id, piece in enumerate(self._pieces))

    def encode(self, text: str, *, add_special: bool = True, parse_special: bool = True, guard: str = "") -> list[int]:
        known = (*CONTROLS, *MARKERS) if parse_special else MARKERS
        ids = [self.bos] if add_special and self.add_bos else []
        for part in re.split("(" + "|".join(map(re.escape, known)) + ")", text):
            ids += [self._ids[part]] if part in known else list((part.replace(guard, "") if guard else part).encode())
        return ids

    def piece(self, id: int, *, special: bool = True) -> bytes:
        return self._pieces[id] if special else self.pieces[id]

    @property
    def ids(self) -> dict[str, int]:
        return self._ids

    def decode(self, ids: Sequence[int], *, special: bool = True) -> str:
        return b"".join(self.piece(id, special=special) for id in ids).decode(errors="replace")

    def clean(self, ids: Sequence[int], *, special: bool = True) -> bytes:
        return b"".join(self.piece(id, special=special) for id in ids)

    def is_control(self, id: int) -> bool:
        return id in self._controls

    def text(self, id: int) -> str:
        return self._texts[id]

    def token_id(self, text: str) -> int | None:
        return self._ids.get(text)


class HonestCache:
    """An executor without arithmetic: it keeps the tokens of each cache block and checks them on every read."""

    name = "fake"

    def __init__(self, result: Callable[[list[int], bool], NDArray[np.float32]], block_size: int) -> None:
        self.block_size = block_size
        self.block_bytes = block_size * 24
        self._result = result
        self.allocate(0, 0)

    def allocate(self, n_blocks: int, n_states: int) -> None:
        self.tokens = np.full((n_blocks, self.block_size), -1, np.int64)
        self.digests = np.zeros((n_blocks, self.block_size), np.uint64)
        self.states = np.zeros((n_states, 2), np.uint64)  # digest, tokens read
        self.closed = False

    def run(self, batch: Batch, *, hidden: bool = False) -> NDArray[np.float32]:
        wanted = set(batch.outputs.tolist())
        results = []
        for s in range(len(batch.positions)):
            first, last = int(batch.starts[s]), int(batch.starts[s + 1])
            seed = lora_seed(() if batch.scales is None else batch.scales[s].tolist())
            for row in range(first, last):
                position = int(batch.positions[s]) + row - first
                history = self._write(batch.blocks[s], position, int(batch.tokens[row]), seed, row in wanted)
                self._advance(int(batch.states[s]), position, int(batch.tokens[row]))
                if history is not None:
                    results.append(self._result([seed, *history] if seed else history, hidden))
        return np.stack(results) if results else np.zeros((0, 0), np.float32)

    def _write(self, blocks: NDArray[np.int32], position: int, token: int, seed: int, wanted: bool) -> list[int] | None:
        """Put a token in its cell; when its result is wanted, everything up to it as read back from the cells."""
        size = self.block_size
        before = self.digests[blocks[(position - 1) // size], (position - 1) % size] if position else np.uint64(seed)
        block = blocks[position // size]
        assert block >= 0, f"no block for position {position}"
        self.tokens[block, position % size] = token
        self.digests[block, position % size] = digest(before, token)
        return self._read(blocks, position, seed) if wanted else None

    def _read(self, blocks: NDArray[np.int32], position: int, seed: int) -> list[int]:
        used = blocks[: position // self.block_size + 1]
        assert (used >= 0).all(), f"position {position} lies on missing blocks {used}"
        history: list[int] = self.tokens[used].reshape(-1)[: position + 1].tolist()
        digests = self.digests[used].reshape(-1)
        before = np.uint64(seed)
        for at, token in enumerate(history):
            before = digest(before, token)
            assert digests[at] == before, f"cell {at} of {blocks} was written by another sequence"
        return history

    def _advance(self, state: int, position: int, token: int) -> None:
        if not len(self.states):
            return
        if position == 0:
            self.states[state] = 0
        assert self.states[state, 1] == position, f"state {state} has read {self.states[state, 1]}, not {position}"
        self.states[state] = (digest(self.states[state, 0], token), position + 1)

    def copy_block(self, source: int, target: int) -> None:
        self.tokens[target] = self.tokens[source]
        self.digests[target] = self.digests[source]

    def copy_state(self, source: int, target: int) -> None:
        self.states[target] = self.states[source]

    def read_block(self, block: int) -> bytes:
        return bytes(self.tokens[block].tobytes() + self.digests[block].tobytes())

    def write_block(self, block: int, content: bytes) -> None:
        half = len(content) // 2
        self.tokens[block] = np.frombuffer(content[:half], np.int64)
        self.digests[block] = np.frombuffer(content[half:], np.uint64)

    def read_state(self, state: int) -> bytes:
        return bytes(self.states[state].tobytes())

    def write_state(self, state: int, content: bytes) -> None:
        self.states[state] = np.frombuffer(content, np.uint64)

    def close(self) -> None:
        self.closed = True


def lora_seed(scales: Sequence[float]) -> int:
    """A number that stands for a setting of the adapters; 0 when none is used."""
    return hash((*scales, 77)) & 0x7FFFFFFF if any(scales) else 0  # of numbers only: a text has another hash each run


def digest(before: np.uint64, token: int) -> np.uint64:
    """A number that stands for a token and everything before it."""
    return np.uint64(hash((int(before), token, "cell")[:2]) & 0xFFFFFFFFFFFFFFFF)


class HistoryModel:
    """A model whose logits are `logits(history)`; `delay` seconds a step and `token_delay` more a token.

    `fail_when(batch)` true makes the step raise. `steps` and `evaluated` count steps and tokens.
    """

    n_embd = 16

    def __init__(
        self,
        logits: Callable[[list[int]], NDArray[np.float32]],
        n_vocab: int,
        *,
        n_ctx_train: int = 4096,
        block_size: int = 4,
        has_state: bool = False,
        is_encoder: bool = False,
        delay: float = 0.0,
        token_delay: float = 0.0,
        fail_when: Callable[[Batch], bool] = lambda batch: False,
    ) -> None:
        self._logits = logits
        self.n_vocab, self.n_ctx_train, self.block_size = n_vocab, n_ctx_train, block_size
        self.has_state, self.is_encoder = has_state, is_encoder
        self.delay, self.token_delay, self.fail_when = delay, token_delay, fail_when
        self.steps = self.evaluated = 0
        self.executor = HonestCache(self._result, block_size)

    def forward(self, batch: Batch, *, hidden: bool = False) -> NDArray[np.float32]:
        self.steps += 1
        self.evaluated += len(batch.tokens)
        if self.fail_when(batch):
            raise RuntimeError("this step was told to fail")
        pause = self.delay + self.token_delay * len(batch.tokens)
        if pause:
            time.sleep(pause)
        return self.executor.run(batch, hidden=hidden)

    def _result(self, history: list[int], hidden: bool) -> NDArray[np.float32]:
        return noise(history, self.n_embd) if hidden else self._logits(history)


class ScriptedModel(HistoryModel):
    """A model that says its script after any prompt, then ends. With a mapping: that of the first key in the prompt.

    A script is a text (`"Hello<|end|>"`) or a list of pieces, each of which becomes one token; `vocab` fits them.
    The next token is found by the longest beginning of the script that the history ends with, so a prompt must not end
    with the beginning of its script. The scripted token leads by `lead` in the logits.
    """

    def __init__(
        self,
        script: str | Sequence[str | bytes] | Mapping[str, str | Sequence[str | bytes]],
        *,
        vocab: ByteVocab | None = None,
        lead: float = 40.0,
        **options: object,
    ) -> None:
        scripts = script if isinstance(script, Mapping) else {"": script}
        cut = [piece for s in scripts.values() if not isinstance(s, str) for piece in s]
        self.vocab = vocab or ByteVocab(list(dict.fromkeys(p for p in cut if p not in CONTROLS + MARKERS)))
        self.lead = lead
        self._scripts = {key: self._ids(value) for key, value in scripts.items()}
        self._base = (-np.arange(self.vocab.n_vocab) / 64).astype(np.float32)
        super().__init__(self._spell, self.vocab.n_vocab, **options)  # type: ignore[arg-type]

    def _ids(self, script: str | Sequence[str | bytes]) -> list[int]:
        if isinstance(script, str):
            ids = self.vocab.encode(script, add_special=False)
        else:
            texts = [p if isinstance(p, str) else p.decode(errors="replace") for p in script]
            known = [self.vocab.token_id(text) for text in texts]
            pieces = [p.encode() if isinstance(p, str) else p for p in script]
            by_piece = {self.vocab.piece(id): id for id in range(self.vocab.n_vocab)}
            ids = [by_piece.get(piece, id) for piece, id in zip(pieces, known, strict=True) if id is not None]
        return ids if ids and ids[-1] in self.vocab.eog else [*ids, self.vocab.eos]

    def _spell(self, history: list[int]) -> NDArray[np.float32]:
        text = self.vocab.decode(history)
        script = next((s for key, s in self._scripts.items() if key in text), [self.vocab.eos])
        said = next(
            k for k in range(min(len(script) - 1, len(history)), -1, -1) if history[len(history) - k :] == script[:k]
        )
        logits = self._base.copy()
        logits[script[said]] = self.lead
        return logits


class HashModel(HistoryModel):
    """A model whose logits are noise made of the exact history, read back from its own cache blocks.

    With `ends` false, the end tokens are never the most probable.
    """

    def __init__(self, *, ends: bool = True, **options: object) -> None:
        super().__init__(self._noise, ByteVocab().n_vocab, **options)  # type: ignore[arg-type]
        self._unlikely = [] if ends else sorted(ByteVocab().eog)

    def _noise(self, history: list[int]) -> NDArray[np.float32]:
        logits = noise(history, self.n_vocab)
        logits[self._unlikely] = -100
        return logits


def noise(history: Sequence[int], size: int) -> NDArray[np.float32]:
    """`size` numbers in 0..8 that depend on every token of `history` and on nothing else."""
    seed = blake2b(np.asarray(history, np.int32).tobytes(), digest_size=8).digest()
    state = np.uint64(int.from_bytes(seed)) + np.arange(size, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((state >> np.uint64(40)) / np.float64(1 << 21)).astype(np.float32)


def loaded(model: HistoryModel, vocab: ByteVocab | None = None) -> Loaded:
    """What a loader gives the engine: `model` with its own vocabulary, or that of bytes."""
    vocab = vocab or getattr(model, "vocab", None) or ByteVocab()
    sampling = SamplingVocab(
        n_vocab=model.n_vocab,
        eog=vocab.eog,
        pieces=[vocab.piece(id) for id in range(vocab.n_vocab)],
        encode=lambda text: vocab.encode(text, add_special=False, parse_special=False),
        end=vocab.eot,
    )
    return Loaded(model, vocab, sampling)  # type: ignore[arg-type]
