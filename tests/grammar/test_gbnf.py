"""GBNF: the dialect, and what an error says."""

import pytest

from llama.errors import GrammarError
from llama.grammar import choice_to_gbnf, compile_grammar, regex_to_gbnf
from tests.grammar.judging import accepted


@pytest.mark.parametrize(
    ("grammar", "yes", "no"),
    [
        ('root ::= "a" | "b"', ["a", "b"], ["", "ab"]),
        ("root ::= 'it''s' | 'don\\'t' | '\"'", ["its", "don't", '"'], ["it's"]),
        ('root ::= [a-c-]+ "\\x41" [^\\n]', ["a-Ax", "cAé"], ["aA\n", "dAx"]),
        ("root ::= .", ["a", "漢", "🙂", "\n"], ["", "ab", b"\xff", b"\xed\xa0\x80", b"\xc0\x80"]),
        ('root ::= ("a" # one\n | "b"\n)*', ["", "abba"], ["c"]),
        ('root ::= "a"\n | "b"', ["a", "b"], [""]),
        ('root ::= x\nx ::= "1"\nx ::= "2"', ["2"], ["1"]),
        ('root ::= "a" {2} "b"{ 1 , 2 } "c"{2,}', ["aabcc", "aabbccc"], ["abcc", "aabbbcc", "aabc"]),
        ('root ::= ("a"{2}){2} | ("b"+)+ | ("c"?)*', ["aaaa", "bbb", "", "ccc"], ["aaa", "abc"]),
        ('root ::= ("ab" | [0-9]){2,300} "."', ["ab1.", "1" * 300 + "."], ["1.", "1" * 301 + "."]),
        ('root ::= ("x"{2,3} ","){40,} "."', ["xx,xxx," * 20 + "."], ["xx," * 39 + ".", "x," * 40 + "."]),
        ('root ::= (("a" | "")  "b"?){50,60} "."', [".", "ab" * 60 + "."], ["ab" * 61 + "."]),
        ('root ::= "a" root "b" | "a" root | ""', ["", "a" * 50 + "b" * 30], ["b", "abb"]),
        ('root ::= "(" root ")" | "(" root "]" | "x"', ["(((x)])", "x"], ["(x", "((x)))"]),
        ('root ::= pre? "a"\npre ::= "a" | "aa"', ["a", "aa", "aaa"], ["aaaa"]),
        ('root ::= [] | "a"', ["a"], [""]),
    ],
)
def test_dialect(grammar: str, yes: list[str], no: list[str | bytes]) -> None:
    for text in yes:
        assert accepted(grammar, text), text
    for text in no:
        assert not accepted(grammar, text), text


@pytest.mark.parametrize(
    ("grammar", "message", "line", "column"),
    [
        ("root ::= [\\d]+", "unknown escape \\d", 1, 11),
        ('root ::= "a\\qb"', "unknown escape \\q", 1, 12),
        ('root ::= "a"\nx ::= [a-', "unterminated class", 2, 7),
        ('root ::= "a', "unterminated literal", 1, 10),
        ("root ::= foo", "there is no rule `foo`", 1, 10),
        ('root ::= "a" {2,1}', "reversed", 1, 14),
        ('root ::= "a"{,3}', "a count is", 1, 13),
        ("root ::= [z-a]", "reversed", 1, 10),
        ('root ::= ("a"', "unclosed `(`", 1, 10),
        ('root ::= "a")', "`)` without", 1, 13),
        ('root ::= * "a"', "nothing before `*`", 1, 10),
        ("root = x", "unexpected '='", 1, 6),
        ("# comment only", "no rule `root`", 0, 0),
        ('ROOT ::= "a"', "no rule `root`", 0, 0),
        ("", "no rule `root`", 0, 0),
        ('root ::= "\\uD800"', "not a character", 1, 11),
        ('root ::= "a" root', "no finite text", 0, 0),
        ("root ::= []", "no finite text", 0, 0),
    ],
)
def test_errors_say_what_and_where(grammar: str, message: str, line: int, column: int) -> None:
    with pytest.raises(GrammarError) as error:
        compile_grammar(grammar)
    assert message in str(error.value)
    assert (error.value.line, error.value.column) == (line, column)
    if line:
        assert str(error.value).splitlines()[-1].index("^") == column - 1


def test_nesting_is_not_python_recursion() -> None:
    assert accepted("root ::= " + "(" * 60000 + '"a"' + ")" * 60000, "a")
    assert accepted("root ::= " + "(" * 20000 + '"a"' + ")?" * 20000, "a")
    chain = "\n".join(f"r{i} ::= r{i + 1}" for i in range(4999))
    assert accepted(f'root ::= r0\n{chain}\nr4999 ::= "a"', "a")
    assert accepted('root ::= "(" root ")" | ""', "(" * 20000 + ")" * 20000)


def test_regular_expressions_and_choices() -> None:
    assert accepted(regex_to_gbnf("(yes|no)[0-9]{1,3}"), "no12")
    assert not accepted(regex_to_gbnf("(yes|no)[0-9]{1,3}"), "no12 ")
    assert accepted(regex_to_gbnf("(^a|b)c$"), "bc")
    assert accepted(regex_to_gbnf('"[^"]*"'), '"x\ny"')
    assert accepted(choice_to_gbnf(['a "b"', "c\n", "\\"]), "c\n")
    with pytest.raises(GrammarError):
        regex_to_gbnf("(?=a)b")
    with pytest.raises(GrammarError):
        choice_to_gbnf([])
