"""Which outputs answer what was changed, removed, run or read: the newest of their kind, each with how it ended."""

import pytest

from mcp_reflect.evidence.digest import Digest, Outputs
from mcp_reflect.evidence.work import statements_of
from mcp_reflect.models.critique import ShownOutput, ToolResult

LISTED = (
    "[File: /shop/rates.py (40 lines total)]\n"
    "9:def rate(amount, base):\n"
    "10:    if base is None:\n"
    "11:        return None\n"
    "12:    return int(round(amount / base))  # round to nearest\n"
    "13:"
)
REJECTED = ToolResult(
    tool="edit 12:12\nreturn int(round(amount / base))  # round to nearest",
    content="Your proposed edit has introduced new syntax error(s).\n\nERRORS:\n"
    f"- E999 IndentationError: unexpected indent\n\n{LISTED}\n\nYour changes have NOT been applied.",
)
ACCEPTED = ToolResult(
    tool="edit 12:12\n    return int(round(amount / base))  # round to nearest",
    content=f"{LISTED}\nFile updated. Please review the changes and make sure they are correct.",
)
LOOK = ToolResult(
    tool="open rates.py 9",
    content="9:def rate(amount, base):\n10:    if base is None:\n11:        return None\n"
    "12:    return int(amount / base)\n13:",
)
TRIED = ToolResult(tool="python reproduce.py", content="344")
MENDED = ToolResult(tool="python reproduce.py", content="345")
REMOVED = ToolResult(tool="rm reproduce.py", content="", exit_code=0)
PIP = ToolResult(
    tool="pip install -e .", content="Successfully built shop\nInstalled shop without any output"
)


def digest(work: str, *results: ToolResult) -> Digest:
    return Outputs(results).digest(statements_of([work]).claims)


def shown_for(work: str, *results: ToolResult) -> list[ShownOutput]:
    return list(digest(work, *results).shown)


def test_that_code_was_changed_is_shown_by_the_newest_edit_and_not_by_a_rejected_one() -> None:
    work = "The code has been updated to use the `round` function."
    shown = shown_for(work, TRIED, LOOK, REJECTED, ACCEPTED)
    assert [one.result for one in shown] == [4]
    assert any("return int(round" in line for line in shown[0].lines)


def test_of_an_edit_the_lines_that_it_wrote_are_shown_and_not_those_around_it() -> None:
    around = ToolResult(
        tool=ACCEPTED.tool, content=f"7:# round to avoid the worst\n8:\n{ACCEPTED.content}"
    )
    (shown,) = shown_for("The code has been updated to use the `round` function.", around)
    assert shown.lines == ("12:    return int(round(amount / base))  # round to nearest",)


def test_a_newest_edit_that_was_rejected_is_shown_as_such() -> None:
    work = "The code has been updated to use the `round` function."
    (shown,) = shown_for(work, TRIED, LOOK, REJECTED)
    assert shown.status == "rejected edit"
    assert "rejected edit: " in shown.text
    assert shown.lines == ("- E999 IndentationError: unexpected indent",)


@pytest.mark.parametrize(
    "content",
    [
        "Your changes have NOT been applied. Please fix your edit command.",
        "<tool_use_error>String to replace not found in file.\nString: return 7</tool_use_error>",
        "Error: old_string not found in /shop/rates.py",
        "apply_patch verification failed: Failed to find expected lines in rates.py",
    ],
)
def test_a_rejected_edit_is_known_by_what_hosts_answer(content: str) -> None:
    rejected = ToolResult(tool="/shop/rates.py", content=content)
    (shown,) = shown_for("I updated rates.py.", rejected)
    assert shown.status == "rejected edit"


def test_a_command_that_printed_nothing_is_an_output() -> None:
    work = "rm doesn't have any output when it deletes successfully, so that must have worked."
    (shown,) = shown_for(work, PIP, MENDED, REMOVED)
    assert (shown.tool, shown.status, shown.lines) == ("rm reproduce.py", "empty output", ())
    assert shown.text == "rm reproduce.py, exit 0, empty output"


def test_what_was_removed_is_shown_by_the_command_that_removes_it() -> None:
    found = digest("`reproduce.py` has been removed.", TRIED, MENDED, REMOVED)
    assert [one.tool for one in found.shown] == ["rm reproduce.py"]
    assert digest("The tax column was removed.", PIP, REMOVED).places == {}


def test_a_run_before_the_last_edit_is_marked() -> None:
    (shown,) = shown_for("reproduce.py prints 344.", TRIED, ACCEPTED)
    assert shown.status == "before the last edit"
    (shown,) = shown_for("reproduce.py prints 345.", TRIED, ACCEPTED, MENDED)
    assert (shown.lines, shown.status) == (("345",), None)


@pytest.mark.parametrize(
    "work",
    [
        "The output indicates that the script completed and the arrays are equal.",
        "The modifications produce output that contains ASCII characters.",
        "The script ran without errors.",
    ],
)
def test_what_a_run_printed_is_shown_by_the_newest_run(work: str) -> None:
    written = ToolResult(
        tool="edit 1:1\nprint('script completed, arrays equal')",
        content="1:arrays = load()\n2:print('script completed, arrays are equal')\nFile updated. Please "
        "review the changes and make sure they are correct.",
    )
    run = ToolResult(tool="python solve.py", content="IoDJuvwxy{z}")
    found = digest(work + " Yes. It was worth it.", written, LOOK, run)
    assert found.shown[found.places[1][0] - 1].lines == ("IoDJuvwxy{z}",)


def test_lines_that_a_claim_names_are_shown_from_the_file_that_was_read() -> None:
    commit = ToolResult(
        tool="git log -1", content="The branch where the base is None ends (usually) with an entry"
    )
    work = "Line 12: the way where the base ends with an entry (usually)."
    lines = {one.tool: one.lines for one in shown_for(work, commit, LOOK)}
    assert "12:    return int(amount / base)" in lines["open rates.py 9"]


def test_lines_of_tables_are_parted_by_another_mark() -> None:
    table = ShownOutput(result=1, tool="psql", lines=("| a | b |", "| 1 | 2 |"))
    assert table.text == "psql: | a | b | ⏎ | 1 | 2 |"


def test_the_error_of_a_rejected_edit_is_found_behind_other_lines_that_say_so() -> None:
    refusals = [
        "Your changes have NOT been applied. Please fix your edit command and try again.",
        "No changes made to cart.py",
        "No replacement was performed in cart.py",
    ]
    error = "- E999 SyntaxError: unmatched ')'"
    rejected = ToolResult(
        tool="edit 3:3 return round(price))", content="\n".join([*refusals, error])
    )
    found = digest("The edit of the cart failed for an unmatched bracket.", LOOK, rejected)
    assert error in [line for one in found.deciding for line in one.lines]
