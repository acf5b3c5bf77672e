"""This package turns a JSON Schema into GBNF, exactly or not at all.

The road: a schema with its applicators (allOf, anyOf, $ref, not, if ...) becomes *alternatives*, each a list of plain
parts that hold together; the parts of an alternative are merged type by type, and each type writes its rules.
"""
