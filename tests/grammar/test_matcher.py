"""Masks, tokens and the end of a text."""

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from llama.errors import GrammarError
from llama.grammar import TokenTrie, compile_grammar, compile_schema
from llama.grammar.matcher import GrammarConstraint, Matcher
from tests.grammar.judging import BYTE_TRIE, END, feed

GRAMMARS = [
    'root ::= ("a" | "ab" | "b" root "c")+ "."?',
    'root ::= ("a"{3,5} | "b"{0,40}){2,3} "." [^a]{50,}',
    'root ::= "(" root ")" root | "x" | ""',
    'root ::= "é" .{2,3} | [a-c]* ("," [a-c]+){0,100} "ab"',
]
SCHEMA = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"a": {"type": "string", "maxLength": 90}, "b": {"enum": ["x", "yy"]}, "c": {"$ref": "#"}},
        "required": ["a"],
    },
    "maxItems": 70,
}


def random_trie(seed: int) -> TokenTrie:
    """Some random tokens over few bytes, all single bytes, an end token, a control token and one without text."""
    rng = random.Random(seed)
    letters = [bytes([byte]) for byte in b'abc.,(){}[]":x y']
    tokens = [b"".join(rng.choices(letters, k=rng.randint(2, 6))) for _ in range(300)]
    tokens += [b"\xc3", b"\xa9x", b'"a":', b'":"', b'"}', b'"},{"a', b"}]}", b'"}]}]}]', b"a" * 60, b"ab", b"ab"]
    return TokenTrie(
        [bytes([byte]) for byte in range(256)] + tokens + [b"", b"", b"."],
        frozenset({256 + len(tokens), 258 + len(tokens)}),
        {"<call>": 257 + len(tokens)},
    )


@pytest.mark.parametrize("grammar", [*GRAMMARS, SCHEMA])
@pytest.mark.parametrize("seed", range(3))
def test_the_mask_is_what_each_token_alone_would_say(grammar: Any, seed: int) -> None:
    program = compile_grammar(grammar) if isinstance(grammar, str) else compile_schema(grammar)
    trie = random_trie(seed)
    rng = random.Random(seed)
    constraint = program.constraint(trie)
    for _ in range(60):
        mask = constraint.mask()
        assert mask.shape == (trie.n_vocab,)
        assert mask.tolist() == [constraint.accepts(token) for token in range(trie.n_vocab)]
        assert constraint.may_end == bool(mask[trie.end_tokens].all())
        choices = [token for token in np.flatnonzero(mask).tolist() if token not in trie.eog]
        assert constraint.finished == (constraint.may_end and not choices)
        if not choices:
            break
        constraint.advance(rng.choice(choices[-20:] if rng.random() < 0.5 else choices))


def test_masks_cannot_be_written_to() -> None:
    mask = compile_grammar('root ::= "a"').constraint(BYTE_TRIE).mask()
    with pytest.raises(ValueError, match="read-only"):
        mask[0] = True


def test_the_end_and_nothing_after_it() -> None:
    constraint = compile_grammar('root ::= "a" "b"?').constraint(BYTE_TRIE)
    assert not constraint.accepts(END)
    with pytest.raises(GrammarError):
        constraint.advance(END)
    feed(constraint, [ord("a")])
    assert constraint.accepts(END)
    assert not constraint.finished
    constraint.advance(END)
    assert constraint.finished
    assert not constraint.accepts(ord("b"))
    assert constraint.accepts(END)


@pytest.mark.parametrize("token", [-1, 257, 10**6])
def test_tokens_out_of_range_do_not_fit(token: int) -> None:
    constraint = compile_grammar("root ::= .*").constraint(BYTE_TRIE)
    assert not constraint.accepts(token)
    with pytest.raises(GrammarError):
        constraint.advance(token)


def test_whole_tokens_by_name_and_number() -> None:
    trie = TokenTrie([b"a", b"b", b"", b"", b"ab"], frozenset({3}), {"<call>": 2, "<end>": 3})
    constraint = compile_grammar('root ::= <call> "a" !<[0]> "b"').constraint(trie)
    assert constraint.mask().tolist() == [False, False, True, False, False]
    feed(constraint, [2, 0])
    assert constraint.mask().tolist() == [False, True, True, False, True]
    feed(constraint, [2, 1])
    assert constraint.mask().tolist() == [False, False, False, True, False]
    both = compile_grammar('root ::= (<call> | "a") "b"').constraint(trie)
    assert both.mask().tolist() == [True, False, True, False, True]
    with pytest.raises(GrammarError, match="<nope>"):
        compile_grammar("root ::= <nope>").constraint(trie)


def test_control_tokens_match_no_text() -> None:
    trie = TokenTrie([b"<", b"call", b">", b"", b""], frozenset({4}), {"<call>": 3})
    constraint = compile_grammar('root ::= "<call>"').constraint(trie)
    assert constraint.mask().tolist() == [True, False, False, False, False]


def test_tables_are_left_behind_when_they_grow_too_large() -> None:
    program = compile_grammar('root ::= ("a"{3} "," | "(" root ")"){0,70000} "."')
    small = Matcher(program, BYTE_TRIE, space_bytes=1)
    constraint, other = GrammarConstraint(small), program.constraint(BYTE_TRIE)
    for byte in b"aaa,((.).)" * 20:
        assert constraint.mask().tolist() == other.mask().tolist()
        constraint.advance(byte)
        other.advance(byte)
    assert small.space.n_states < 100


@pytest.mark.parametrize("n", [300, 1100, 2500])
def test_a_state_may_be_larger_than_all_tables_so_far(n: int) -> None:
    words = " | ".join(f'"{word:04}"' for word in range(n))
    constraint = compile_grammar(f"root ::= ({words}) root | [a-c]").constraint(BYTE_TRIE)
    feed(constraint, list(b"0123" + f"{n - 1:04}".encode() + b"c"))
    assert constraint.finished


def test_several_threads_share_a_grammar() -> None:
    program = compile_schema({"type": "array", "items": {"type": "string", "maxLength": 65536}})

    def walk(letter: int) -> bool:
        constraint = program.constraint(BYTE_TRIE)
        feed(constraint, [ord("["), ord('"'), *[letter] * 300, ord('"'), ord("]")])
        return constraint.finished

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(walk, range(ord("a"), ord("q"))))


def test_ambiguity_does_not_blow_up() -> None:
    program = compile_grammar('root ::= s "."\ns ::= "a" s s | "a" s "b" | "a"')
    constraint = program.constraint(BYTE_TRIE)
    feed(constraint, list(b"a" * 201))
    assert not constraint.may_end
    feed(constraint, list(b"b" * 50 + b"."))
    assert constraint.finished
