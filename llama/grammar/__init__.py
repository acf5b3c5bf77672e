"""This package turns GBNF or a JSON Schema into a matcher that says which tokens may come next.

It knows bytes and vocabularies; it knows nothing of models, sampling or HTTP.
"""

from llama.grammar.constraint import Constraint, Trigger
from llama.grammar.lazy import LazyConstraint
from llama.grammar.pattern.rules import choice_to_gbnf, regex_to_gbnf
from llama.grammar.program import Program, compile_grammar
from llama.grammar.schema.convert import Converter, compile_schema, schema_to_gbnf
from llama.grammar.schema.rules import Rules
from llama.grammar.trie import TokenTrie

__all__ = [
    "Constraint",
    "Converter",
    "LazyConstraint",
    "Program",
    "Rules",
    "TokenTrie",
    "Trigger",
    "choice_to_gbnf",
    "compile_grammar",
    "compile_schema",
    "regex_to_gbnf",
    "schema_to_gbnf",
]
