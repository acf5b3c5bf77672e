"""Random JSON Schemas, and random values that may or may not fit them."""

from typing import Any

from hypothesis import strategies as st

NAMES = ["a", "ab", "b", "é", 'q"\\', "c d"]
PATTERNS = ["^a", "b$", "^[ab]*$", "^(a|bc)+$", "a.c", "^[0-9]{2}$", "[^a]", "^a|b$", "^.{1,3}$", "x?y"]
NUMBERS = st.one_of(st.integers(-30, 30), st.integers(-3000, 3000), st.floats(-20, 20).map(lambda x: round(x, 2)))
TEXTS = st.text(alphabet='ab cxy12_"\\/é漢🙂', max_size=6)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([0.5, -1.25, 1e-7]), TEXTS)
SMALL = st.integers(0, 4)


def ordered(low: Any, high: Any) -> bool:
    """True if both are missing or in order."""
    return low is None or high is None or low <= high


@st.composite
def string_schemas(draw: st.DrawFn) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    if draw(st.booleans()):
        schema["minLength"] = draw(SMALL)
    if draw(st.booleans()):
        schema["maxLength"] = schema.get("minLength", 0) + draw(SMALL)
    if draw(st.booleans()):
        schema["pattern"] = draw(st.sampled_from(PATTERNS))
    return schema


@st.composite
def number_schemas(draw: st.DrawFn) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": draw(st.sampled_from(["integer", "number"]))}
    for keyword in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        if draw(st.integers(0, 2)) == 0:
            schema[keyword] = draw(NUMBERS)
    if draw(st.integers(0, 3)) == 0:
        schema["multipleOf"] = draw(st.sampled_from([1, 2, 3, 7, 10]))
    return schema


@st.composite
def array_schemas(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "array"}
    if draw(st.booleans()):
        schema["items"] = draw(inner)
    if draw(st.integers(0, 2)) == 0:
        schema["prefixItems"] = draw(st.lists(inner, min_size=1, max_size=2))
    if draw(st.booleans()):
        schema["minItems"] = draw(st.integers(0, 2))
    if draw(st.booleans()):
        schema["maxItems"] = schema.get("minItems", 0) + draw(st.integers(0, 2))
    if draw(st.integers(0, 4)) == 0:
        schema["contains"] = draw(inner)
    return schema


@st.composite
def object_schemas(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=3))
    if names:
        schema["properties"] = {name: draw(inner) for name in names}
        schema["required"] = draw(st.lists(st.sampled_from(names), unique=True))
    schema["additionalProperties"] = draw(st.sampled_from([True, False, {"type": "integer"}]))
    if draw(st.integers(0, 3)) == 0:
        schema["patternProperties"] = {draw(st.sampled_from(["^a", "b$", "c"])): draw(inner)}
    if draw(st.integers(0, 3)) == 0:
        schema["minProperties"] = draw(st.integers(0, 2))
    if draw(st.integers(0, 3)) == 0:
        schema["maxProperties"] = draw(st.integers(1, 3))
    if draw(st.integers(0, 4)) == 0:
        schema["propertyNames"] = draw(st.sampled_from([{"maxLength": 2}, {"pattern": "^[a-c]"}, {"enum": NAMES[:3]}]))
    return schema


@st.composite
def combined(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> dict[str, Any]:
    keyword = draw(st.sampled_from(["anyOf", "allOf", "oneOf", "not", "if"]))
    base = draw(st.sampled_from([{}, {"type": ["integer", "string", "object", "null"]}]))
    if keyword == "not":
        simple = st.one_of(string_schemas(), number_schemas(), st.fixed_dictionaries({"const": SCALARS}))
        return {**base, "not": draw(simple)}
    if keyword == "if":
        return {**base, "if": draw(string_schemas()), "then": draw(inner), "else": draw(inner)}
    return {**base, keyword: draw(st.lists(inner, min_size=1, max_size=2))}


def schemas() -> st.SearchStrategy[Any]:
    """Schemas of a few levels, with most keywords."""
    leaves = st.one_of(
        st.just(True),
        st.sampled_from([{"type": "boolean"}, {"type": "null"}, {"type": ["string", "null"]}, {}, {"minLength": 2}]),
        string_schemas(),
        number_schemas(),
        st.fixed_dictionaries({"enum": st.lists(SCALARS, min_size=1, max_size=4)}),
        st.fixed_dictionaries({"const": SCALARS}),
    )
    return st.recursive(
        leaves, lambda inner: st.one_of(array_schemas(inner), object_schemas(inner), combined(inner)), max_leaves=6
    )


def values() -> st.SearchStrategy[Any]:
    """JSON values of the size that the schemas speak of."""
    return st.recursive(
        st.one_of(SCALARS, NUMBERS, st.sampled_from(["a", "abc", "ab", "12", "bc"])),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3), st.dictionaries(st.sampled_from([*NAMES, "zz"]), inner, max_size=3)
        ),
        max_leaves=5,
    )
