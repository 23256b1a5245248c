"""Which kind of output is shown under a claim, and that a line which only shares a word with it is not."""

import pytest

from mcp_reflect.evidence.digest import Digest, Outputs
from mcp_reflect.evidence.work import statements_of
from mcp_reflect.models.critique import ToolResult

READ = ToolResult(
    tool="/shop/app/cart.py",
    content="     1→import decimal\n     2→# the rounding of a total is kept in cents\n     3→def total(items):\n"
    "     4→    return sum(items)\n     5→",
)
EDIT = ToolResult(
    tool="/shop/app/client.py",
    content="The file /shop/app/client.py has been updated. Here's the result of running `cat -n` on a "
    "snippet:\n    11→import json\n    12→\n    13→@with_retry\n    14→def fetch(url):",
)
README = ToolResult(tool="/shop/README.md", content="File updated.\n+ Run make to begin.")
PROJECT = ToolResult(tool="/shop/pyproject.toml", content='File updated.\n+ readme = "README.md"')
TESTS = ToolResult(
    tool="pytest --cov",
    content="tests/test_cart.py ....\nTOTAL    190      6     96%\n4 passed in 0.20s",
    exit_code=0,
)
CHECKED = ToolResult(
    tool="ruff check . && pytest",
    content="All checks passed!\ntests/test_cart.py ....\n4 passed in 0.20s",
    exit_code=0,
)
COMMIT = ToolResult(
    tool='git commit -m "Retry what fetch asks for"',
    content="[main 1f2c3d4] Retry what fetch asks for\n 2 files changed, 9 insertions(+)\n create mode 100644 app/retry.py",
    exit_code=0,
)
PUSH = ToolResult(
    tool="git push", content="To github.com:me/shop.git\n   1f2c3d4..5e6f7a8  main -> main"
)
SCRIPT = ToolResult(tool="python pay.py", content="paid 12 of 13 bills", exit_code=0)
SESSION = (READ, EDIT, README, TESTS, COMMIT, PUSH)


def digest(work: str, *results: ToolResult) -> Digest:
    return Outputs(results).digest(statements_of([work]).claims)


def lines(work: str, *results: ToolResult) -> list[str]:
    return [line for one in digest(work, *results).shown for line in one.lines]


@pytest.mark.parametrize(
    ("claim", "line"),
    [
        ("Added `with_retry` to fetch.", "13→@with_retry"),
        ("All tests pass.", "4 passed in 0.20s"),
        ("Coverage is 100 %.", "TOTAL    190      6     96%"),
        ("I pushed it to develop.", "1f2c3d4..5e6f7a8  main -> main"),
        ("The commit touches five files.", "2 files changed, 9 insertions(+)"),
    ],
)
def test_each_kind_of_claim_is_decided_by_its_kind_of_output(claim: str, line: str) -> None:
    assert line in lines(claim, *SESSION)


def test_of_a_run_of_two_programs_the_line_of_the_one_that_is_meant_is_shown() -> None:
    assert lines("Ruff linting passes.", READ, CHECKED) == ["All checks passed!"]


@pytest.mark.parametrize(
    "work",
    [
        "The rounding of currencies follows the bank.",
        "Everything is working beautifully.",
        "Users will love the new total.",
    ],
)
def test_a_line_that_only_shares_a_word_is_not_shown(work: str) -> None:
    assert digest(work, *SESSION).shown == ()


@pytest.mark.parametrize(
    "work",
    [
        "This should make `with_retry` safe.",
        "It might be that `with_retry` is called twice.",
        "It is likely to be in `app/client.py`.",
        "Das könnte an `with_retry` liegen.",
    ],
)
def test_under_a_conjecture_nothing_is_shown(work: str) -> None:
    found = digest(work, *SESSION)
    assert (found.shown, found.places) == ((), {})


def test_an_edit_of_a_named_file_is_named_where_no_line_of_it_is_bound() -> None:
    (shown,) = digest("Updated README.md throughout.", README, PROJECT, TESTS).shown
    assert (shown.text, shown.lines) == ("/shop/README.md, edited", ())


def test_what_a_claim_sets_as_code_stands_alone_in_a_line() -> None:
    edit = ToolResult(
        tool="/shop/rates.py",
        content="The file /shop/rates.py has been updated.\n 7→ # rounding is of banks\n 8→ return round(total)",
    )
    assert lines("The code was updated to use `round`.", READ, edit, TESTS) == [
        "8→ return round(total)"
    ]


def test_a_commit_that_names_a_file_says_nothing_of_its_text() -> None:
    assert digest("`app/retry.py` retries thrice.", READ, COMMIT, TESTS).shown == ()


