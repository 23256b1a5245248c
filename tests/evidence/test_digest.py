"""Which outputs are shown for a work, by which lines, and how much in all."""

import time

import pytest

from mcp_reflect.evidence.digest import Digest, Outputs
from mcp_reflect.evidence.shown_outputs import MOST_BYTES
from mcp_reflect.evidence.work import statements_of
from mcp_reflect.models.critique import ToolResult

NOISE = tuple(
    ToolResult(
        tool=f"cat file{number}.py",
        content="\n".join(f"def part_{n}(): return {n}" for n in range(60)),
        exit_code=0,
    )
    for number in range(8)
)
RED = ToolResult(
    tool="pytest -q",
    content="F.\nFAILED test_a.py::test_tax\n1 failed, 12 passed in 0.3s",
    exit_code=1,
)
GREEN = ToolResult(tool="pytest -q", content="..\n13 passed in 0.3s", exit_code=0)
HEALTH = ToolResult(
    tool="curl -i localhost/health", content="HTTP/1.1 503 Service Unavailable\n\ndown", exit_code=0
)
SIZES = ToolResult(tool="wc -w notes/plan.md", content="1119 notes/plan.md", exit_code=0)
PIP = ToolResult(
    tool="pip show httpx", content="Name: httpx\nVersion: 0.27.0\nLicense: BSD", exit_code=0
)
MYPY = ToolResult(
    tool="mypy src", content="Success: no issues found in 12 source files", exit_code=0
)
PUSH = ToolResult(
    tool="git push origin main",
    content="To github.com:me/shop.git\n   1f2c3d4..5e6f7a8  main -> main",
    exit_code=0,
)
MIGRATED = ToolResult(
    tool="alembic upgrade head",
    content="INFO  Context impl PostgresqlImpl.\nsqlalchemy.exc.ProgrammingError: relation exists",
    exit_code=1,
)
DIFF = ToolResult(
    tool="git diff --stat",
    content=" app/cart.py | 4 ++--\n app/tax.py  | 2 +-\n 2 files changed, 3 insertions(+), 3 deletions(-)",
    exit_code=0,
)
ROWS = ToolResult(
    tool='psql -c "select * from orders where open"', content=" id | total\n----+------\n(0 rows)"
)


def digest(work: str, *results: ToolResult) -> Digest:
    return Outputs(results).digest(statements_of([work]).claims)


@pytest.mark.parametrize(
    ("claim", "result", "line"),
    [
        ("All 13 tests pass.", RED, "1 failed, 12 passed in 0.3s"),
        ("The health check returned 200.", HEALTH, "HTTP/1.1 503 Service Unavailable"),
        ("The plan has 900 words.", SIZES, "1119 notes/plan.md"),
        ("httpx is at 0.28.", PIP, "Version: 0.27.0"),
        ("test_tax passes.", RED, "FAILED test_a.py::test_tax"),
        (
            "mypy finds no issues in 14 source files.",
            MYPY,
            "Success: no issues found in 12 source files",
        ),
        ("I pushed the branch to develop.", PUSH, "1f2c3d4..5e6f7a8  main -> main"),
        (
            "The upgrade of the schema went through.",
            MIGRATED,
            "sqlalchemy.exc.ProgrammingError: relation exists",
        ),
        ("Only app/cart.py changed.", DIFF, "2 files changed, 3 insertions(+), 3 deletions(-)"),
        ("Three orders are still open.", ROWS, "(0 rows)"),
    ],
)
def test_the_deciding_line_is_shown_among_noise(claim: str, result: ToolResult, line: str) -> None:
    shown = digest(claim, *NOISE[:4], result, *NOISE[4:]).shown
    assert line in [text for one in shown if one.tool == result.tool for text in one.lines]


def test_the_newest_run_of_a_command_is_the_one_that_is_shown() -> None:
    shown = digest("All tests pass.", RED, *NOISE, GREEN).shown
    assert [one.lines for one in shown if one.tool == "pytest -q"] == [("13 passed in 0.3s",)]


def test_an_output_names_its_number_its_tool_and_its_exit_code() -> None:
    (shown,) = digest("All 13 tests pass.", RED).shown
    assert (
        shown.text == "pytest -q, exit 1, failed (claim 1 says it went well): "
        "FAILED test_a.py::test_tax | 1 failed, 12 passed in 0.3s"
    )
    assert shown.result == 1


def test_where_nothing_bears_on_the_work_nothing_is_shown() -> None:
    found = digest("I mailed the invoice to the customer.", *NOISE, GREEN)
    assert (found.shown, found.left_out) == ((), 9)
    assert digest("All tests pass.").shown == ()


