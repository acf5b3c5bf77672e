"""Formats beside a largest length: never longer, never another format, and wide enough for what people write."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llama.grammar import compile_schema
from llama.grammar.schema.formats import PATTERNS
from llama.grammar.schema.within import format_within
from tests.grammar.judging import check, wander

FORMATS = ("email", "hostname", "uri")
ADDRESS = "ada.lovelace+news@mail.analytical-engines.example.com"
PAGE = "https://www.example.com/articles/2026/11/a-rather-long-title-of-an-article?page=2&sort=%20new#comments"


@settings(deadline=None, max_examples=150)
@given(st.sampled_from(FORMATS), st.integers(1, 300), st.data())
def test_what_is_allowed_fits_and_is_of_the_format(name: str, high: int, data: st.DataObject) -> None:
    pattern = format_within(name, 0, high)
    if pattern is not None:
        text = data.draw(st.from_regex(re.compile(pattern, re.ASCII), fullmatch=True))
        assert len(text) <= high
        assert re.fullmatch(PATTERNS[name], text)


@pytest.mark.parametrize(
    ("schema", "yes", "no"),
    [
        ({"format": "email", "maxLength": 254}, [ADDRESS, "a@b.io", f"{'x' * 64}@example.org"], ["a@", "b.io"]),
        (
            {"format": "email", "maxLength": 100, "minLength": 6},
            [ADDRESS, "ab@b.io"],
            ["a@b.c", f"{ADDRESS}{'x' * 47}"],
        ),
        ({"format": "hostname", "maxLength": 253}, ["mail.example.com", "localhost", f"{'x' * 63}.org"], ["-a.org"]),
        ({"format": "hostname", "maxLength": 40}, ["db.averylongnameofahost.internal"], [f"{'x' * 41}"]),
        (
            {"format": "uri", "maxLength": 2048},
            [PAGE, "mailto:ada@example.com", "urn:isbn:0451450523"],
            ["/a", "x y:z"],
        ),
        ({"format": "uri", "maxLength": 100}, ["https://example.com/a?b=c"], [f"https://example.com/{'a' * 90}"]),
    ],
    ids=str,
)
def test_lengths_beside_formats(schema: dict[str, object], yes: list[str], no: list[str]) -> None:
    check(compile_schema({"type": "string", **schema}), map(json.dumps, yes), map(json.dumps, no))


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("high", [12, 30, 254])
def test_random_texts_are_held_to_both(name: str, high: int) -> None:
    program = compile_schema({"type": "string", "format": name, "maxLength": high})
    texts = [json.loads(text) for text in (wander(program, seed) for seed in range(12)) if text is not None]
    assert texts
    assert all(len(text) <= high and re.fullmatch(PATTERNS[name], text) for text in texts)
