"""What a past session teaches: which failures are worth a look, and which are the work of its task."""

from typing import Any

import pytest

from mcp_reflect.models.finding import Finding
from mcp_reflect.services.learn import weigh
from mcp_reflect.services.session_workers import kept
from mcp_reflect.sessions.past_sessions import SessionReader

Step = tuple[str, str] | tuple[str, str, int]

FAILS, TESTS = (
    ("ty check", "error: not callable\nFound 1 diagnostic", 1),
    ("ty check", "All checks passed!"),
)
EDIT = ("edit of cache.py: return skip()  # type: ignore[misc]", "The file was updated.")


def learned(*steps: Step, sessions: int = 1) -> list[Finding]:
    """What is listed of so many sessions with these steps: a command or an edit, its answer, and 1 if it failed."""
    reader = SessionReader(host="claude-code")
    for number, (what, answer, *failed) in enumerate(steps):
        tool, sent = "Bash", dict[str, Any](command=what)
        if what.startswith(("edit of ", "multiedit of ")):
            file, _, text = what.partition(" of ")[2].partition(": ")
            tool, sent = (
                "Edit" if what.startswith("edit") else "MultiEdit",
                {"file_path": file, "old_string": str(number), "new_string": text},
            )
        reader.called(tool, sent, str(number))
        reader.answered(answer, str(number), failed=bool(failed))
    return [
        found
        for found, seen in kept(reader.end())
        if weigh(found, sessions, seen.times, seen.seconds)
    ]


def test_a_check_that_passes_after_one_edit_is_work_and_after_several_is_hard_won() -> None:
    assert learned(FAILS, EDIT, TESTS) == []
    (found,) = learned(FAILS, EDIT, FAILS, EDIT, TESTS)
    assert (found.act, found.line) == ("ty check", "error: not callable")


def test_both_calls_are_kept_as_they_were_made() -> None:
    (found,) = learned(("./app push", "error: bad key", 1), ("./app login && ./app push", "pushed"))
    assert found.failed is not None
    assert found.worked is not None
    assert found.failed.arguments == {"command": "./app push"}
    assert found.worked.arguments == {"command": "./app login && ./app push"}
    assert (found.failed.number, found.worked.number) == (1, 2)


def test_an_edit_that_was_refused_is_listed_where_it_came_back() -> None:
    refused = "Found 2 matches of the string to replace, but replace_all is false."
    steps: tuple[Step, ...] = (
        ("edit of a.py: 1", refused, 1), ("edit of a.py: 2", "updated"),
        ("multiedit of a.py: 3", refused, 1), ("edit of a.py: 4", "updated"),
    )  # fmt: skip
    assert learned(*steps) == []
    (found,) = learned(*steps, sessions=2)
    assert found.line == refused


def test_a_failure_that_nothing_put_right_is_listed_where_it_came_back() -> None:
    fails = ("./app push", "error: bad key", 1)
    assert learned(fails) == []
    (found,) = learned(fails, sessions=2)
    assert (found.kind, found.act, found.worked) == ("failed", "./app push", None)


def test_a_narrower_check_after_an_edit_put_nothing_right() -> None:
    fails = ("uv run pytest -m browser", "AssertionError: no warning\n1 failed", 1)
    assert learned(fails, EDIT, ("uv run pytest tests/test_line.py::test_one", "1 passed")) == []


@pytest.mark.parametrize(
    "words", ["wait, do we only have a single color?", "no, that's not it, use the dark theme"]
)
def test_words_about_the_task_are_no_correction(words: str) -> None:
    reader = SessionReader(host="claude-code")
    reader.prompted(words)
    assert not any(weigh(found, 1, seen.times, 0.0) for found, seen in kept(reader.end()))