def test_a_long_line_is_cut_around_what_it_shares() -> None:
    text = "x" * 5_000 + " the checksum is 9f3a " + "y" * 5_000
    (shown,) = digest("The checksum is 77aa.", ToolResult(tool="sha", content=text)).shown
    assert "the checksum is 9f3a" in shown.lines[0]


def test_a_digest_keeps_its_bytes_whatever_the_outputs() -> None:
    results = [
        ToolResult(tool=f"pytest -q part{n}", content=f"all {n} tests of the part pass ü\n" * 400)
        for n in range(40)
    ]
    shown = digest("All tests of every part pass.", *results).shown
    assert sum(len(one.text.encode()) for one in shown) <= MOST_BYTES


def test_outputs_without_tools_have_a_name() -> None:
    (shown,) = digest("All 13 tests pass.", ToolResult(content="13 tests passed")).shown
    assert shown.tool == "output 1"


def test_twenty_megabytes_of_outputs_are_read_by_their_ends() -> None:
    results = [
        ToolResult(tool=f"pytest part{n}", content="all tests pass, or so it says\n" * 700)
        for n in range(1_000)
    ]
    begun = time.process_time()
    assert digest("All tests pass.", *results).shown
    assert time.process_time() - begun < 5


def test_a_long_page_of_many_words_stands_behind_a_short_output_that_decides() -> None:
    words = "close enough target plan roughly right density required sections notes commit".split()
    page = ToolResult(
        tool="WebFetch",
        content="\n".join(f"Lorem {word} ipsum dolor sit amet. " * 9 for word in words),
        exit_code=0,
    )
    work = "Close enough to the target (1119 in the plan, right density, all required sections)."
    shown = Outputs([SIZES, *NOISE, page]).digest(statements_of([work]).claims).shown
    assert [one.tool for one in shown] == ["wc -w notes/plan.md"]


EDIT = ToolResult(
    tool="/shop/app/cart.py",
    content="The file /shop/app/cart.py has been updated. Here's the result of running `cat -n` on a "
    "snippet of the edited file:\n    11→def total(items):\n    12→    rounded = quantize(items)\n"
    "    13→    return rounded\n    14→\n    15→def empty():\n    16→    return 0",
)
REPORT = (
    "The cart is done. `quantize` is called in total. All 13 tests pass. Mypy is clean. "
    "The receipts are printed in green."
)


def test_a_newest_run_that_failed_beside_what_the_work_says_stands_first() -> None:
    shown = digest(REPORT, MYPY, *NOISE, EDIT, GREEN, RED).shown
    assert (shown[0].tool, shown[0].failed_beside) == ("pytest -q", (3,))
    assert shown[0].text.startswith("pytest -q, exit 1, failed (claim 3 says it went well): ")
    assert [one.failed_beside for one in shown[1:]] == [()] * len(shown[1:])


def test_of_an_edited_file_the_lines_are_shown_that_a_claim_names() -> None:
    found = digest(REPORT, *NOISE, EDIT, GREEN)
    (edit,) = [one for one in found.shown if one.tool == EDIT.tool]
    assert "12→    rounded = quantize(items)" in edit.lines
    assert "13→    return rounded" not in edit.lines


def test_nothing_is_shown_under_a_claim_on_which_nothing_bears() -> None:
    found = digest(REPORT, *NOISE, EDIT, GREEN)
    assert set(found.places) == {2, 3}
    assert found.unproven == {4}


@pytest.mark.parametrize(
    "said",
    [
        "The rounding bug is fixed.",
        "Der Rundungsfehler ist behoben.",
        "L'arrondi est corrigé.",
        "El redondeo está arreglado.",
        "O arredondamento foi corrigido.",
        "L'arrotondamento è stato corretto.",
        "De afronding is opgelost.",
        "丸めの不具合を修正しました。",
        "四舍五入的错误已修复。",
    ],
)
def test_that_something_is_mended_is_shown_by_the_newest_run(said: str) -> None:
    tried = [ToolResult(tool="python reproduce.py", content=text) for text in ("344", "345")]
    shown = digest(said, tried[0], *NOISE, EDIT, tried[1]).shown
    assert ("python reproduce.py", ("345",)) in [(one.tool, one.lines) for one in shown]


def test_what_tools_print_whatever_they_did_is_not_shown() -> None:
    install = ToolResult(
        tool="pip install httpx",
        content="Requirement already satisfied: anyio in ./venv\nCollecting httpx\n"
        "Downloading httpx-0.28.1.whl\nSuccessfully installed httpx-0.28.1",
    )
    todo = ToolResult(
        tool="TodoWrite", content="Todos have been modified successfully. Ensure that"
    )
    shown = digest("httpx is at 0.28.1 and the todos are modified.", todo, install).shown
    assert [one.lines for one in shown] == [("Successfully installed httpx-0.28.1",)]


