"""The schema of a reply, in the narrow form to which providers hold one."""

import jsonschema
import pytest

from mcp_reflect.llm.json_replies import as_mapping, is_closed, schema_of
from mcp_reflect.llm.prompts import Prompts
from mcp_reflect.models.common import Json


def test_the_shape_of_a_template_becomes_a_closed_schema_with_its_hints() -> None:
    shape: dict[str, Json] = {"score": "number 0..1", "tags": ["string"], "fix": "string or null", "plain": "words"}
    assert schema_of({"score": "number 0..1", "inner": shape}) == {
        "type": "object",
        "properties": {"score": {"type": "number", "description": "0..1"}, "inner": schema_of(shape)},
        "required": ["score", "inner"],
        "additionalProperties": False,
    }
    jsonschema.Draft202012Validator.check_schema(schema_of(shape))
    jsonschema.validate({"score": 0.5, "tags": ["a"], "fix": None, "plain": "x"}, schema_of(shape))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"score": 0.5, "tags": ["a"], "fix": None, "plain": "x", "more": 1}, schema_of(shape))


def test_a_schema_with_free_names_at_any_depth_is_not_closed() -> None:
    assert is_closed(schema_of({"items": [{"score": "number"}], "fix": "string or null"}))
    assert not is_closed(schema_of({"filters": {}}))
    assert not is_closed(schema_of({"items": [{"filters": {}}]}))


@pytest.mark.parametrize("name", ["criterion", "name"])
def test_entries_by_criterion_become_an_object_and_an_object_stays(name: str) -> None:
    entry: dict[str, Json] = {name: "tone", "score": 0.7}
    assert as_mapping([entry, {"score": 1}, "odd"], "criterion") == {"tone": entry}
    assert as_mapping({"tone": 0.7}, "criterion") == {"tone": 0.7}
    assert as_mapping(None, "criterion") is None


def test_criteria_of_a_critic_and_an_evaluator_are_closed() -> None:
    assert all(is_closed(schema_of(Prompts().load(name).output or {})) for name in ("critique", "evaluate"))
