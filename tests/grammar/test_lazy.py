"""Grammars that begin late."""

import pytest

from llama.errors import GrammarError
from llama.grammar import LazyConstraint, TokenTrie, Trigger, compile_grammar
from tests.grammar.judging import BYTE_TRIE, END

CALL = compile_grammar('root ::= "<tool>" [0-9]+ "</tool>"')
JSON = compile_grammar('root ::= "{" [0-9]* "}"')


def say(constraint: LazyConstraint, text: str) -> None:
    for byte in text.encode():
        assert constraint.accepts(byte), (text, chr(byte))
        assert constraint.mask()[byte]
        constraint.advance(byte)


def test_a_word_begins_the_grammar() -> None:
    constraint = LazyConstraint(CALL, BYTE_TRIE, [Trigger("word", "<tool>")])
    say(constraint, "Let me see, é <tool")
    assert constraint.waiting
    assert constraint.may_end
    assert constraint.mask().all()
    say(constraint, ">12")
    assert not constraint.waiting
    assert not constraint.accepts(ord("x"))
    assert not constraint.may_end
    say(constraint, "</tool>")
    assert constraint.finished
    assert constraint.accepts(END)


def test_the_first_group_says_where_to_begin() -> None:
    constraint = LazyConstraint(CALL, BYTE_TRIE, [Trigger("pattern", r"call:\s*(<tool>)")])
    say(constraint, "<tool> is a word. call:  <tool>7</tool>")
    assert constraint.finished


def test_a_full_pattern_matches_all_of_the_text() -> None:
    constraint = LazyConstraint(JSON, BYTE_TRIE, [Trigger("pattern_full", r"\s*(\{)")])
    say(constraint, " {1}")
    assert constraint.finished
    constraint = LazyConstraint(JSON, BYTE_TRIE, [Trigger("pattern_full", r"\s*(\{)")])
    say(constraint, "no {x}")
    assert constraint.waiting


def test_a_token_begins_the_grammar() -> None:
    trie = TokenTrie([b"a", b"1", b"</tool>", b"", b""], frozenset({4}), {"<tool>": 3})
    for program in (CALL, compile_grammar('root ::= <tool> [0-9]+ "</tool>"')):
        constraint = LazyConstraint(program, trie, [Trigger("token", token=3)])
        constraint.advance(0)
        assert constraint.waiting
        constraint.advance(3)
        assert constraint.mask().tolist() == [False, True, False, False, False]
        constraint.advance(1)
        constraint.advance(2)
        assert constraint.finished


def test_a_token_that_holds_the_trigger_and_more() -> None:
    trie = TokenTrie([b"<tool>1", b"<tool>x", b"</tool>", b""], frozenset({3}))
    constraint = LazyConstraint(CALL, trie, [Trigger("word", "<tool>")])
    assert not constraint.accepts(1)
    assert constraint.mask().tolist() == [True, False, True, True]
    constraint.advance(0)
    constraint.advance(2)
    assert constraint.finished


def test_after_a_thought() -> None:
    constraint = LazyConstraint(JSON, BYTE_TRIE, after="</think>")
    say(constraint, "I think {x} and </thin")
    assert not constraint.may_end
    assert not constraint.accepts(END)
    assert not constraint.mask()[END]
    say(constraint, "k>\n\n{12}")
    assert constraint.finished
    constraint = LazyConstraint(JSON, BYTE_TRIE, after="</think>")
    say(constraint, "</think>")
    assert not constraint.accepts(ord("x"))
    assert constraint.accepts(ord("{"))


def test_triggers_count_only_after_the_thought() -> None:
    constraint = LazyConstraint(CALL, BYTE_TRIE, [Trigger("word", "<tool>")], after="</think>")
    say(constraint, "I could <tool>x but</think> ok <tool>1</tool>")
    assert constraint.finished


def test_mistakes() -> None:
    with pytest.raises(GrammarError, match="at least one trigger"):
        LazyConstraint(CALL, BYTE_TRIE, [])
    with pytest.raises(GrammarError, match="no regular expression"):
        LazyConstraint(CALL, BYTE_TRIE, [Trigger("pattern", "(")])
