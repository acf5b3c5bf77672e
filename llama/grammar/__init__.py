"""This package turns GBNF or a JSON Schema into a matcher that says which tokens may come next.

It knows bytes and vocabularies; it knows nothing of models, sampling or HTTP.
"""

from llama.grammar.constraint import Constraint, Trigger
from llama.grammar.lazy import LazyConstraint
from llama.grammar.program import Program, compile_grammar
from llama.grammar.trie import TokenTrie

__all__ = ["Constraint", "LazyConstraint", "Program", "TokenTrie", "Trigger", "compile_grammar"]
