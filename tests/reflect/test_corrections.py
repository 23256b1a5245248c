"""A lesson is made of a mistake whose correction was seen, and of nothing vaguer."""

import pytest

from mcp_reflect.analysis.diagnose import diagnose
from mcp_reflect.models.common import Json
from mcp_reflect.models.run import Correction, ErrorCategory, Event, EventType, Outcome, Trace
from tests.reflect.runs import Run

NO_REQUESTS = """Traceback (most recent call last):
  File "/app/fetch.py", line 1, in <module>
    import requests
ModuleNotFoundError: No module named 'requests'
"""
PYTEST_RED = """============================= test session starts ==============================
collected 3 items

tests/test_cart.py .F.                                                   [100%]

=================================== FAILURES ===================================
    def test_total():
>       assert cart.total() == 30
E       assert 20 == 30
tests/test_cart.py:12: AssertionError
=========================== short test summary info ============================
FAILED tests/test_cart.py::test_total - assert 20 == 30
========================= 1 failed, 2 passed in 0.12s ==========================
"""
PYTEST_GREEN = "============================== 3 passed in 0.10s ==============================="


def only(run: Run, outcome: Outcome = Outcome.SUCCESS) -> Correction:
    corrections = diagnose(run.trace(outcome)).corrections
    assert len(corrections) == 1
    return corrections[0]


def test_a_missing_package_installed_between_two_runs_is_the_correction() -> None:
    run = (
        Run()
        .bash("python fetch.py", NO_REQUESTS)
        .bash("pip install requests", "Successfully installed requests-2.32.3")
    )
    lesson = only(run.bash("python fetch.py", "200 OK"))
    assert lesson.category is ErrorCategory.DEPENDENCY
    assert "No module named 'requests'" in lesson.mistake
    assert "pip install requests" in lesson.correction
    assert lesson.changes == ()
    assert lesson.steps == ("e3",)


def test_an_edit_between_a_red_and_a_green_test_run_is_the_correction() -> None:
    edit: Json = {"path": "cart.py", "old_str": "return sum(p)", "new_str": "return sum(p * n)"}
    run = Run().bash("pytest -q", PYTEST_RED).call("str_replace", edit, "The file cart.py has been edited.")
    lesson = only(run.bash("pytest -q", PYTEST_GREEN))
    assert lesson.category is ErrorCategory.ASSERTION
    assert "cart.py" in lesson.correction


def test_a_wait_between_two_equal_requests_is_the_correction() -> None:
    limited = '{"error": {"code": 429, "message": "Rate limit exceeded. Retry after 20 seconds."}}'
    run = Run().call("http_get", {"url": "https://api.x.io/v1/items"}, limited).call("sleep", {"seconds": 20}, "")
    lesson = only(run.call("http_get", {"url": "https://api.x.io/v1/items"}, '{"items": [1, 2]}'))
    assert lesson.category is ErrorCategory.RATE_LIMIT
    assert "sleep 20" in lesson.correction


def test_a_column_spelt_right_is_the_correction() -> None:
    run = Run().call("run_sql", {"query": "SELECT nme, id FROM users LIMIT 5"}, 'ERROR: column "nme" does not exist')
    lesson = only(run.call("run_sql", {"query": "SELECT name, id FROM users LIMIT 5"}, "name | id\nada | 1"))
    assert lesson.category is ErrorCategory.NOT_FOUND
    assert [(c.path, c.before, c.after) for c in lesson.changes] == [
        ("query", "SELECT nme, id FROM users LIMIT 5", "SELECT name, id FROM users LIMIT 5")
    ]
    assert round(100 * lesson.confidence) == 90


def test_the_same_file_found_elsewhere_is_the_correction() -> None:
    run = Run().call(
        "read_file", {"path": "src/config.yaml"}, "Error: ENOENT: no such file or directory 'src/config.yaml'"
    )
    lesson = only(run.call("read_file", {"path": "config/config.yaml"}, "debug: true\nport: 80"))
    assert lesson.category is ErrorCategory.NOT_FOUND
    assert lesson.correction == 'Call read_file with "config/config.yaml" instead of "src/config.yaml".'


