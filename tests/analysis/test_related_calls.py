"""Which later call is the corrected form of a failed one, and which only asks for another thing."""

from typing import Any

import pytest

from mcp_reflect.analysis.calls import calls_of
from mcp_reflect.analysis.related_calls import changes_between, mistyped, names_alike, pairs_in, points_at, suggested
from mcp_reflect.models.run import Change, Outcome
from tests.analysis.runs import Run

MISSING = "Error: not found"
RANGE = "Error: month must be in 1..12, got 13"


def is_corrected(tool: str, sent: Any, error: str, later: Any, outcome: Outcome = Outcome.FAILURE) -> bool:
    calls = calls_of(Run().call(tool, sent, error=error).call(tool, later, "fine").trace(outcome))
    return pairs_in(calls, succeeded=outcome is Outcome.SUCCESS) == {0: calls[1]}


@pytest.mark.parametrize(
    ("sent", "error", "later"),
    [
        ({"month": 13, "year": 2024}, RANGE, {"month": 12, "year": 2024}),
        ({"m": 13}, "Error: 13 is out of range", {"m": 12}),
        ({"limit": 1000}, "Error: limit must be at most 100", {"limit": 100}),
        ({"ratio": 1.5}, "Error: 1.5 is more than 1", {"ratio": 0.5}),
        ({"a": 1, "b": 2, "c": 3}, "Error: bad request", {"a": 1, "b": 2, "c": 4}),
        ({"path": "setings.toml"}, MISSING, {"path": "settings.toml"}),
        ({"path": "src/setings.toml"}, MISSING, {"path": "src/settings.toml"}),
        ({"path": "settings.toml"}, MISSING, {"path": "src/settings.toml"}),
        ({"path": "setings.toml", "line": 5}, MISSING, {"path": "settings.toml", "line": "5"}),
        ({"path": "a.py", "mode": 5}, MISSING, {"path": "a.py", "mode": 5, "follow": True}),
        ({"path": "a.py", "mode": 5, "deep": True}, MISSING, {"path": "a.py", "mode": 5}),
        ({"query": "flights", "seat": "12a"}, MISSING, {"query": "flights", "seat": "12A"}),
        ({"query": "orders", "shop": "Friedrichshaven"}, MISSING, {"query": "orders", "shop": "Friedrichshafen"}),
        ({"command": "pytest -q"}, "Error: no module named app", {"command": "cd api && pytest -q"}),
        ({"command": "git push --froce origin main"}, "Error: unknown option", {"command": "git push origin main -f"}),
        ({"code": "import a\nprint(a.b)\nx = 1\ny = 2"}, "Error", {"code": "import a\nprint(a.c)\nx = 1\ny = 2"}),
    ],
)
def test_a_call_with_the_mistake_mended_is_the_corrected_one(sent: Any, error: str, later: Any) -> None:
    assert is_corrected("use", sent, error, later)


@pytest.mark.parametrize(
    ("sent", "error", "later"),
    [
        ({"month": 13, "year": 2024}, "Error: bad request", {"month": 12, "year": 2024}),
        ({"m": 13}, "Error: out of range", {"m": 12}),
        ({"on": True}, "Error: true is no color", {"on": False}),
        ({"user": 5}, MISSING, {"user": 6}),
        ({"user": 5, "page": 1, "all": True}, MISSING, {"user": 6, "page": 1, "all": True}),
        ({"query": "flights", "to": "LAX"}, MISSING, {"query": "flights", "to": "SEA"}),
        ({"query": "flights", "row": 5}, MISSING, {"query": "flights", "row": 6}),
        ({"path": "a.py"}, MISSING, {"path": "b.py"}),
        ({"path": "src/orders.py"}, MISSING, {"path": "src/customers.py"}),
        ({"table": "ordres"}, MISSING, {"table": "customers"}),
        ({"command": "npm install left"}, "Error: no such package", {"command": "npm run build"}),
        ({"command": "git push"}, "Error: rejected", {"command": "git pull"}),
        ({"query": "grey herons of Kiel"}, "Error: bad query", {"query": "boats in Hamburg"}),
        ({"a": "x y", "b": 1, "c": 2}, "Error: bad", {"a": "x y", "b": 3, "c": 4, "d": 5}),
        ({}, "Error: bad", {"a": 1}),
    ],
)
def test_a_call_for_another_thing_corrects_nothing(sent: Any, error: str, later: Any) -> None:
    assert not is_corrected("use", sent, error, later)


