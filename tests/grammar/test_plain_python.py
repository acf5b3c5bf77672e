"""Without numba the same functions run as plain Python, and say the same."""

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import sys, warnings
if sys.argv[1] == "plain":
    sys.modules["numba"] = None
warnings.simplefilter("error")
from llama.grammar import compile_grammar, compile_schema
from tests.grammar.judging import BYTE_TRIE, accepted, wander
schema = compile_schema({"type": "array", "items": {"type": "string", "maxLength": 90}, "maxItems": 300})
grammar = compile_grammar('root ::= ("a" root "b" | [^a]{2,50} | "")')
for program in (schema, grammar):
    for seed in range(4):
        print(wander(program, seed, limit=40))
print(accepted(schema, '["x", "' + "y" * 90 + '"]'), accepted(schema, '["' + "y" * 91 + '"]'))
"""


def test_plain_python_gives_the_same_masks() -> None:
    root = Path(__file__).resolve().parents[2]
    outputs = [
        subprocess.run([sys.executable, "-c", SCRIPT, how], cwd=root, capture_output=True, text=True, check=True).stdout
        for how in ("plain", "compiled")
    ]
    assert outputs[0] == outputs[1]
    assert outputs[0].endswith("True False\n")


WARMED = """
import importlib, sys
from llama.grammar.warming import warm
from tests.grammar.judging import accepted
from tests.grammar.test_matcher import GRAMMARS, SCHEMA, compile_grammar, compile_schema, random_trie
from tests.grammar.test_matcher import test_tables_are_left_behind_when_they_grow_too_large as leave_tables_behind

def signatures():
    names = ("closure", "groups", "interning", "loops", "shortening", "tree", "walk")
    modules = [importlib.import_module(f"llama.grammar.{name}") for name in names]
    found = {f"{m.__name__}.{n}": f.signatures for m in modules for n, f in vars(m).items() if hasattr(f, "signatures")}
    assert found
    return {name: sorted(map(str, signatures)) for name, signatures in found.items()}

warm()
before = signatures()
leave_tables_behind()
trie = random_trie(0)
for grammar in [*GRAMMARS, SCHEMA, 'root ::= "(" root ")" | ""']:
    constraint = (compile_grammar(grammar) if isinstance(grammar, str) else compile_schema(grammar)).constraint(trie)
    for token in b'((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((abc[{"a":"x"':
        constraint.mask()
        if constraint.accepts(token):
            constraint.advance(token)
after = signatures()
print("compiled late:", sorted(name for name in after if after[name] != before[name]))
print("compiled twice:", sorted(name for name in after if len(after[name]) > 1 and not name.endswith(".wide")))
"""


def test_after_warming_nothing_is_left_to_compile_and_nothing_was_compiled_twice() -> None:
    root = Path(__file__).resolve().parents[2]
    ran = subprocess.run([sys.executable, "-c", WARMED], cwd=root, capture_output=True, text=True, check=True)
    assert ran.stdout == "compiled late: []\ncompiled twice: []\n"
