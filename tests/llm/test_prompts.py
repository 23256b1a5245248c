"""The templates that are shipped, and a person's, which serve at once; a broken one is named, and leaves it to ours."""

# pyright: reportArgumentType=false
# These tests send what the type of a clean text forbids, to see that it comes out clean.

import hashlib
import json
from enum import StrEnum
from pathlib import Path

import pytest

from mcp_reflect.errors import PromptError
from mcp_reflect.llm.prompts import NONE, Prompts, shipped_folder
from mcp_reflect.models.run import Outcome
from mcp_reflect.schemas.analysis_fields import AnalysisArguments
from mcp_reflect.security.injection import DATA_RULE
from tests.llm import reflect_calls
from tests.llm.reflect_calls import reflect, said, serving
from tests.scripted import Scripted

HASHES = Path(__file__).with_name("prompt_hashes.json")
NAMES = (
    "correct critique critique_answer distill_lessons dream evaluate guards improve_response judge_response learn "
    "reflect_decision reflect_error reflect_failure reflect_partial reflect_success reflect_timeout replan replan_search "
    "review_task start_task"
).split()
_FIELDS = set(AnalysisArguments.model_fields) - {"source_event_ids", "scores"}
_VERDICTS = {"decision_appropriate", "execution_effective"}
ANALYSES = {
    **dict.fromkeys((f"reflect_{outcome.value}" for outcome in Outcome), _FIELDS - _VERDICTS),
    "reflect_decision": _FIELDS,
    "critique": {
        "quality_score",
        "verdicts",
        "issues",
        "suggested_fix",
        "criteria",
        "corrected_steps",
    },
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
    assert template.output is None or rendered.system.endswith(f"\n{json.dumps(template.output)}")
    assert "$" not in rendered.user


@pytest.mark.parametrize("name", NAMES)
def test_the_system_part_does_not_change_with_the_inputs(name: str) -> None:
    prompts = Prompts()
    inputs = prompts.load(name).inputs
    systems = {
        prompts.render(name, **dict.fromkeys(inputs, text)).system for text in ("a", "b", "")
    }
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


GOOD = """---
name: correct
version: 7
role: corrector
inputs: goal, steps
output: {"corrected_steps": ["string"], "suggested_fix": "string"}
token_limit: 100
---
Mine, for $5.
---user---
$goal then ${steps} for $$3
"""
INPUTS = {"goal": "g", "steps": "s", "issues": "i", "evidence": None}


def write(folder: Path, text: str, name: str = "correct") -> Path:
    path = folder / f"{name}.md"
    path.write_text(text, encoding="utf-8")
    return path


def problem(folder: Path, text: str) -> PromptError:
    path = write(folder, text)
    rendered = Prompts(folder).render("correct", **INPUTS)
    assert rendered.template.version == 1  # the shipped one serves
    assert not rendered.template.overridden
    assert rendered.template.problem is not None
    assert rendered.template.problem.file == str(path)
    assert rendered.template.problem.fix
    return rendered.template.problem


def test_an_override_serves_by_name(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    rendered = Prompts(tmp_path).render("correct", **INPUTS)
    assert rendered.template.overridden
    assert rendered.template.version == 7
    assert rendered.system.startswith("Mine, for $5.")
    assert rendered.user.endswith("for $3")
    assert not Prompts(tmp_path).load("replan").overridden


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("---\nname", "name", 1, "front matter"),
        ("version: 7", "version: x", 3, "version"),
        ("version: 7", "versoin: 7", 3, "versoin"),
        ("version: 7\n", "", 1, "version"),
        ("role: corrector", "role: boss", 4, "boss"),
        ("role: corrector", "role corrector", 4, "unknown key"),
        ("$goal then", "$goal then $mood", 11, "mood"),
        ("for $$3", "for $3", 11, "$$"),
        ('["string"],', '["string"', 6, "JSON"),
        (
            '{"corrected_steps": ["string"], "suggested_fix": "string"}',
            '{"x": 1}',
            6,
            "another output",
        ),
        ("token_limit: 100", "token_limit: 0", 7, "token_limit"),
        ("---user---", "", 1, "user part"),
        ("Mine, for $5.", "Mine, for $goal.", 9, "system part"),
    ],
)
def test_a_broken_override_is_named_by_file_and_line(
    tmp_path: Path, old: str, new: str, line: int, said: str
) -> None:
    error = problem(tmp_path, GOOD.replace(old, new, 1))
    assert error.line == line
    assert said in str(error)


