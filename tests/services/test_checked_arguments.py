"""What reaches a tool's service of its arguments: known names alone, without secrets."""

from typing import Any

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.server.catalog import TOOLS
from mcp_reflect.services.checked_arguments import checked_arguments
from mcp_reflect.services.tool_functions import TOOL_FUNCTIONS, shape_of


def test_each_tool_has_the_shape_that_the_catalog_lists() -> None:
    shapes = {spec.name: spec.shape for spec in TOOLS}
    assert {tool: shape_of(tool) for tool in TOOL_FUNCTIONS} == shapes


@pytest.mark.parametrize("tool", TOOL_FUNCTIONS)
def test_what_stands_under_an_unknown_name_is_not_read(tool: str, settings: Settings) -> None:
    sent = {"extra": "token: " * 200_000, "colors": [{"password": "Kelp4Dune7"}] * 100}
    cleaned, cut = checked_arguments(tool, sent, settings)
    assert cleaned == {"extra": "", "colors": ""}
    assert not cut


@pytest.mark.parametrize(
    ("tool", "sent"),
    [
        ("reflect", {"arguments": {"task": "x", "outcome": "failure"}}),
        ("reflect", {"task": "x", "status": "failed", "mistake": "a", "root_cause": "b"}),
        ("reflect", {"Task": "x", "messages": [{"role": "user", "content": "x"}]}),
        ("store_lesson", {"mistakes": "a", "corection": "b"}),
        ("recall_lessons", {"symptom": "a"}),
        ("critique", {"input": {"goal": "x", "response": "y"}}),
    ],
)
def test_what_stands_under_a_name_that_is_understood_is_read(
    tool: str, sent: dict[str, Any], settings: Settings
) -> None:
    assert checked_arguments(tool, sent, settings)[0] == sent


def test_of_very_many_names_those_that_are_fields_are_read(settings: Settings) -> None:
    names = {f"name {place}": f"word {place}" for place in range(2_000)}
    cleaned, _ = checked_arguments("reflect", {**names, "task": "x"}, settings)
    assert cleaned["task"] == "x"
    assert not any(cleaned[name] for name in names)
