"""What a past session teaches: which failures are worth a look, and which are the work of its task."""

from typing import Any

import pytest

from mcp_reflect.models.finding import Finding
from mcp_reflect.runs.past_sessions import SessionReader
from mcp_reflect.services.learn import kept, weigh

Step = tuple[str, str] | tuple[str, str, int]

FAILS, TESTS = ("ty check", "error: not callable\nFound 1 diagnostic", 1), ("ty check", "All checks passed!")
EDIT = ("edit of cache.py: return skip()  # type: ignore[misc]", "The file was updated.")


def learned(*steps: Step) -> list[Finding]:
    """What is listed of a session: its steps are a command (or an edit of a file), its answer, and 1 if it failed."""
    reader = SessionReader(host="claude-code")
    for number, (what, answer, *failed) in enumerate(steps):
        tool, sent = "Bash", dict[str, Any](command=what)
        if what.startswith("edit of "):
            file, _, text = what.removeprefix("edit of ").partition(": ")
            tool, sent = "Edit", {"file_path": file, "old_string": str(number), "new_string": text}
        reader.called(tool, sent, str(number))
        reader.answered(answer, str(number), failed=bool(failed))
    return [found for found, seen in kept(reader.end()) if weigh(found, 1, seen.times, seen.seconds)]


def test_a_check_is_hard_won_where_it_said_the_same_after_an_edit() -> None:
    assert learned(FAILS, EDIT, TESTS) == []
    (found,) = learned(FAILS, EDIT, FAILS, EDIT, TESTS)
    assert "type: ignore[misc]" in found.draft.correction


def test_a_narrower_check_after_an_edit_put_nothing_right() -> None:
    fails = ("uv run pytest -m browser", "AssertionError: no warning\n1 failed", 1)
    assert learned(fails, EDIT, ("uv run pytest tests/test_line.py::test_one", "1 passed")) == []


def test_an_edit_that_hides_the_failure_is_no_correction() -> None:
    hides = ("edit of ci.yml: continue-on-error: true", "The file was updated.")
    assert learned(FAILS, hides, FAILS, hides, TESTS) == []


def test_an_edit_that_would_break_the_file_is_told_with_what_to_do() -> None:
    refused = "Your proposed edit has introduced new syntax error(s).\n- E999 IndentationError: unexpected indent"
    (found,) = learned(("edit of cache.py: return 1", refused, 1), ("edit of cache.py:   return 1", "updated"))
    assert found.draft.mistake == "`Edit` that leaves a syntax error in the file is refused."


def test_what_the_person_said_in_place_of_an_answer_is_no_error_of_the_call() -> None:
    refused = ("git push", "Wait a sec, we need to copy the icon to the other repo too", 1)
    assert learned(refused, EDIT, ("git push", "main -> main")) == []


@pytest.mark.parametrize("words", ["wait, do we only have a single color?", "no, that's not it, use the dark theme"])
def test_words_about_the_task_are_no_correction(words: str) -> None:
    reader = SessionReader(host="claude-code")
    reader.asked(words)
    assert not any(weigh(found, 1, seen.times, 0.0) for found, seen in kept(reader.end()))
