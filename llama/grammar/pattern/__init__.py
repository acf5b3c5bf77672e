"""This package turns regular expressions as JSON Schema knows them (ECMA-262) into grammar rules."""
