"""What a past session teaches: which failures are worth a look, and which are the work of its task."""

from typing import Any

import pytest

from mcp_reflect.models.finding import Finding
from mcp_reflect.services.learn import kept, weigh
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


def test_a_check_is_hard_won_where_it_said_the_same_after_an_edit() -> None:
    assert learned(FAILS, EDIT, TESTS) == []
    assert learned(FAILS, EDIT, FAILS, EDIT, TESTS) == []
    (found,) = learned(FAILS, EDIT, FAILS, EDIT, TESTS, sessions=2)
    assert found.draft.correction == "It worked after an edit of `cache.py`."


def test_a_setting_that_a_tool_needs_is_told_in_whole_lines_after_one_session() -> None:
    fails = ("uv tool install .", "ValueError: Unable to determine which files to ship", 1)
    edit = ("edit of pyproject.toml: [tool.hatch.build]\nonly-include = ['a.py']", "updated")
    (found,) = learned(fails, edit, ("uv tool install .", "Installed 1 executable"))
    assert found.draft.correction.endswith(
        "`pyproject.toml`, with `[tool.hatch.build]` and `only-include = ['a.py']`."
    )


NONE = (
    "pytest -m unit",
    "asyncio: mode=Mode.AUTO\ncollected 2 items / 2 deselected / 0 selected\n=== 2 deselected ===",
    1,
)


@pytest.mark.parametrize(
    "rest", [[], [("pytest --collect-only -q", "2 tests collected")], [("pytest a.py", "2 passed")]]
)
def test_a_marker_that_no_test_has_is_told_and_a_list_of_tests_is_no_correction(
    rest: list[Step],
) -> None:
    (found,) = learned(NONE, *rest)
    assert (found.draft.mistake, found.draft.correction) == (
        "`-m unit` selects no test.", "Run the tests without it, or name their file."
    )  # fmt: skip


def test_a_commit_that_its_hook_refused_needs_the_check_and_not_another_add() -> None:
    refused = (
        "git commit -m one",
        "src/a.ts(2,3): error TS2345: Argument of type 'x' is not assignable",
        1,
    )
    done = ("git add . && git commit -m one", "[main 1234567] one")
    assert learned(refused, done) == learned(refused, EDIT, done) == []
    (found,) = learned(refused, EDIT, ("npm run check", "No errors."), done)
    assert found.draft.correction == "Run `npm run check` before `git commit`."


def test_a_command_before_another_is_no_cure_where_a_file_was_edited_too() -> None:
    fails, works = ("./app push", "error: bad key", 1), ("./app login && ./app push", "pushed")
    assert learned(fails, EDIT, works) == []
    assert learned(fails, works)


def test_tools_that_edit_are_one_finding_where_they_refuse_for_one_reason() -> None:
    refused = "Found 2 matches of the string to replace, but replace_all is false."
    (found,) = learned(
        ("edit of a.py: 1", refused, 1), ("edit of a.py: 2", "updated"),
        ("multiedit of a.py: 3", refused, 1), ("edit of a.py: 4", "updated"),
    )  # fmt: skip
    assert (
        found.draft.mistake == "`Edit` with text that occurs more than once in the file is refused."
    )


def test_a_call_that_did_not_fail_is_blamed_for_no_failure_elsewhere() -> None:
    steps: tuple[Step, ...] = (
        ("uv tool install .", "Resolved 12 packages"), ("cd /tmp && tool", "error: branch missing", 1),
        ("uv tool install --force .", "Installed"), ("tool", "branch main"),
    )  # fmt: skip
    assert learned(*steps) == []


def test_a_narrower_check_after_an_edit_put_nothing_right() -> None:
    fails = ("uv run pytest -m browser", "AssertionError: no warning\n1 failed", 1)
    assert learned(fails, EDIT, ("uv run pytest tests/test_line.py::test_one", "1 passed")) == []


def test_an_edit_that_hides_the_failure_is_no_correction() -> None:
    hides = ("edit of ci.yml: continue-on-error: true", "The file was updated.")
    assert learned(FAILS, hides, FAILS, hides, TESTS) == []


def test_an_edit_that_would_break_the_file_is_told_with_what_to_do() -> None:
    refused = "Your proposed edit has introduced new syntax error(s).\n- E999 IndentationError: unexpected indent"
    (found,) = learned(
        ("edit of cache.py: return 1", refused, 1), ("edit of cache.py:   return 1", "updated")
    )
    assert found.draft.mistake == "`Edit` that leaves a syntax error in the file is refused."


@pytest.mark.parametrize(
    "words", ["wait, do we only have a single color?", "no, that's not it, use the dark theme"]
)
def test_words_about_the_task_are_no_correction(words: str) -> None:
    reader = SessionReader(host="claude-code")
    reader.asked(words)
    assert not any(weigh(found, 1, seen.times, 0.0) for found, seen in kept(reader.end()))
