"""This package turns GBNF or a JSON Schema into a matcher that says which tokens may come next.

It knows bytes and vocabularies; it knows nothing of models, sampling or HTTP.
"""

from llama.grammar.constraint import Constraint, Trigger

__all__ = ["Constraint", "Trigger"]
