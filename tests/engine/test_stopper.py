"""Stop strings, however they are cut into tokens, and the other ends of a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llama.engine.stopper import Indentation, Stopper


def say(words: list[str], pieces: list[str], *, include: bool = False) -> tuple[str, str]:
    """The text shown for `pieces`, and the stop string found."""
    stopper = Stopper(words, include=include)
    shown = ""
    for piece in pieces:
        shown += stopper.feed(piece)
        if stopper.word:
            return shown, stopper.word
    return shown + stopper.flush(), ""


@pytest.mark.parametrize(
    ("words", "pieces", "text", "word"),
    [
        (["\nUser:", "own fox"], ["The", " quick", " br", "own", " fox", " jumps"], "The quick br", "own fox"),
        (["beta gamma"], ["alpha ", "beta", " gam", "ma delta"], "alpha ", "beta gamma"),
        (["gamma", "beta gamma"], ["alpha ", "beta", " gam", "ma delta"], "alpha ", "beta gamma"),
        (["ab", "abc"], ["xabc"], "x", "ab"),
        (["aab"], ["a", "a", "a", "b"], "a", "aab"),
        (["abac"], ["ab", "ab", "ac", "!"], "ab", "abac"),
        (["", "x"], ["ab"], "ab", ""),
        (["User"], ["Us", "e", "d"], "Used", ""),
        (["😸!"], ["a😸", "!b"], "a", "😸!"),
    ],
)
def test_the_text_ends_before_the_earliest_stop_string(
    words: list[str], pieces: list[str], text: str, word: str
) -> None:
    assert say(words, pieces) == (text, word)


def test_the_stop_string_stays_when_asked_for() -> None:
    assert say(["own fox"], ["br", "own", " fox jumps"], include=True) == ("brown fox", "own fox")


def test_only_what_may_become_a_stop_string_is_held_back() -> None:
    stopper = Stopper(["\nUser:"])
    assert stopper.feed("hello\nUs") == "hello"
    assert stopper.feed("ual\n") == "\nUsual"
    assert stopper.flush() == "\n"


@given(st.text("ab ", max_size=12), st.text("ab", min_size=1, max_size=4), st.data())
def test_any_cut_gives_the_same_text(text: str, word: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)))))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert say([word], pieces) == say([word], [text]) == say([word], list(text))
    assert say([word], [text])[0] == text.split(word)[0]


@pytest.mark.parametrize(
    ("pieces", "kept", "broken"),
    [
        (["  a\n", "  b\n", " c"], "  a\n  b\n ", True),
        (["a\n", "    b", "c"], "a\n    bc", False),
        (["a\n\n"], "a\n", True),
        (["a\n", " ", " ", "b"], "a\n  b", False),
        (["a\n\tb\n"], "a\n\t", True),
    ],
)
def test_a_line_indented_less_ends_the_text(pieces: list[str], kept: str, broken: bool) -> None:
    indentation = Indentation(2)
    shown = ""
    for piece in pieces:
        shown += indentation.feed(piece)
        if indentation.broken:
            break
    assert (shown, indentation.broken) == (kept, broken)
