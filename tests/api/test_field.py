"""A row of a table reads a value, or says what is wrong with it."""

from typing import Any

import pytest

from llama.api import field
from llama.api.field import Field, object_schema, read_fields
from llama.errors import InvalidRequest

TABLE = (
    Field("n_predict", field.integer(-1), aliases=("max_completion_tokens", "max_tokens")),
    Field("top_p", field.number(0, 1)),
    Field("n", field.integer(1, 4)),
    Field("stop", field.list_of(field.text(), lone=True)),
)


def test_the_most_specific_name_wins() -> None:
    assert read_fields(TABLE, {"max_tokens": 1, "max_completion_tokens": 2}) == {"n_predict": 2}
    assert read_fields(TABLE, {"max_tokens": 1, "n_predict": 3}) == {"n_predict": 3}
    assert read_fields(TABLE, {"max_tokens": 1, "n_predict": None}) == {"n_predict": 1}


def test_null_and_unknown_are_absent() -> None:
    assert read_fields(TABLE, {"top_p": None, "other": 5}) == {}


@pytest.mark.parametrize(("value", "read"), [(3, 3), (3.9, 3), (-1, -1), (1e9, 10**9)])
def test_fractions_are_cut_off(value: Any, read: int) -> None:
    assert read_fields(TABLE, {"n_predict": value}) == {"n_predict": read}


@pytest.mark.parametrize(("value", "read"), [(0.5, 0.5), (2, 1), (-3, 0), (10**400, 1)])
def test_soft_limits_move_to_the_border(value: Any, read: float) -> None:
    assert read_fields(TABLE, {"top_p": value}) == {"top_p": read}


@pytest.mark.parametrize("value", [0, 5, 10**400, -2])
def test_hard_limits_name_field_limits_and_value(value: Any) -> None:
    with pytest.raises(InvalidRequest, match="Field 'n': Value must be between 1 <= value <= 4, but got ") as caught:
        read_fields(TABLE, {"n": value})
    assert caught.value.field == "n"


@pytest.mark.parametrize("value", ["3", True, [], {}])
def test_the_name_in_the_message_is_the_one_that_was_sent(value: Any) -> None:
    with pytest.raises(InvalidRequest, match="Field 'max_tokens': must be a whole number, but is ") as caught:
        read_fields(TABLE, {"max_tokens": value})
    assert caught.value.field == "max_tokens"


def test_one_text_is_a_list_of_one() -> None:
    assert read_fields(TABLE, {"stop": "x"}) == {"stop": ("x",)}
    assert read_fields(TABLE, {"stop": []}) == {"stop": ()}
    with pytest.raises(InvalidRequest, match="stop"):
        read_fields(TABLE, {"stop": ["x", 5]})


def test_the_schema_says_the_same() -> None:
    properties = object_schema(TABLE)["properties"]
    assert properties["n"]["anyOf"][0] == {"type": "integer", "minimum": 1, "maximum": 4}
    assert properties.keys() == {"n_predict", "max_completion_tokens", "max_tokens", "top_p", "n", "stop"}