def test_of_many_tests_that_passed_the_line_that_sums_them_up_is_shown() -> None:
    lines = [f"test_cart.py::test_part_{number} PASSED [ {number}%]" for number in range(40)]
    run = ToolResult(
        tool="pytest -v", content="\n".join([*lines, "40 passed in 0.3s"]), exit_code=0
    )
    (shown,) = digest("All tests are passing.", *NOISE, run).shown
    assert shown.lines == ("40 passed in 0.3s",)
    (shown,) = digest("`test_part_7` passes.", *NOISE, run).shown
    assert "test_cart.py::test_part_7 PASSED [ 7%]" in shown.lines


def test_a_line_that_two_outputs_have_is_shown_once() -> None:
    looks = [
        ToolResult(tool=tool, content="7→    quantized = quantize(items, rounding=ROUND_HALF_UP)")
        for tool in ("/shop/cart.py", "sed -n 7p cart.py")
    ]
    found = digest("`quantize` uses ROUND_HALF_UP.", looks[0], *NOISE, looks[1])
    assert len(found.shown) == 1
    assert found.places == {1: (1,)}


@pytest.mark.parametrize("tool", [None, "bash", "run_command"])
def test_a_red_run_of_tests_is_known_by_its_end_where_no_command_is_named(tool: str | None) -> None:
    red = ToolResult(tool=tool, content="F..\n1 failed, 2 passed")
    (shown,) = digest("All 3 tests pass.", *NOISE, red).shown
    assert (shown.lines[-1], shown.failed_beside) == ("1 failed, 2 passed", (1,))


READ = ToolResult(
    tool="/shop/app/cart.py",
    content="     1→import decimal\n     2→\n     3→def total(items):\n     4→    rounded = round(items)\n"
    "     5→    return rounded",
)


def test_a_change_of_a_file_stands_before_an_older_look_at_it() -> None:
    shown = digest("`rounded` in total is quantized.", READ, *NOISE, EDIT).shown
    assert "12→    rounded = quantize(items)" in shown[0].lines
    assert [one.result for one in shown][:1] == [10]


def test_a_later_look_at_another_part_does_not_hide_a_change() -> None:
    later = ToolResult(
        tool=EDIT.tool, content="    90→def tax(): ...\n    91→    return 7\n    92→#\n    93→#"
    )
    shown = digest("`quantize` is called in total.", EDIT, *NOISE, later).shown
    assert "12→    rounded = quantize(items)" in shown[0].lines


def test_two_calls_of_a_tool_without_arguments_are_no_runs_of_one_command() -> None:
    pages = [
        ToolResult(tool="WebFetch", content="Beads keeps its issues in a Dolt database."),
        ToolResult(tool="WebFetch", content="Request failed with status code 504"),
    ]
    (shown,) = digest("Beads keeps issues in Dolt.", pages[0], *NOISE, pages[1]).shown
    assert shown.lines == ("Beads keeps its issues in a Dolt database.",)


def test_an_output_that_shares_one_word_of_many_with_a_claim_is_not_shown() -> None:
    killed = ToolResult(tool="KillShell", content="Successfully killed shell: dce0af")
    work = "Migrating to worklets is the proper modern solution with more work and better shell support."
    assert digest(work, *NOISE, killed).shown == ()


def test_a_claim_that_counts_is_shown_the_lines_with_numbers() -> None:
    css = ToolResult(
        tool="/shop/site.css",
        content="\n".join(
            [f"{n}→  width: auto;" for n in range(1, 20)] + ["20→textarea {", "21→  width: 100%;"]
        ),
    )
    shown = digest("The width in site.css is 80 percent.", *NOISE, css).shown
    assert "21→  width: 100%;" in shown[0].lines


def test_a_failed_run_is_named_though_another_line_of_it_is_bound_first() -> None:
    run = ToolResult(
        tool="pytest -q",
        content="tests/test_cart.py: test_total_tax test_sum_of_rows are in the cart\n..F\n"
        "1 failed, 2 passed in 0.2s",
        exit_code=1,
    )
    work = (
        "The tests `test_total_tax` and `test_sum_of_rows` of the cart in tests/test_cart.py pass."
    )
    found = digest(work, *NOISE, run)
    assert found.unproven == {1}
    assert found.deciding[0].failed_beside == (1,)
