"""The outputs that share most with the claims stand beside those that plainly decide one."""

import time
from dataclasses import replace

import pytest

from mcp_reflect.evidence.digest import Digest, Outputs
from mcp_reflect.evidence.work import statements_of
from mcp_reflect.models.critique import ToolResult

BUTTON = ToolResult(
    tool="/site/share.js",
    content="""320→shareButton.addEventListener('click', () => {
321→  copyLink(location.href)
322→  shareButton.textContent = 'Copied!'
323→  setTimeout(() => {
324→    shareButton.textContent = 'Share'
325→  }, 2000)
326→})""",
)
STYLES = ToolResult(
    tool="/site/site.css",
    content="\n".join(f"{n}→.card-{n} {{ margin: {n}px; }}" for n in range(40)),
)
STATUS = ToolResult(tool="git status", content="On branch main\nnothing to commit")
INSTALL = ToolResult(
    tool="pnpm install", content="+ vite 5.4.21 (7.2.2 is available)\nDone in 797ms"
)
SERVER = ToolResult(tool="pnpm dev", content="Command running in background with ID: dce0af")
FETCHED = ToolResult(
    tool="WebFetch https://a.org/faq", content="Request failed with status code 404"
)
SESSION = (BUTTON, STYLES, STATUS, INSTALL, FETCHED)


def digest(work: str, *results: ToolResult) -> Digest:
    return Outputs(results).digest(statements_of([work]).claims)


def test_a_text_is_shown_with_the_lines_around_those_that_share_words() -> None:
    found = digest("After a click the share button says that it copied for five seconds.", *SESSION)
    lines = [line for one in found.shown if one.tool == BUTTON.tool for line in one.lines]
    assert "322→  shareButton.textContent = 'Copied!'" in lines
    assert "323→  setTimeout(() => {" in lines


def test_lines_that_are_not_beside_each_other_have_a_mark_between_them() -> None:
    page = ToolResult(
        tool="/site/notes.md",
        content="\n".join(
            [f"{n}→Paragraph {n} on other things" for n in range(1, 30)]
            + ["30→The invoice template has a footer."]
            + [f"{n}→Paragraph {n} on other things" for n in range(31, 60)]
            + ["60→Each invoice template is signed."]
        ),
    )
    found = digest("The template of the invoice is unsigned and has no footer.", STYLES, page)
    lines = [line for one in found.shown if one.tool == page.tool for line in one.lines]
    assert lines.count("…") <= lines.index("60→Each invoice template is signed.")
    assert all(line != "…" for line in (lines[0], lines[-1]))


@pytest.mark.parametrize(
    "work",
    [
        "I mailed the offer to the customer.",
        "The naming follows the conventions.",
        "It is much cleaner now.",
    ],
)
def test_where_nothing_is_shared_nothing_is_shown(work: str) -> None:
    assert digest(work, *SESSION).shown == ()


def test_beside_the_end_of_the_run_of_which_a_claim_speaks_nothing_is_shown() -> None:
    run = ToolResult(tool="pytest -q", content="....\n4 passed in 0.2s", exit_code=0)
    older = ToolResult(
        tool="pytest tests/test_share.py", content="share button tests pass: 2 passed"
    )
    found = digest("All 4 tests pass.", older, *SESSION, run)
    assert [one.lines for one in found.deciding] == [("4 passed in 0.2s",)]
    assert found.bearing == ()


def test_a_run_that_a_newer_one_takes_the_place_of_stays_out() -> None:
    tried = [
        ToolResult(tool="./bench share", content=f"share of the cache: {n} hits\nslowest: disk")
        for n in (40, 70)
    ]
    work = "The share of the cache in the bench is 55 hits, and the disk is slowest."
    shown = digest(work, tried[0], *SESSION, tried[1]).shown
    assert [one.result for one in shown if one.tool == "./bench share"] == [7]


