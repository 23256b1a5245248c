"""Schemas in the narrow form that providers hold a reply to."""

import jsonschema
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_reflect.llm.reply_schema import closed, is_strict
from mcp_reflect.models.common import Json


def thing(**properties: Json) -> dict[str, Json]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def test_objects_are_closed_and_limits_move_into_the_description() -> None:
    schema = thing(
        score={"type": "number", "minimum": 0, "maximum": 1, "description": "How good."},
        tags={"type": "array", "items": {"type": "string", "maxLength": 9}, "maxItems": 5},
    )
    assert closed({**schema, "title": "T", "$schema": "x"}) == {
        "type": "object",
        "properties": {
            "score": {"type": "number", "description": "How good. (minimum 0, maximum 1)"},
            "tags": {
                "type": "array",
                "items": {"type": "string", "description": "(maxLength 9)"},
                "description": "(maxItems 5)",
            },
        },
        "required": ["score", "tags"],
        "additionalProperties": False,
    }


def test_a_list_of_types_becomes_variants() -> None:
    assert closed({"type": ["string", "null"]}) == {"anyOf": [{"type": "string"}, {"type": "null"}]}


def test_references_and_variants_keep_their_parts() -> None:
    schema: dict[str, Json] = {
        "$defs": {"step": thing(n={"type": "integer"})},
        **thing(steps={"type": "array", "items": {"oneOf": [{"$ref": "#/$defs/step"}, {"enum": ["none"]}]}}),
    }
    narrow = closed(schema)
    assert narrow is not None
    jsonschema.Draft202012Validator.check_schema(narrow)
    jsonschema.validate({"steps": [{"n": 1}, "none"]}, narrow)


def test_what_the_narrow_form_cannot_say_is_not_narrowed() -> None:
    assert closed(thing(filters={"type": "object"})) is None
    assert closed(thing(filters={"type": "object", "additionalProperties": {"type": "string"}})) is None
    assert closed(thing(anything={})) is None
    assert closed(thing(anything=True)) is None
    assert closed(thing(list={"type": "array"})) is None


def test_a_schema_is_strict_where_every_name_is_required_at_every_depth() -> None:
    inner = thing(a={"type": "string"})
    assert is_strict(thing(inner=inner))
    assert not is_strict(thing(inner={**inner, "required": []}))
    assert not is_strict(thing(items={"type": "array", "items": {**inner, "required": []}}))


SCHEMAS = st.recursive(
    st.sampled_from([{"type": "string"}, {"type": "number", "minimum": 0}, {"enum": ["a", 1, None]}]),
    lambda inner: st.one_of(
        inner.map(lambda item: {"type": "array", "items": item}),
        st.dictionaries(st.text(min_size=1, max_size=3), inner, min_size=1, max_size=3).map(
            lambda properties: {"type": "object", "properties": properties, "required": sorted(properties)}
        ),
    ),
    max_leaves=8,
)


@settings(deadline=None, max_examples=40)
@given(SCHEMAS)
def test_narrowing_twice_is_narrowing_once(schema: dict[str, Json]) -> None:
    once = closed(schema)
    assert once is not None
    jsonschema.Draft202012Validator.check_schema(once)
    assert closed(once) == once
