"""The templates that are shipped: sound, versioned, and asking for what the design fixes."""

import hashlib
import json
from pathlib import Path

import pytest

from mcp_reflect.llm.prompts import Prompts, shipped_folder
from mcp_reflect.models.run import Outcome
from mcp_reflect.schemas.analysis import AnalysisArguments
from mcp_reflect.security.injection import DATA_RULE

HASHES = Path(__file__).with_name("prompt_hashes.json")
NAMES = (
    "correct critique critique_answer distill_lessons dream evaluate learn reflect_decision reflect_error "
    "reflect_failure reflect_partial reflect_success reflect_timeout replan replan_search review_task "
    "start_task"
).split()
_FIELDS = set(AnalysisArguments.model_fields) - {"source_event_ids", "scores"}
_VERDICTS = {"decision_appropriate", "execution_effective"}
ANALYSES = {
    **dict.fromkeys((f"reflect_{outcome.value}" for outcome in Outcome), _FIELDS - _VERDICTS),
    "reflect_decision": _FIELDS,
    "critique": {"quality_score", "verdicts", "issues", "suggested_fix", "criteria", "corrected_steps"},
    "replan": {"reasoning", "strategy", "user_message", "new_queries"},
}


def test_all_templates_are_there() -> None:
    assert Prompts().names() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_template_renders_with_its_inputs(name: str) -> None:
    prompts = Prompts()
    template = prompts.load(name)
    rendered = prompts.render(name, **{one: f"text of {one}" for one in template.inputs})
    assert all(f"text of {one}" in rendered.user for one in template.inputs)
    assert DATA_RULE in rendered.system
    assert "$" not in rendered.user


@pytest.mark.parametrize("name", NAMES)
def test_the_system_part_does_not_change_with_the_inputs(name: str) -> None:
    prompts = Prompts()
    inputs = prompts.load(name).inputs
    systems = {prompts.render(name, **dict.fromkeys(inputs, text)).system for text in ("a", "b", "")}
    assert len(systems) == 1


@pytest.mark.parametrize("name", ANALYSES)
def test_a_template_asks_for_the_fields_of_an_analysis(name: str) -> None:
    assert set(Prompts().load(name).output or {}) == ANALYSES[name]


def test_a_changed_template_has_a_new_version() -> None:
    """On failure: raise the version in the file's front matter, and add its hash under `name@version`."""
    held: dict[str, str] = json.loads(HASHES.read_text(encoding="utf-8"))
    for name in NAMES:
        key = f"{name}@{Prompts().load(name).version}"
        digest = hashlib.sha256((shipped_folder() / f"{name}.md").read_bytes()).hexdigest()[:16]
        assert held.get(key) == digest, f"{key} has hash {digest}"


def test_versions_only_rise() -> None:
    held: dict[str, str] = json.loads(HASHES.read_text(encoding="utf-8"))
    for name in NAMES:
        versions = [int(key.split("@")[1]) for key in held if key.split("@")[0] == name]
        assert Prompts().load(name).version == max(versions) == len(versions)