def test_a_rejected_edit_stays_out_unless_the_claim_speaks_of_a_try() -> None:
    rejected = ToolResult(
        tool="edit 3:3 return round(price)",
        content="Your changes have NOT been applied. Please fix your edit command and try again.\n"
        "- E999 IndentationError: unexpected indent",
    )
    made = ToolResult(
        tool="edit 3:3 return round(price)", content="[File: cart.py]\n3:    return round(price)"
    )
    named = digest("The cart returns the price as it was entered.", rejected, STATUS, made).shown
    assert 1 not in [one.result for one in named]


def test_a_call_that_a_person_refused_is_shown_only_where_the_claim_speaks_of_it() -> None:
    refused = ToolResult(
        tool="npm install",
        content="The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was "
        "a file edit, the new_string was NOT written to the file). The user provided the following "
        "reason for the rejection: use pnpm",
    )
    said = digest(
        "The user stopped my npm install and wanted pnpm.", refused, *SESSION, SERVER
    ).shown
    assert any("use pnpm" in line for one in said for line in one.lines)
    other = digest("npm put vite 7.2 into the project.", refused, *SESSION, SERVER).bearing
    assert refused.tool not in [one.tool for one in other]


def test_an_output_stands_under_one_number() -> None:
    found = digest("`copyLink` gets the text of the share button.", *SESSION)
    assert len({one.result for one in found.shown}) == len(found.shown)
    assert {one.is_plain for one in found.deciding} <= {True}
    assert {one.is_plain for one in found.bearing} <= {False}
    lines = [line for one in found.shown for line in one.lines if line != "…"]
    assert len(set(lines)) == len(lines)


def test_a_short_text_with_a_deciding_line_is_shown_whole() -> None:
    rates = ToolResult(tool="/shop/rates.py", content="1→RATES = {\n2→  'eur': 4,\n3→  'usd': 5}")
    (shown,) = digest("`RATES` has three currencies.", rates, STATUS).deciding
    assert shown.lines == tuple(rates.content.split("\n"))


def test_of_a_longer_text_the_line_behind_the_deciding_one_is_shown() -> None:
    more = "".join(f"\n{number}→const tax{number} = {number}" for number in range(327, 340))
    button = replace(BUTTON, content=BUTTON.content + more)
    (shown,) = digest("`setTimeout` waits for five seconds.", STATUS, button).shown
    at = shown.lines.index("323→  setTimeout(() => {")
    assert shown.lines[at + 1] == "324→    shareButton.textContent = 'Share'"


@pytest.mark.parametrize("others", [0, 3])
def test_the_short_output_that_was_seen_last_stands_beside_few_claims(others: int) -> None:
    flags = ToolResult(
        tool="/shop/lean.txt", content="1→shop: sells things\n2→--lean  prints no tax"
    )
    work = [
        "Taxes are ignored entirely whenever customers choose quick mode.",
        *("It rains.", "It pours.", "It snows."),
    ]
    found = Outputs([*SESSION, flags]).digest(statements_of(work[: 1 + others]).claims)
    assert [one.tool for one in found.shown] == ([] if others else [flags.tool])


def test_that_an_edit_was_made_is_no_line_beside_what_it_wrote() -> None:
    wrote = "Successfully replaced text in tax.py. Changed 30 characters to 40 characters."
    edit = ToolResult(
        tool="/shop/tax.py", content=f"{wrote}\n+ def tax(price):\n+     return price"
    )
    (shown,) = digest("I replaced the text of `tax` in tax.py.", edit).shown
    assert shown.lines
    assert wrote not in shown.lines
    (bare,) = digest("I replaced the text of `tax` in tax.py.", replace(edit, content=wrote)).shown
    assert bare.lines == (wrote,)


def test_many_claims_beside_many_outputs_of_the_same_words_take_a_bounded_time() -> None:
    words = "alpha beta gamma delta epsilon"
    results = [
        ToolResult(
            tool=f"run alpha beta {number}",
            content="\n".join(f"{words} {line}" for line in range(60)),
        )
        for number in range(400)
    ]
    work = [f"{words} zeta failed within {number} seconds on port 80." for number in range(60)]
    claims = statements_of(work).claims
    outputs = Outputs(results)
    begun = time.process_time()
    assert len(claims) == 60
    assert outputs.digest(claims).left_out > 380
    assert time.process_time() - begun < 5
