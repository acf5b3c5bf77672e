"""Tidies blanks beside signs and apostrophes, for vocabularies made with clean_up_tokenization_spaces."""

import re

_BEFORE_SIGN = re.compile(rb" (?=[?!.,])")
_LONE_APOSTROPHE = re.compile(rb" ' ")
_CONTRACTION = re.compile(rb" (?='(?:s|m|re|ve))")


def clean(data: bytes) -> bytes:
    """`data` without blanks before ?!., and before 's 'm 're 've, and without those around a lone apostrophe."""
    data = _BEFORE_SIGN.sub(b"", data)
    data = _LONE_APOSTROPHE.sub(b"'", data)
    return _CONTRACTION.sub(b"", data)