def test_what_an_answer_proposed_counts_in_a_run_that_succeeded() -> None:
    error = "no such table: ordres. Did you mean 'purchase_orders'?"
    call = ("use", {"table": "ordres"}, error, {"table": "purchase_orders"})
    assert is_corrected(*call, Outcome.SUCCESS)
    assert not is_corrected(*call)


def test_a_search_that_found_nothing_is_corrected_by_its_own_words_alone() -> None:
    def is_found(query: str, later: str) -> bool:
        calls = calls_of(Run().call("search", {"query": query}, "[]").call("search", {"query": later}, "fine").trace())
        return pairs_in(calls, succeeded=False) == {0: calls[1]}

    assert is_found("Mercury", "Mercury (planet)")
    assert is_found("the herons of Kiel", "Kiel herons")
    assert not is_found("Mercury", "Venus")
    assert not is_found("grey herons of the old harbour", "herons")
    assert not is_found("herons", "grey herons")


def test_the_first_call_that_worked_corrects_and_another_tool_never_does() -> None:
    run = Run().call("read", {"path": "setings.toml"}, error=MISSING).call("stat", {"path": "settings.toml"}, "fine")
    run.call("read", {"path": "settings.toml"}, error="Error: busy")
    run.call("read", {"path": "settings.toml"}, "a").call("read", {"path": "settings.toml"}, "b")
    calls = calls_of(run.trace())
    assert pairs_in(calls, succeeded=False) == {0: calls[3], 2: calls[3]}


@pytest.mark.parametrize(
    ("change", "error", "points"),
    [
        (Change(path="limit", before=1000, after=100), "limit must be at most 100", True),
        (Change(path="n", before=1000, after=100), "n must be less", False),
        (Change(path="n", before=1000, after=100), "1000 is too large", True),
        (Change(path="n", before=1000, after=100), "at most 100", True),
        (Change(path="n", before=1000, after=100), "at most 10000", False),
        (Change(path="q", before="a-b c", after="d"), "cannot read a-b c here", True),
        (Change(path="q", before="a-", after="ef"), "a-b is no name", False),
        (Change(path="on", before=True, after=False), "true or false", False),
        (Change(path="q", before=["a"], after=None), "a and none", False),
    ],
)
def test_an_error_points_at_what_it_names(change: Change, error: str, points: bool) -> None:
    assert points_at(change, error) is points


def test_changes_are_the_arguments_that_differ_in_value_or_kind() -> None:
    changes = changes_between({"a": 1, "b": 2, "c": "x", "d": 0}, {"a": True, "b": 2, "c": "x", "e": None})
    told = [(change.path, change.before, change.after, change.added, change.removed) for change in changes]
    assert told == [("a", 1, True, False, False), ("d", 0, None, False, True), ("e", None, None, True, False)]
    assert [change.path for change in changes_between("x", "y")] == [""]
    assert changes_between(["ls", "-l"], ["ls", "-l"]) == ()


@pytest.mark.parametrize(
    ("one", "other", "alike", "typed"),
    [
        ("user_name", "user-name", True, True),
        ("'quoted'", "Quoted", True, False),
        ("order-17", "order-18", False, False),
        ("4379", "4397", False, False),
        ("437912", "437921", False, False),
        ("abc", "abd", False, False),
        ("*.tsx", "*.jsx", False, False),
        ("configuration", "configuratoin", True, True),
        ("LAX", "SEA", False, False),
        ("--", "..", False, False),
        ("test_a.py", "test_b.py", False, False),
        ("setings.toml", "settings.toml", True, True),
        ("x" * 79 + "y", "x" * 79 + "z", True, True),
        ("x" * 80 + "y", "x" * 80 + "z", False, False),
    ],
)
def test_names_are_alike_but_for_case_signs_or_a_slip(one: str, other: str, alike: bool, typed: bool) -> None:
    assert (names_alike(one, other), mistyped(one, other)) == (alike, typed)
    assert (names_alike(other, one), mistyped(other, one)) == (alike, typed)


def test_a_value_is_suggested_only_word_for_word() -> None:
    (call,) = calls_of(Run().call("use", {"name": "x"}, error="Unknown name. Did you mean 'Orders' or 'y'?").trace())
    assert suggested("orders", call)
    assert not suggested("order", call)
    assert not suggested("y", call)  # one letter is in many answers
