"""What counts as a failing event, of which category; loops, and errors that come back."""

from typing import Any

import pytest

from mcp_reflect.models.common import Json
from mcp_reflect.models.run import (
    Diagnosis,
    ErrorCategory,
    Event,
    EventType,
    Observation,
    Outcome,
    RunError,
    Trace,
)
from mcp_reflect.models.run import ErrorCategory as C
from mcp_reflect.sessions.diagnose import diagnose
from tests.sessions.run import Run

JAVA = 'Exception in thread "main" java.lang.NullPointerException: it is null\n\tat Main.main(Main.java:5)'
NODE = """node:internal/modules/cjs/loader:1080
  throw err;
  ^

Error: Cannot find module 'express'
Require stack:
- /app/server.js
    at Module._resolveFilename (node:internal/modules/cjs/loader:1077:15)
"""
GO = "panic: runtime error: index out of range [5] with length 3\n\ngoroutine 1 [running]:\nexit status 2"
RUST = "error[E0425]: cannot find value `x`\n --> src/main.rs:2:20\n\nerror: aborting due to 1 previous error"
MOCHA = "  2 passing (12ms)\n  1 failing\n\n  1) Cart\n       totals:\n     AssertionError: expected 2 to equal 3\n"
COLLECT = """==================================== ERRORS ====================================
ImportError while importing test module '/app/tests/test_a.py'.
E   ModuleNotFoundError: No module named 'numpy'
=========================== short test summary info ============================
ERROR tests/test_a.py
=============================== 1 error in 0.07s ===============================
"""

PRINTED: list[tuple[str | tuple[str, Json], str, C]] = [
    ("python a.py", "Traceback (most recent call last):\n  File \"a.py\"\nKeyError: 'name'", C.VALIDATION),
    ("python a.py", '  File "a.py", line 1\n    x = = 2\nSyntaxError: invalid syntax', C.SYNTAX),
    ("java Main", JAVA, C.VALIDATION),
    ("node server.js", NODE, C.DEPENDENCY),
    ("go run .", GO, C.VALIDATION),
    ("cargo build", RUST, C.NOT_FOUND),
    ("npm test", MOCHA, C.ASSERTION),
    ("pytest", COLLECT, C.DEPENDENCY),
    ("git push", " ! [rejected] main -> main (fetch first)\nerror: failed to push some refs to 'origin'", C.CONFLICT),
    ("git psuh", "git: 'psuh' is not a git command. See 'git --help'.\nexit code: 1", C.VALIDATION),
    ("foo --x", "bash: line 1: foo: command not found", C.DEPENDENCY),
    ("ls /root/x", "ls: cannot open directory '/root/x': Permission denied", C.PERMISSION),
    ("cat a.txt", "cat: a.txt: No such file or directory", C.NOT_FOUND),
    ("dd if=/dev/zero of=x", "dd: error writing 'x': No space left on device", C.RESOURCE_EXHAUSTION),
    ("curl http://nowhere.test", "curl: (6) Could not resolve host: nowhere.test", C.NETWORK),
    ("ssh git@github.com", "git@github.com: Permission denied (publickey).\nexit code 255", C.AUTH),
    ("make", "gcc -c a.c\na.c:3:5: error: expected ';' before 'return'\nmake: *** [a.o] Error 1", C.SYNTAX),
    (("terminal", None), "exitcode: 1 (execution failed)\nCode output: unknown language json\n", C.VALIDATION),
    (("http_request", {"url": "https://a.io"}),
     "HTTP/1.1 401 Unauthorized\ncontent-type: text/plain\n\nno token", C.AUTH),
    (("http_request", {"url": "https://a.io"}), "HTTP/1.1 503 Service Unavailable", C.NETWORK),
    (("http_request", {"url": "https://a.io"}), '{"status": 404, "message": "no such item"}', C.NOT_FOUND),
    (("http_request", {"url": "https://a.io"}), "Request failed with status code 403", C.PERMISSION),
    (("http_request", {"url": "https://a.io"}), "429 Too Many Requests", C.RATE_LIMIT),
    (("create_user", {"name": "x"}), '{"error": {"type": "validation", "message": "email is required"}}', C.VALIDATION),
    (("create_user", {"name": "x"}), '{"success": false, "message": "user already exists"}', C.CONFLICT),
    (("run", {"command": "x"}), '{"stdout": "", "stderr": "Killed", "exit_code": 137}', C.RESOURCE_EXHAUSTION),
    (("pay", {"sum": 5}), "Error: not enough balance in payment method gift_card_1", C.RESOURCE_EXHAUSTION),
    (("click", {"selector": "#buy"}), "Error: Timeout 30000ms exceeded while waiting for selector #buy", C.TIMEOUT),
    (("navigate", {"url": "http://x.test"}), "Error: net::ERR_NAME_NOT_RESOLVED at http://x.test", C.NETWORK),
    (("act", {"action": "fly"}), "Invalid Action. Valid actions are: go, take, open.", C.VALIDATION),
    (("edit_file", {"path": "a.py", "old_str": "x"}), "Error: old_str not found in a.py", C.NOT_FOUND),
    ("npm run build", "> build\nERROR in ./a.js\nModule not found: Can't resolve 'x'", C.DEPENDENCY),
    (("search", {"query": "x y"}), "No results found.", C.NO_RESULT),
    (("search", {"query": "x y"}), '{"results": [], "total": 0}', C.NO_RESULT),
    (("search_flights", {"from": "SFO"}), "[]", C.NO_RESULT),
    (("search_flights", {"from": "SFO"}), "", C.NO_RESULT),
]  # fmt: skip


