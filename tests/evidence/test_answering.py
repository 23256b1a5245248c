"""A claim of a work with few is answered by the call that it is about, also where the line has other words."""

from dataclasses import replace

import pytest

from mcp_reflect.evidence.digest import Outputs
from mcp_reflect.evidence.work import statements_of
from mcp_reflect.models.critique import ToolResult

READ = ToolResult(
    tool="/shop/app/cart.py",
    content="     1→import decimal\n     2→def total(items):\n     3→    return sum(items)\n     4→",
)
STYLES = ToolResult(
    tool="/shop/styles.css",
    content="     1→/* the colors of the shop */\n     2→a { color: red }\n     3→\n     4→b { margin: 0 }",
)
REFUSED = "The user doesn't want to proceed with this tool use. The tool use was rejected."
COUNTED = ToolResult(tool="grep -c fetch_rates app", content="Found 16 files")
INSTALLED = ToolResult(
    tool="uv add httpx",
    content="Resolved 9 packages in 2ms\nInstalled 4 packages in 4ms\n + idna==3.10",
)
LOG = ToolResult(
    tool="git log --oneline -3",
    content="1f2c3d4 Round totals\n5e6f7a8 Read rates from a file\n9a8b7c6 Begin",
)
COMMIT = ToolResult(
    tool='git commit -m "Drop the banner"',
    content="[main 1f2c3d4] Drop the banner\n 1 file changed, 5 deletions(-)",
)
LISTING = ToolResult(
    tool="ls -la dist/",
    content="total 90\n-rw-r--r-- 1 ada ada 872821 Oct  4 01:13 shop.js\n-rw-r--r-- 1 ada ada 12 Oct  4 01:13 a.css",
)


def lines(work: str, *results: ToolResult) -> list[str]:
    shown = Outputs(results).digest(statements_of([work]).claims).shown
    return [line for one in shown for line in one.lines]


@pytest.mark.parametrize(
    ("claim", "last", "line"),
    [
        ("Adding httpx pulled in nine packages.", INSTALLED, "Installed 4 packages in 4ms"),
        ("fetch_rates is used in 12 files.", COUNTED, "Found 16 files"),
        ("The last commit drops the banner.", LOG, "1f2c3d4 Round totals"),
        ("Dropping the banner removed 12 lines.", COMMIT, "1 file changed, 5 deletions(-)"),
        ("shop.js is smaller than 500 kB.", LISTING, LISTING.content.split("\n")[1]),
    ],
)
def test_the_call_that_a_claim_is_about_answers_it(claim: str, last: ToolResult, line: str) -> None:
    assert line in lines(claim, READ, STYLES, last)


def test_a_call_that_was_refused_answers_that_it_was_made() -> None:
    refused = ToolResult(tool="find . -name __pycache__ -exec rm -rf {} +", content=REFUSED)
    assert lines("I removed the caches.", READ, STYLES, refused) == [REFUSED]


@pytest.mark.parametrize(
    "claim", ["The invoices are sent on Mondays.", "It should pull in nine packages."]
)
def test_a_last_call_that_shares_nothing_answers_nothing(claim: str) -> None:
    assert lines(claim, READ, INSTALLED, STYLES) == []


def test_beside_many_claims_only_what_is_bound_is_shown() -> None:
    work = "The last commit drops the banner. Prices rise. The bank pays. The taxes are due."
    assert lines(work, READ, STYLES, LOG) == []


def test_of_a_text_that_is_shown_no_second_line_is_added() -> None:
    more = "".join(f"\n     {number}→TAX_{number} = {number}" for number in range(5, 15))
    read = replace(READ, content=READ.content + more)
    found = Outputs([STYLES, read]).digest(statements_of(["`total` sums the items."]).claims)
    assert [one.lines for one in found.shown] == [
        ("2→def total(items):", "3→    return sum(items)")
    ]


@pytest.mark.parametrize("is_first", [True, False])
def test_a_rejected_edit_answers_by_its_error(is_first: bool) -> None:
    error = "- E999 SyntaxError: unmatched ')'"
    refusal = "Your changes have NOT been applied. Please fix your edit command and try again."
    said = (error, refusal) if is_first else (refusal, error)
    edit = ToolResult(tool="edit 2:3\nreturn (items))", content="\n".join(said))
    work = "My second try at the edit was turned down for a stray square bracket again."
    assert error in lines(work, READ, STYLES, edit)
