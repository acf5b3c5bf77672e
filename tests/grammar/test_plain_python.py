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
