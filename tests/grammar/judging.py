"""What the grammar tests share: a vocabulary of bytes, and whether a text is accepted as a whole."""

import random
from collections.abc import Iterable

import numpy as np

from llama.errors import GrammarError
from llama.grammar import Constraint, Program, TokenTrie, compile_grammar

END = 256
BYTE_TRIE = TokenTrie([bytes([byte]) for byte in range(256)] + [b""], frozenset({END}))


def accepted(grammar: str | Program, text: str | bytes) -> bool:
    """True if `text` from its first byte to its last is what the grammar describes."""
    program = compile_grammar(grammar) if isinstance(grammar, str) else grammar
    constraint = program.constraint(BYTE_TRIE)
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    try:
        constraint.read(data)
    except GrammarError:
        return False
    return constraint.may_end


def check(program: Program, yes: Iterable[str], no: Iterable[str]) -> None:
    """Every text of `yes` is accepted, none of `no`."""
    assert [text for text in yes if not accepted(program, text)] == []
    assert [text for text in no if accepted(program, text)] == []


def feed(constraint: Constraint, tokens: list[int]) -> Constraint:
    """`constraint` after `tokens`, each of which must be in the mask."""
    for token in tokens:
        assert constraint.mask()[token], token
        assert constraint.accepts(token), token
        constraint.advance(token)
    return constraint


def wander(program: Program, seed: int, limit: int = 300) -> bytes | None:
    """A random text that the grammar lets through; None if it came to no end within `limit` bytes."""
    rng = random.Random(seed)
    constraint = program.constraint(BYTE_TRIE)
    text = b""
    while len(text) < limit:
        allowed = np.flatnonzero(constraint.mask()[:END])
        if constraint.may_end and (not len(allowed) or rng.random() < 0.3):
            return text
        closing = [byte for byte in b'"]},:0' if byte in allowed]
        byte = rng.choice(closing) if closing and rng.random() < 0.3 else int(rng.choice(allowed))
        constraint.advance(byte)
        text += bytes([byte])
    return None