def test_name_and_inputs_may_be_left_out(tmp_path: Path) -> None:
    write(tmp_path, GOOD.replace("name: correct\n", "").replace("inputs: goal, steps\n", ""))
    template = Prompts(tmp_path).load("correct")
    assert (template.overridden, template.name, template.inputs) == (
        True,
        "correct",
        ("goal", "steps"),
    )


def test_a_file_that_is_no_text_or_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "correct.md").write_bytes(b"---\nname: \xff\n")
    (tmp_path / "dream.md").mkdir()
    faults = [error.fault for error in Prompts(tmp_path).check()]
    assert faults == ["cannot be read (UnicodeDecodeError)", "is not a regular file"]


def test_check_names_broken_overrides_and_strays(tmp_path: Path) -> None:
    write(tmp_path, "nothing")
    write(tmp_path, GOOD, "corect")
    assert [Path(error.file).name for error in Prompts(tmp_path).check()] == [
        "correct.md",
        "corect.md",
    ]


def test_an_unknown_prompt_is_told_the_known_ones() -> None:
    with pytest.raises(PromptError, match="reflect_failure"):
        Prompts().load("../reflect_failure")


def test_only_text_is_fenced(tmp_path: Path) -> None:
    class Colour(StrEnum):
        RED = "red"

    write(tmp_path, GOOD)
    rendered = Prompts(tmp_path).render(
        "correct", goal=Colour.RED, steps=3, issues="i", evidence="e"
    )
    assert rendered.user == "red then 3 for $3"
    assert NONE in Prompts().render("correct", **INPUTS).user


SHIPPED = (shipped_folder() / "reflect_failure.md").read_text("utf-8")
MINE = SHIPPED.replace(
    "You look back at an agent's run", "In our house we look back at a run"
).replace("version: 1", "version: 40")


async def test_an_override_changes_the_next_call_of_a_running_server(tmp_path: Path) -> None:
    path = tmp_path / "reflect_failure.md"
    with Scripted(*[said(reflect_calls.GOOD)] * 4) as llm:
        async with serving(tmp_path, llm, prompts_dir=tmp_path) as (client, _):
            await reflect(client, run_id="1")
            path.write_text(MINE, "utf-8")
            await reflect(client, run_id="2")
            path.write_text(MINE.replace("our house", "their house"), "utf-8")
            await reflect(client, run_id="3")
            path.unlink()
            await reflect(client, run_id="4")
    firsts = [asked.system.partition(" look")[0] for asked in llm.asked]
    assert firsts == ["You", "In our house we", "In their house we", "You"]


async def test_a_broken_override_is_logged_by_file_and_line_and_the_shipped_one_serves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "reflect_failure.md"
    path.write_text(MINE.replace("role: reflector", "role: boss"), "utf-8")
    with Scripted(said(reflect_calls.GOOD)) as llm:
        async with serving(tmp_path, llm, prompts_dir=tmp_path) as (client, engine):
            found = await reflect(client)
            problems = engine.context.runner.problems()
    assert found["reflection"] == reflect_calls.GOOD["reflection"]
    assert llm.asked[0].system.startswith("You look back")
    (event,) = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert event["event"] == "prompt_override_refused"
    assert event["problem"].startswith(f"{path}:4: role cannot be 'boss'")
    assert problems == [event["problem"]]
