"""Claims over many rows of a result: each rule on a right and a wrong claim, and on one that is not its own."""

import pytest

from mcp_reflect.checkers.base import Work
from mcp_reflect.checkers.evidence.checker import EvidenceChecker
from mcp_reflect.models.critique import Status, ToolResult

TEAMS = "team       people\n---------  ------\nsales      14\nsupport    9\nlogistics  11\ntotal      34\n"
SIZES = "4.1G\tdaily/2025-04-01\n4.3G\tdaily/2025-04-02\n4.6G\tdaily/2025-04-03\n"
COVERAGE = "".join(f"ok  \tpay/{name}\t0.9s\tcoverage: {n}% of statements\n" for name, n in (("a", 71.8), ("b", 59.2)))
PLACES = "src/a.go:12:// TODO: x\nsrc/a.go:80:// TODO: y\nsrc/store.go:7:// TODO: z\n"
ORDERS = (
    "  id  |  status   | total  \n------+-----------+--------\n 1185 | open      |  40.00\n 1187 | cancelled | 48.50\n"
)
HOTELS = '[{"name":"Rosenhof","night":118,"breakfast":true},{"name":"Astor","night":162,"breakfast":false}]'
STATES = "id   status   city\n---  -------  ------\n1    open     Bern\n2    open     Basel\n3    closed   Zug\n"
MISSES = (
    "Name          Stmts   Miss\n--------------------------\nlexer.py        118      6\nparser.py       240     36\n"
)
LAGS = "name    loaded      lag\n------  ----------  ---\norders  2026-03-05  6\nitems   2026-03-03  53\n"
PAY = "team  salary\n----  ------\ncore  71000\ncore  64000\ndata  69000\n"


def failed(text: str, content: str, exit_code: int = 0) -> bool:
    work = Work(goal="", steps=(text,), tool_results=(ToolResult(tool="sh", content=content, exit_code=exit_code),))
    return any(finding.status is Status.FAIL for finding in EvidenceChecker().check(work))


@pytest.mark.parametrize(
    ("content", "right", "wrong"),
    [
        (TEAMS, "Sales is the largest team.", "Support is the largest team."),
        (TEAMS, "Support is the smallest team.", "Logistics is the smallest team."),
        (SIZES, "The three take 13.0 GB in all.", "The three take 12.5 GB in all."),
        (COVERAGE, "Every package is above 55 % coverage.", "Every package is above 60 % coverage."),
        (COVERAGE, "No package is below 55 % coverage.", "No package is below 60 % coverage."),
        (ORDERS, "Order 1187 is cancelled; its total is 48.50.", "Order 1187 is cancelled; its total is 84.50."),
        (MISSES, "parser.py misses 36 lines, lexer.py misses 6.", "parser.py misses 36 lines, lexer.py misses 16."),
    ],
)
def test_a_claim_over_rows_fails_where_the_rows_say_otherwise(content: str, right: str, wrong: str) -> None:
    assert not failed(right, content)
    assert failed(wrong, content)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (TEAMS, "Logistics is the second largest team."),
        (TEAMS, "Most people like support."),
        (SIZES, "The archive and the three take 40 GB in all."),
        (COVERAGE, "Every package takes under 5 s."),
        (PLACES, "I changed two files by hand."),
        (HOTELS, "Breakfast is good for you."),
        (STATES, "Two shops in Chur are open."),
        (ORDERS, "The discount has a total of 5.00."),
        (LAGS, "orders and items were loaded on 5 March."),
        (LAGS, "orders lags by 5 to 6 hours."),
        (LAGS, "The highest lag is 53, far above orders."),
        ("- Session timeout 60 -> 30 minutes", "Sessions end after 30 instead of 60 minutes."),
        (PAY, "The highest single salary is 71000 in core."),
        ("3.0M\t./cache\n5.9M\t./db\n13M\t.", "The biggest part of the 13M is db."),
        ("dump: 35 min, restore: 80 min, checks: 20 min", "The dump, restore and checks are 135 minutes."),
        ("        qty  price\nmean   3.49  31.74\nmax    6.00  54.00", "The most expensive item costs 54."),
    ],
)
def test_a_claim_about_something_else_is_left_alone(content: str, text: str) -> None:
    assert not failed(text, content)


def test_all_is_contradicted_by_one_entry_that_failed() -> None:
    content = '{"event":"Days","registered":[{"name":"Okoye","ok":true},{"name":"Ahn","ok":false}]}'
    assert failed("All three are registered for Days.", content)
    assert not failed("Okoye is registered for Days.", content)


def test_all_tests_passed_counts_no_skipped_ones() -> None:
    content = "=== 130 passed, 2 skipped in 1.20s ==="
    assert failed("All 132 tests passed.", content)
    assert not failed("All 130 tests passed.", content)


@pytest.mark.parametrize(
    "text",
    [
        "The SLO of 500 ms at p99 is met.",
        "p99 meets the 500 ms SLO.",
        "p99 stays below 500 ms.",
        "p99 is within 500 ms.",
        "The p99 ceiling of 500 ms holds.",
        "With 500 ms at p99 allowed, we are fine.",
        "The 500 ms objective for p99 is met.",
    ],
)
@pytest.mark.parametrize(
    "content", ["p50=95 ms p99=410 ms", "p50: 95 ms\np99: 410 ms", '{"p50_ms": 95, "p99_ms": 410}']
)
def test_a_limit_beside_a_measurement_is_no_measurement(content: str, text: str) -> None:
    assert not failed(text, content)
    assert failed("The p99 is 500 ms.", content)