def test_sudo_after_permission_denied_is_the_correction() -> None:
    run = Run().bash("systemctl restart nginx", "Failed to restart nginx.service: Access denied")
    lesson = only(run.bash("sudo systemctl restart nginx", ""))
    assert lesson.category is ErrorCategory.PERMISSION
    assert "sudo systemctl restart nginx" in lesson.correction


def test_a_nested_argument_is_named_by_its_path() -> None:
    before: Json = {"user": "ada", "payment": [{"id": "card_1", "amount": 100}], "flight": "HAT001"}
    after: Json = {"user": "ada", "payment": [{"id": "card_1", "amount": 120}], "flight": "HAT001"}
    run = Run().call("book", before, "Error: payment amount does not add up, total price is 120, but paid 100")
    lesson = only(run.call("book", after, '{"reservation": "X1"}'))
    assert [(c.path, c.before, c.after) for c in lesson.changes] == [("payment[0].amount", 100, 120)]


def test_an_argument_added_and_one_left_out_are_told_apart() -> None:
    run = Run().call(
        "create_issue",
        {"title": "Crash on start", "labels": "bug"},
        "Error: missing required field: project; unknown field: labels",
    )
    lesson = only(run.call("create_issue", {"title": "Crash on start", "project": "app"}, '{"id": 7}'))
    assert {(c.path, c.added, c.removed) for c in lesson.changes} == {("labels", False, True), ("project", True, False)}


def test_quotes_left_out_of_a_search_are_the_correction() -> None:
    run = Run().text('Search["Nick Park"]', "Could not find [\"Nick Park\"]. Similar: ['Nick Park', 'Aardman']")
    lesson = only(run.text("Search[Nick Park]", "Nicholas Wulstan Park is an English filmmaker."))
    assert (lesson.category, lesson.tool) == (ErrorCategory.NO_RESULT, "Search")
    assert (lesson.changes[0].before, lesson.changes[0].after) == ('"Nick Park"', "Nick Park")


def test_a_numeric_limit_is_a_correction_where_the_error_names_it() -> None:
    run = Run().call("list_orders", {"limit": 1000}, "Error: limit must be at most 100")
    lesson = only(run.call("list_orders", {"limit": 100}, '[{"id": 1}]'))
    assert lesson.category is ErrorCategory.VALIDATION
    assert (lesson.changes[0].before, lesson.changes[0].after) == (1000, 100)


def test_another_tool_is_a_correction_only_with_the_same_arguments_at_once() -> None:
    url: Json = {"url": "https://example.org/data.json"}
    run = (
        Run()
        .call("fetch_html", url, "Error: unsupported content type application/json")
        .call("fetch_json", url, '{"a": 1}')
    )
    assert only(run).correction.startswith("Use fetch_json instead of fetch_html")


def test_a_long_script_shows_only_where_it_differs() -> None:
    script = "\n".join(f"x{n} = load({n})" for n in range(200))
    before, after = f"{script}\nprint(totl)", f"{script}\nprint(total)"
    run = Run().call(
        "python", {"code": before}, "Traceback (most recent call last):\nNameError: name 'totl' is not defined"
    )
    change = only(run.call("python", {"code": after}, "42")).changes[0]
    assert "totl" in str(change.before)
    assert len(str(change.before)) < 400


@pytest.mark.parametrize(
    ("tool", "before", "error", "after"),
    [
        ("get_user", {"id": 5}, "Error: user 5 not found", {"id": 6}),
        ("get_reservation", {"reservation_id": "ABC123"}, "Error: reservation not found", {"reservation_id": "ZFA04Y"}),
        ("get_order", {"order_id": "order-1017"}, "Error: order not found", {"order_id": "order-1018"}),
        (
            "read_file",
            {"path": "tests/test_user_model.py"},
            "Error: file not found",
            {"path": "tests/test_order_view.py"},
        ),
        (
            "bash",
            {"command": "pip install foo"},
            "ERROR: No matching distribution found for foo",
            {"command": "pip install bar"},
        ),
        ("bash", {"command": "cat notes.md"}, "cat: notes.md: No such file or directory", {"command": "ls -la"}),
        ("search_flights", {"from": "JFK", "to": "LAX"}, "[]", {"from": "JFK", "to": "SEA"}),
        ("search", {"query": "capital of France"}, "No results", {"query": "Messi goals 2012"}),
        (
            "search",
            {"query": "VIVA Media AG"},
            "Could not find [VIVA Media AG]. Similar: ['VIVA Plus']",
            {"query": "VIVA Plus"},
        ),
        (
            "run_sql",
            {"query": "SELECT a FROM t1 WHERE x = 1"},
            "ERROR: relation t1 is locked",
            {"query": "SELECT count(*) FROM sales"},
        ),
    ],
)
def test_a_later_success_of_another_intent_is_no_correction(tool: str, before: Json, error: str, after: Json) -> None:
    first = Event(id="c1", type=EventType.TOOL_CALL, tool=tool, arguments=before)
    second = Event(id="c2", type=EventType.TOOL_CALL, tool=tool, arguments=after)
    answers = [
        Event(id=f"r{n}", type=EventType.TOOL_RESPONSE, tool=tool, content=text)
        for n, text in ((1, error), (2, "fine: 12 things"))
    ]
    trace = Trace(task="t", outcome=Outcome.FAILURE, events=(first, answers[0], second, answers[1]))
    assert diagnose(trace).corrections == ()


