"""The cases beside the checkout: traps, hard grammars, and what users of such servers reported."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llama.errors import GrammarError, SchemaError
from llama.grammar import Program, TokenTrie, compile_grammar, compile_schema, schema_to_gbnf
from tests.grammar.judging import END, accepted, feed

Case = dict[str, Any]


def compiled(case: Case) -> Program:
    """The program of a case of either kind."""
    return compile_grammar(case["grammar"]) if case["kind"] == "gbnf" else compile_schema(case["schema"])


def check(case: Case) -> None:
    """Every text of the case is judged as it says."""
    program = compiled(case)
    for texts in case["accept"]:
        spellings = [texts] if isinstance(texts, str) else texts
        assert any(accepted(program, text) for text in spellings), spellings[0][:200]
    for text in case["reject"]:
        assert not accepted(program, text), text[:200]


def test_traps(shared: Path) -> None:
    for case in json.loads((shared / "cases" / "grammar-traps.json").read_text()):
        if case["parses"] is False:
            with pytest.raises((GrammarError, SchemaError)):
                compiled(case)
        else:
            check(case)


def test_hard_grammars(shared: Path) -> None:
    for path in sorted((shared / "cases" / "grammar-hard").glob("*.json")):
        check(json.loads(path.read_text()))


def reports(shared: Path, kind: str) -> Iterator[Case]:
    """Reports of one kind."""
    for line in (shared / "cases" / "bugs" / "reports.jsonl").read_text().splitlines():
        report = json.loads(line)
        if report["kind"].startswith(f"{kind} "):
            yield report


def test_reported_schemas(shared: Path) -> None:
    for report in reports(shared, "1"):
        cases = report["input"].get("cases", [report["input"]])
        for case in cases:
            if "schema" in case and "feed" not in case and report["id"] != "B026":
                check({"kind": "schema", "accept": [], "reject": [], **case})


def test_objects_without_properties(shared: Path) -> None:
    report = next(report for report in reports(shared, "1") if report["id"] == "B006")
    for schema in report["input"]["schemas"]:
        program = compile_schema(schema)
        assert accepted(program, "{}")
        assert accepted(program, '{"a": 1}') == (schema.get("additionalProperties") is not False)


def test_blanks_are_bounded() -> None:
    program = compile_schema({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})
    for text in ('{"a":1}', '{ "a": 1 }', '{\n  "a": 1\n}'):
        assert accepted(program, text), text
    for text in ("{" + "\n" * 500, '{"a":1}' + "\n" * 500, '{"a":' + " " * 100 + "1}", '{"a":1}\n\n\n'):
        assert not accepted(program, text), text


def test_long_arrays_stay_fast() -> None:
    program = compile_schema({"type": "array", "items": {"type": "number"}, "minItems": 10, "maxItems": 1000})
    text = "[" + ", ".join(["1234"] * 400) + "]"
    accepted(program, text[:10])
    start = time.perf_counter()
    assert accepted(program, text)
    assert time.perf_counter() - start < 1


def test_reported_grammars(shared: Path) -> None:
    for report in reports(shared, "2"):
        case = report["input"]
        if "accept" in case:
            check({"kind": "gbnf", **case})


@pytest.mark.parametrize(
    "grammar",
    [
        'root ::= root "a" | "b"',
        'root ::= expr\nexpr ::= num | bin\nbin ::= expr ("+" | "-") expr\nnum ::= [0-9]+',
        'root ::= a\na ::= ws a "x" | "y"\nws ::= [ ]*',
    ],
)
def test_left_recursion_names_the_rule(grammar: str) -> None:
    with pytest.raises(GrammarError, match=r"left recursion: `(root|expr|a)`"):
        compile_grammar(grammar)


def test_tokens_of_several_symbols() -> None:
    pieces = [b" {", b"{", b'{"', b'":', b'"}', b"a", b"1", b""]
    trie = TokenTrie(pieces, frozenset({7}))
    program = compile_grammar('root ::= "{" "\\"a\\"" ":" [0-9]+ "}"')
    constraint = program.constraint(trie)
    assert constraint.mask().tolist() == [False, True, True, False, False, False, False, False]
    feed(constraint, [2, 5, 3, 6])
    assert not constraint.may_end
    trie = TokenTrie([*pieces[:4], b"}", *pieces[5:]], frozenset({7}))
    constraint = feed(program.constraint(trie), [2, 5, 3, 6, 4])
    assert constraint.may_end
    assert constraint.finished
    assert constraint.mask().tolist() == [False] * 7 + [True]


def test_half_characters() -> None:
    pieces = [b'"', b"\xf0\x9f", b"\x98", b"\x80", b"\xe4A", b"\x80", b""]
    trie = TokenTrie(pieces, frozenset({6}))
    program = compile_grammar('root ::= "\\"" [^"\\\\]{1,3} "\\"" | [぀-ヿ]+ | [\\u4e00-\\u9fff]+')
    assert program.constraint(trie).mask().tolist() == [True, False, False, False, False, False, False]
    constraint = feed(program.constraint(trie), [0, 1])
    assert constraint.mask().tolist() == [False, False, True, True, False, True, False]
    feed(constraint, [2, 3, 0])
    assert constraint.finished
    assert constraint.accepts(6)


def test_a_schema_is_plain_text_on_the_way() -> None:
    text = schema_to_gbnf({"type": "object", "properties": {"a": {"enum": [1, "x"]}}, "required": ["a"]})
    assert 'root-a ::= "1" | "\\"" "x" "\\""' in text
    assert accepted(text, '{"a": "x"}')
    assert not accepted(text, b'{"a": "x"}' + bytes([END - 1]))
