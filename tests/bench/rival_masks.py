"""The masks of the package llguidance on our vocabularies, to compare. It is no requirement: install it beside ours."""

import importlib
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from llama.tokenizer import Vocab


class _Tokens:
    """A vocabulary as llguidance wants to see it: the bytes of each token, and something that encodes."""

    def __init__(self, vocab: Vocab) -> None:
        end = next(iter(vocab.eog))
        self.tokens = [piece or b"\xff<[%d]>" % token for token, piece in enumerate(vocab.pieces)]
        self.special_token_ids = [token for token, piece in enumerate(vocab.pieces) if not piece]
        self.eos_token_id, self.bos_token_id = end, None
        self._vocab = vocab

    def __call__(self, text: bytes) -> Sequence[int]:
        return list(self._vocab.encode(text.decode(errors="replace"), add_special=False))


class Rival:
    """llguidance over one vocabulary."""

    def __init__(self, vocab: Vocab) -> None:
        package: Any = importlib.import_module("llguidance")
        lark: Any = importlib.import_module("llguidance.gbnf_to_lark")
        self._matcher, self._to_lark = package.LLMatcher, lark.gbnf_to_lark
        self._tokenizer = package.LLTokenizer(package.TokenizerWrapper(_Tokens(vocab)))
        self._mask = np.zeros(-(-vocab.n_vocab // 32), np.uint32)

    def times(self, case: dict[str, Any], texts: list[list[int]], repeat: int) -> list[int]:
        """Nanoseconds of the mask at each place, the least of `repeat` walks by new matchers."""
        if case["kind"] == "gbnf":
            grammar = self._matcher.grammar_from_lark(self._to_lark(case["grammar"]))
        else:
            grammar = self._matcher.grammar_from_json_schema(case["schema"])
        found: list[int] = []
        for tokens in texts:
            walks = [self._walk(self._matcher(self._tokenizer, grammar), tokens) for _ in range(repeat)]
            n = min(map(len, walks))
            found += np.min([walk[:n] for walk in walks], axis=0).tolist()
        return found

    def _walk(self, matcher: Any, tokens: list[int]) -> list[int]:
        if matcher.is_error():
            raise RuntimeError(matcher.get_error())
        times = []
        for token in tokens:
            start = time.perf_counter_ns()
            matcher.unsafe_compute_mask_ptr(self._mask.ctypes.data, self._mask.nbytes)
            times.append(time.perf_counter_ns() - start)
            if not matcher.consume_token(token):
                break
        return times