def test_the_same_call_working_for_no_visible_reason_is_no_lesson() -> None:
    run = Run().bash("./deploy.sh", "Error: assertion failed: bad state").bash("./deploy.sh", "deployed")
    diagnosis = diagnose(run.trace(Outcome.SUCCESS))
    assert diagnosis.corrections == ()
    assert "worked later" in diagnosis.summary


def test_a_timeout_that_passes_is_a_lesson_to_repeat_the_call() -> None:
    run = (
        Run()
        .call("fetch", {"url": "https://x.io/a"}, error="Request timed out after 30s")
        .call("fetch", {"url": "https://x.io/a"}, "<html>")
    )
    assert "Repeat" in only(run).correction


def test_a_failing_call_knows_the_arguments_that_worked() -> None:
    run = (
        Run()
        .call("read_file", {"path": "src/confg.yaml"}, "Error: file not found")
        .call("read_file", {"path": "src/config.yaml"}, "a: 1")
    )
    failure = diagnose(run.trace()).failures[0]
    assert failure.worked == {"path": "src/config.yaml"}
    assert len(failure.signature) == 16


SEEN: list[tuple[Run, str]] = [
    (
        Run()
        .bash("git push origin main", " ! [rejected] main -> main (fetch first)\nerror: failed to push some refs")
        .bash("git pull --rebase origin main", "Successfully rebased")
        .bash("git push origin main", "a..b main -> main"),
        'First do bash "git pull --rebase origin main"',
    ),
    (
        Run()
        .bash(
            "uvicorn app:app --port 8000", "ERROR: [Errno 98] bind on address (127.0.0.1, 8000): address already in use"
        )
        .bash("uvicorn app:app --port 8001", "INFO: running"),
        "--port 8001",
    ),
    (
        Run()
        .call(
            "weather", {"city": "Rome", "date": "05/01/2024"}, '{"error": "invalid date format, expected YYYY-MM-DD"}'
        )
        .call("weather", {"city": "Rome", "date": "2024-01-05"}, '{"t": 12}'),
        'date = "2024-01-05" instead of "05/01/2024"',
    ),
    (
        Run()
        .call(
            "Edit",
            {"file_path": "/r/a.py", "new": "y"},
            "<tool_use_error>File has not been read. Read it first.</tool_use_error>",
        )
        .call("Read", {"file_path": "/r/a.py"}, "1 x")
        .call("Edit", {"file_path": "/r/a.py", "new": "y"}, "updated"),
        "First do Read",
    ),
    (
        Run().bash("python a.py", "bash: line 1: python: command not found").bash("python3 a.py", "done"),
        "python3 a.py",
    ),
    (
        Run()
        .call(
            "api",
            {"method": "POST", "url": "https://x.io/u", "body": {"name": "A"}},
            '{"status": 422, "errors": ["email is required"]}',
        )
        .call(
            "api", {"method": "POST", "url": "https://x.io/u", "body": {"name": "A", "email": "a@x.io"}}, '{"id": 1}'
        ),
        'body.email = "a@x.io" added',
    ),
]


@pytest.mark.parametrize(("run", "remedy"), SEEN)
def test_a_correction_that_was_seen_is_told_in_its_own_words(run: Run, remedy: str) -> None:
    assert remedy in only(run).correction
