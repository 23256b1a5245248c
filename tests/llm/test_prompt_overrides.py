"""A person's templates: they serve at once, and a broken one is named by file and line while the shipped one serves."""

from enum import StrEnum
from pathlib import Path

import pytest

from mcp_reflect.errors import PromptError
from mcp_reflect.llm.prompts import NONE, Prompts

GOOD = """---
name: correct
version: 7
role: corrector
inputs: goal, steps
output: {"corrected_steps": ["string"],
  "suggested_fix": "string"}
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
        ("role: corrector", "role corrector", 4, "key: value"),
        ("$goal then", "$goal then $mood", 12, "mood"),
        ("for $$3", "for $3", 12, "$$"),
        ('["string"],', '["string"', 6, "JSON"),
        ('{"corrected_steps": ["string"],\n  "suggested_fix": "string"}', '{"x": 1}', 6, "another output"),
        ("token_limit: 100", "token_limit: 0", 8, "token_limit"),
        ("token_limit: 100", "token_limit: 100\ntoken_limit: 100", 9, "twice"),
        ("---user---", "", 1, "user part"),
        ("Mine, for $5.", "Mine, for $goal.", 10, "system part"),
    ],
)
def test_a_broken_override_is_named_by_file_and_line(tmp_path: Path, old: str, new: str, line: int, said: str) -> None:
    error = problem(tmp_path, GOOD.replace(old, new, 1))
    assert error.line == line
    assert said in str(error)


def test_an_empty_override_is_refused(tmp_path: Path) -> None:
    assert "front matter" in str(problem(tmp_path, ""))


def test_name_and_inputs_may_be_left_out(tmp_path: Path) -> None:
    write(tmp_path, GOOD.replace("name: correct\n", "").replace("inputs: goal, steps\n", ""))
    template = Prompts(tmp_path).load("correct")
    assert (template.overridden, template.name, template.inputs) == (True, "correct", ("goal", "steps"))


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "correct.md").write_bytes(b"---\nname: \xff\n")
    loaded = Prompts(tmp_path).load("correct")
    assert loaded.problem is not None
    assert loaded.problem.line == 2


def test_a_folder_in_the_place_of_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "correct.md").mkdir()
    assert Prompts(tmp_path).load("correct").problem is not None


def test_check_names_broken_overrides_and_strays(tmp_path: Path) -> None:
    write(tmp_path, "nothing")
    write(tmp_path, GOOD, "corect")
    assert [Path(error.file).name for error in Prompts(tmp_path).check()] == ["correct.md", "corect.md"]


def test_an_unknown_prompt_is_told_the_known_ones() -> None:
    with pytest.raises(PromptError, match="reflect_failure"):
        Prompts().load("../reflect_failure")


def test_only_text_is_fenced(tmp_path: Path) -> None:
    class Colour(StrEnum):
        RED = "red"

    write(tmp_path, GOOD)
    rendered = Prompts(tmp_path).render("correct", goal=Colour.RED, steps=3, issues="i", evidence="e")
    assert rendered.user == "red then 3 for $3"
    assert NONE in Prompts().render("correct", **INPUTS).user