def diagnosis_of(call: str | tuple[str, Json], answer: str) -> Diagnosis:
    """What is found of a command of the shell, or a call of another tool, and its answer."""
    run = Run().bash(call, answer) if isinstance(call, str) else Run().call(*call, answer)
    return diagnose(run.trace())


@pytest.mark.parametrize(("call", "answer", "category"), PRINTED)
def test_what_real_tools_print_is_read_as_the_failure_it_is(
    call: str | tuple[str, Json], answer: str, category: C
) -> None:
    diagnosis = diagnosis_of(call, answer)
    assert (diagnosis.first_failing_event, diagnosis.category) == ("e2", category)


ARTICLE = "A segmentation fault is an error. Error: this word has many meanings. " * 20
HARMLESS: list[tuple[str | tuple[str, Json], str]] = [
    (("read_file", {"path": "app.log"}), "2024-05-01 ERROR db: connection refused\n2024-05-01 ERROR db: timeout\n"),
    (("read_file", {"path": "/var/log/app.log"}), "ERROR: disk quota exceeded"),
    ("cat build.log", "Traceback (most recent call last):\n  File 'x'\nValueError: bad"),
    ("grep -rn Error src", "src/a.py:3: raise ValueError('x')\nsrc/b.py:9: except TimeoutError:"),
    ("git log --oneline", "a1b2c3d fix: 404 not found on login\nd4e5f6a Error: handle timeouts"),
    (("wikipedia", {"title": "HTTP 404"}), "HTTP 404 Not Found is an error message that a website shows. " + ARTICLE),
    (("search", {"query": "timeout error"}),
     "1. Fixing 'Connection timed out' - blog\n2. Error: ETIMEDOUT - Stack Overflow\n3. docs"),
    (("search", {"query": "band"}), "No Doubt is an American rock band formed in 1986."),
    (("fetch", {"url": "https://docs.io/errors"}), "Errors\n\n401 Unauthorized: the token is wrong.\n429: slow down."),
    (("get_user", {"id": 5}), '{"id": 5, "name": "Ada", "error": null, "errors": []}'),
    (("get_job", {"id": 5}), '{"id": 5, "status": "done", "error_count": 3, "failures": 0}'),
    ("pytest", "3 passed, 1 xfailed in 0.1s"),
    ("pytest -k error", "tests/test_errors.py ....\n4 passed in 0.02s"),
    ("make", "gcc -Wall -Werror -c error.c\ngcc -o app error.o"),
    (("terminal", {"code": "x"}), "exitcode: 0 (execution succeeded)\nCode output: Error: caught and handled\n"),
    ("python a.py", "0 errors, 0 warnings"),
    (("list_tasks", {}), "[]"),
    (("list_errors", {}), "Error 1: timeout\nError 2: refused"),
    (("ask_expert", {"q": "x"}), "The file does not contain the function, so it cannot be called."),
    (("delete_file", {"path": "x"}), ""),
    (("Finish", {"answer": "Error: none"}), "Error: none"),
    (("get_failed_jobs", {}), '[{"id": 1, "error": "timeout"}]'),
    (("write_file", {"path": "handler.py"}), "Wrote 12 lines to handler.py"),
    (("think", {"thought": "x"}), "I cannot find a reason for the failure yet."),
]  # fmt: skip


@pytest.mark.parametrize(("call", "answer"), HARMLESS)
def test_text_that_only_speaks_of_errors_is_no_failure(
    call: str | tuple[str, Json], answer: str
) -> None:
    diagnosis = diagnosis_of(call, answer)
    assert diagnosis.first_failing_event is None
    assert diagnosis.category is None