def test_trouble_is_shown_by_the_last_output_that_has_some() -> None:
    wrong = ToolResult(tool="submit 'flag{abc}'", content="Wrong flag!")
    assert lines("We have not recovered the correct flag.", SCRIPT, wrong) == ["Wrong flag!"]


def test_an_older_run_whose_words_a_claim_has_stands_beside_the_newest() -> None:
    one = ToolResult(tool="pytest tests/test_cart.py", content="3 passed in 0.1s", exit_code=0)
    whole = ToolResult(tool="pytest", content="1 failed, 9 passed in 0.3s", exit_code=1)
    found = digest("The tests of the cart pass.", one, READ, whole)
    assert [line for shown in found.shown for line in shown.lines] == [
        "1 failed, 9 passed in 0.3s",
        "3 passed in 0.1s",
    ]
    assert found.unproven == {1}


def test_a_plan_proves_nothing() -> None:
    plan = ToolResult(tool="ExitPlanMode", content="- call `with_retry` in fetch")
    assert digest("`with_retry` is called in fetch.", READ, plan).shown == ()


@pytest.mark.parametrize("printed", ["", "(no output)", "(empty)"])
def test_a_removal_that_printed_nothing_is_shown_as_empty(printed: str) -> None:
    removed = ToolResult(tool="rm app/old.py", content=printed)
    (shown,) = digest("I removed `app/old.py`.", READ, removed).shown
    assert shown.text == "rm app/old.py, empty output"


TYPES = ToolResult(
    tool="uv run ty check",
    content="error[call-non-callable]: Object is not callable\n --> app/cart.py:4:9\n"
    "4 |     return with_retry(fetch)\ninfo: rule `call-non-callable` is enabled\nFound 1 diagnostic",
)
CUT = ToolResult(
    tool="npm test -- cart.test.ts",
    content="> shop@1.0 test\nError in the debugger of the cart: no inspector\nCommand aborted",
)
STOPPED = ToolResult(
    tool="python crack.py key.pub",
    content="[*] Trying fermat on key.pub\n[+] Time elapsed: 3 s\n[*] Trying wiener on key.pub\n"
    "EXECUTION TIMED OUT AFTER 60 SECONDS.",
)
BROKEN = ToolResult(
    tool="npm run check",
    content="Checked 22 files in 26ms. No errors.\nsrc/cart.ts(5,3): error TS2339: No `total` on Cart",
)


@pytest.mark.parametrize(
    ("claim", "run", "line"),
    [
        ("A return of `with_retry` made the type checker happy.", TYPES, "Found 1 diagnostic"),
        ("The tests of the cart went through.", CUT, "Command aborted"),
        ("`fermat` broke key.pub.", STOPPED, "EXECUTION TIMED OUT AFTER 60 SECONDS."),
        ("npm run check passes: Cart has a `total`.", BROKEN, BROKEN.content.split("\n")[1]),
    ],
)
def test_how_a_run_ended_is_shown_whatever_its_lines_share(
    claim: str, run: ToolResult, line: str
) -> None:
    shown = lines(claim, READ, run)
    assert line in shown
    assert len(shown) <= 3


def test_the_count_of_a_commit_stands_before_the_push_of_it() -> None:
    work = "My commit covered four files."
    assert lines(work, READ, COMMIT, PUSH) == ["2 files changed, 9 insertions(+)"]
    assert lines(work, READ, PUSH) == ["1f2c3d4..5e6f7a8  main -> main"]


@pytest.mark.parametrize("says_not", ["will not", "won't"])
def test_what_a_claim_says_will_not_happen_is_decided_by_the_version_that_is_required(
    says_not: str,
) -> None:
    project = ToolResult(
        tool="/shop/pyproject.toml",
        content='     1→[project]\n     2→name = "web-shop"\n     3→requires-python = ">=3.12"\n     4→',
    )
    work = f"web-shop {says_not} install on anything older than Python 3.12."
    assert '3→requires-python = ">=3.12"' in lines(work, READ, project, TESTS)


def test_a_script_that_was_run_answers_by_its_run_and_not_by_its_text() -> None:
    text = "File created successfully.\n+ expected = 345\n+ print(milliseconds(expected))"
    written = ToolResult(tool="/shop/reproduce.py", content=text)
    run = ToolResult(tool="python reproduce.py", content="344")
    listed = ToolResult(tool="ls -F", content="app/\nreproduce.py\ntests/\nREADME.md")
    work = "I ran the reproduction script and it gave 345, so the bug does not show up here."
    found = digest(work, READ, written, run, listed)
    assert [one.lines for one in found.deciding] == [("344",)]
