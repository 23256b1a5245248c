"""The line that is shown for a run, and the lessons and outputs that are read for it."""

import pytest

from mcp_reflect.evidence.following import names_calls
from mcp_reflect.evidence.kinds import ProofKind
from mcp_reflect.evidence.outcomes import ReportedEnding, read_outcome
from mcp_reflect.evidence.outputs import Output
from mcp_reflect.models.critique import ToolResult
from mcp_reflect.models.lesson import LessonDraft

EDITED = "The file shop/cart.py has been updated"
LONG = "a line of the file\n" * 60


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("Collecting parts\nPacking 3 of 4\n", "Packing 3 of 4"),
        ("", "exit code 3"),
    ],
)
def test_a_failure_that_names_no_error_shows_its_last_line_or_its_code(
    output: str, line: str
) -> None:
    ending = read_outcome(ProofKind.BUILD, output, ReportedEnding(code=3))
    assert (ending.passed, ending.line) == (False, line)


@pytest.mark.parametrize(
    ("right_call", "guard", "names"),
    [
        ("uv run pytest", None, True),
        (None, "Bash: `deploy` without `--confirm`", True),
        (None, "Bash: `git push` with `-f`", False),
        (None, None, False),
    ],
)
def test_a_lesson_names_the_call_that_proves_it_by_itself_or_by_what_its_guard_misses(
    right_call: str | None, guard: str | None, *, names: bool
) -> None:
    assert names_calls(LessonDraft(text="x", right_call=right_call, guard=guard)) is names


@pytest.mark.parametrize(
    ("content", "is_edit"),
    [
        (f"{EDITED}\n{LONG}", True),
        (f"{LONG}{EDITED}", True),
        (f"{LONG}{EDITED}\n{LONG}", False),
    ],
    ids=["first", "last", "in the middle"],
)
def test_an_edit_is_said_at_the_start_or_the_end_of_an_output(
    content: str, *, is_edit: bool
) -> None:
    assert Output(1, ToolResult(content=content), content).is_edit is is_edit