CALL: dict[str, Any] = {
    "id": "a",
    "type": EventType.TOOL_CALL,
    "tool": "bash",
    "arguments": {"command": "x"},
}


@pytest.mark.parametrize(
    ("event", "category"),
    [
        (
            Event(
                id="a",
                type=EventType.TOOL_RESPONSE,
                tool="fetch",
                content="fine",
                error="ETIMEDOUT",
            ),
            C.TIMEOUT,
        ),
        (
            Event(id="a", type=EventType.ERROR_EVENT, content="CUDA out of memory."),
            C.RESOURCE_EXHAUSTION,
        ),
        (Event(**CALL, error="permission denied"), C.PERMISSION),
        (Event(**CALL, content="bash: x: command not found"), C.DEPENDENCY),
    ],
)
def test_an_event_tells_of_a_failure_by_its_error_its_kind_or_the_answer_in_it(
    event: Event, category: C
) -> None:
    diagnosis = diagnose(Trace(task="t", outcome=Outcome.ERROR, events=(event,)))
    assert (diagnosis.first_failing_event, diagnosis.category) == ("a", category)


def test_an_exit_code_in_the_metadata_decides() -> None:
    def with_code(code: int) -> Trace:
        call = Event(id="a", type=EventType.TOOL_CALL, tool="bash", arguments={"command": "x"})
        answer = Event(
            id="b", type=EventType.TOOL_RESPONSE, content="Error: odd", metadata={"exit_code": code}
        )
        return Trace(task="t", outcome=Outcome.FAILURE, events=(call, answer))

    assert diagnose(with_code(0)).first_failing_event is None
    assert diagnose(with_code(2)).first_failing_event == "b"


def test_answers_find_their_calls_by_id_when_they_come_in_another_order() -> None:
    calls = [
        Event(
            id=f"c{n}",
            type=EventType.TOOL_CALL,
            tool="get",
            arguments={"n": n},
            metadata={"call_id": f"k{n}"},
        )
        for n in (1, 2)
    ]
    second = Event(
        id="r2",
        type=EventType.TOOL_RESPONSE,
        tool="get",
        content="fine",
        metadata={"call_id": "k2"},
    )
    first = Event(
        id="r1",
        type=EventType.TOOL_RESPONSE,
        tool="get",
        error="timed out",
        metadata={"call_id": "k1"},
    )
    failure = diagnose(
        Trace(task="t", outcome=Outcome.FAILURE, events=(*calls, second, first))
    ).failures[0]
    assert (failure.arguments, failure.event_id) == ({"n": 1}, "r1")


def test_an_empty_search_is_not_the_first_failing_event_where_there_is_an_error() -> None:
    run = (
        Run()
        .call("search", {"query": "x"}, "No results")
        .call("pay", {"sum": 1}, "Error: card declined: access denied")
    )
    assert diagnose(run.trace()).first_failing_event == "e4"


def test_the_category_is_that_of_the_error_that_was_not_put_right() -> None:
    run = (
        Run()
        .bash("python a.py", "ModuleNotFoundError: No module named 'x'")
        .bash("pip install x", "ok")
        .bash("python a.py", "fine")
    )
    diagnosis = diagnose(
        run.bash("scp a host:", "scp: /srv: Permission denied\nexit code 1").trace()
    )
    assert (diagnosis.first_failing_event, diagnosis.category) == ("e2", C.PERMISSION)


def test_the_callers_category_counts_before_the_rules() -> None:
    trace = (
        Run()
        .says(EventType.LLM_CALL, "I am done")
        .trace(error=RunError(category=C.CONFLICT, message="edited twice"))
    )
    assert diagnose(trace).category is C.CONFLICT


def test_the_callers_message_gives_a_category_where_no_event_failed() -> None:
    assert (
        diagnose(
            Run().trace(Outcome.ERROR, RunError(message="Deadline exceeded after 300 s"))
        ).category
        is C.TIMEOUT
    )


def test_a_run_in_which_no_rule_finds_a_fault_says_what_was_done_and_how_it_ended() -> None:
    diagnosis = diagnose(
        Run()
        .call("get_weather", {"city": "Rome"}, "22 degrees")
        .says(EventType.LLM_CALL, "It is 25.")
        .trace()
    )
    assert diagnosis.category is None
    assert diagnosis.facts == diagnosis.failures == ()
    assert diagnosis.summary == (
        'Outcome: failure. 3 events, 1 call worked. The agent ended with "It is 25." (e3).'
    )


def test_what_a_person_said_last_is_in_the_summary() -> None:
    run = (
        Run("Write the mail")
        .says(EventType.LLM_CALL, "Dear Sir or Madam, ...")
        .says(EventType.USER_FEEDBACK, "Make it a haiku next time")
    )
    summary = diagnose(run.trace(Outcome.PARTIAL)).summary
    assert 'The user said (e2): "Make it a haiku next time".' in summary


def test_the_word_of_a_user_is_no_failing_event() -> None:
    diagnosis = diagnose(
        Run().says(EventType.USER_FEEDBACK, "That's wrong, the total should be 30.").trace()
    )
    assert diagnosis.first_failing_event is None


LOOP, EMPTY = "The same call was made", " found nothing "


def found(run: Run, words: str) -> list[Observation]:
    return [
        finding for finding in diagnose(run.trace(Outcome.FAILURE)).facts if words in finding.text
    ]


def test_a_search_repeated_with_the_same_answer_is_a_loop() -> None:
    run = (
        Run()
        .text("Search[Nick Park]", "He made films.")
        .text("Search[Nick Park]", "He made films.")
    )
    loops = found(run, LOOP)
    assert (
        loops[0].text
        == 'The same call was made twice in a row with the same answer (e1, e3): Search "Nick Park".'
    )
    assert diagnose(run.trace()).category is ErrorCategory.LOOP


AGAIN: Json = {"u": 1}
ERROR = "2024-05-01 10:00:0{} fatal: no route to host\nexit code 1"


@pytest.mark.parametrize(
    ("run", "loops"),
    [
        (
            Run().text("Lookup[film]", "(Result 1/2) one").text("Lookup[film]", "(Result 2/2) two"),
            0,
        ),
        (
            Run()
            .call("get", AGAIN, "x")
            .says(EventType.USER_FEEDBACK, "Look again.")
            .call("get", AGAIN, "x"),
            0,
        ),
        (
            Run().call("press_key", {"key": "Down"}, "ok").call("press_key", {"key": "Down"}, "ok"),
            0,
        ),
        (
            Run()
            .call("get", AGAIN, "x y")
            .says(EventType.DECISION, "Let me try again.")
            .call("get", AGAIN, "x y"),
            1,
        ),
        (Run().bash("make deploy", ERROR.format(1)).bash("make deploy", ERROR.format(7)), 1),
    ],
    ids=["another answer", "the user spoke", "keys", "thoughts between", "another time"],
)
def test_the_same_call_with_the_same_answer_is_a_loop(run: Run, loops: int) -> None:
    assert len(found(run, LOOP)) == loops


def test_calls_that_differ_in_a_date_are_no_loop() -> None:
    run = Run()
    for day in (20, 21, 22):
        run.call("search_flights", {"from": "SFO", "date": f"2024-05-{day}"}, "[]")
    assert found(run, LOOP) == []
    assert found(run, EMPTY)[0].text.startswith(
        "search_flights found nothing three times in a row (e2, e4, e6): "
    )


def test_a_test_run_repeated_between_different_edits_is_no_loop() -> None:
    run = Run()
    for attempt in range(3):
        run.call("edit", {"path": "a.py", "new": f"x = {attempt}"}, "ok").bash(
            "pytest", "1 failed in 0.1s"
        )
    assert found(run, LOOP) == []
    assert found(run, "`pytest` failed three times (e4, e8, e12)")


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (3, 'Search found nothing three times in a row (e2, e4, e6): "w0", "w1", "w2".'),
        (8, ('Search found nothing 8 times in a row (e2, e4, e6, e8, e10, e12 and 2 more): '
             '"w0", "w1", "w2", "w3" and 4 more.')),
    ],
)  # fmt: skip
def test_searches_without_a_result_are_quoted_in_one_sentence(number: int, told: str) -> None:
    run = Run()
    for query in range(number):
        run.text(f"Search[w{query}]", f"Could not find [w{query}]. Similar: []")
    assert found(run, EMPTY)[0].text == told


def test_a_result_in_between_ends_a_run_of_empty_searches() -> None:
    run = (
        Run()
        .text("Search[X]", "No Results")
        .text("Search[Y]", "Y is a letter.")
        .text("Search[Z]", "No Results")
    )
    assert not any("in a row" in finding.text for finding in found(run, EMPTY))


def test_a_run_that_timed_out_has_that_category_where_nothing_else_is_seen() -> None:
    assert diagnose(Run().trace(Outcome.TIMEOUT)).category is ErrorCategory.TIMEOUT
    assert (
        diagnose(Run().trace(Outcome.FAILURE, RunError(message="went badly"))).category
        is ErrorCategory.UNKNOWN
    )
