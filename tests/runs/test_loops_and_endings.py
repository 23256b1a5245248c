"""Loops, runs of empty searches, and errors that come back."""

from mcp_reflect.models.run import Diagnosis, ErrorCategory, EventType, Finding, FindingKind, Outcome, RunError
from mcp_reflect.runs.diagnose import diagnose
from tests.runs.run import Run


def found(run: Run, kind: FindingKind, outcome: Outcome = Outcome.FAILURE) -> list[Finding]:
    return [finding for finding in diagnose(run.trace(outcome)).findings if finding.kind is kind]


def test_a_search_repeated_with_the_same_answer_is_a_loop() -> None:
    run = Run().text("Search[Nick Park]", "He made films.").text("Search[Nick Park]", "He made films.")
    loops = found(run, FindingKind.LOOP)
    assert loops[0].text == 'The same call was made twice in a row with the same answer (e1, e3): Search "Nick Park".'
    assert diagnose(run.trace()).category is ErrorCategory.LOOP


def test_the_same_call_with_another_answer_is_no_loop() -> None:
    run = Run().text("Lookup[film]", "(Result 1/2) one").text("Lookup[film]", "(Result 2/2) two")
    assert found(run, FindingKind.LOOP) == []


def test_the_same_error_at_another_time_is_the_same_answer() -> None:
    run = Run()
    for second in (1, 7):
        run.bash("make deploy", f"2024-05-01 10:00:0{second} fatal: no route to host\nexit code 1")
    assert len(found(run, FindingKind.LOOP)) == 1


def test_calls_that_differ_in_a_date_are_no_loop() -> None:
    run = Run()
    for day in (20, 21, 22):
        run.call("search_flights", {"from": "SFO", "date": f"2024-05-{day}"}, "[]")
    assert found(run, FindingKind.LOOP) == []
    assert found(run, FindingKind.ZERO_RESULTS)[0].text.startswith(
        "search_flights found nothing three times in a row (e2, e4, e6): "
    )


def test_a_test_run_repeated_between_different_edits_is_no_loop() -> None:
    run = Run()
    for attempt in range(3):
        run.call("edit", {"path": "a.py", "new": f"x = {attempt}"}, "ok").bash("pytest", "1 failed in 0.1s")
    assert found(run, FindingKind.LOOP) == []
    assert "`pytest` failed three times (e4, e8, e12)" in found(run, FindingKind.REPEATED_ERROR)[0].text


def test_keys_pressed_again_are_no_loop() -> None:
    run = Run()
    for _ in range(5):
        run.call("press_key", {"key": "Down"}, "ok")
    assert found(run, FindingKind.LOOP) == []


def test_a_call_repeated_after_the_user_spoke_is_no_loop() -> None:
    run = Run().call("get_order", {"id": 1}, "sent").says(EventType.USER_FEEDBACK, "Please look again.")
    assert found(run.call("get_order", {"id": 1}, "sent"), FindingKind.LOOP) == []


def test_thoughts_between_two_equal_calls_do_not_hide_a_loop() -> None:
    run = Run().call("get", {"u": 1}, "x y").says(EventType.DECISION, "Let me try again.").call("get", {"u": 1}, "x y")
    assert len(found(run, FindingKind.LOOP)) == 1


def test_searches_without_a_result_are_quoted_in_one_sentence() -> None:
    run = Run()
    for query in ("X", "Y", "Z"):
        run.text(f"Search[{query}]", f"Could not find [{query}]. Similar: []")
    assert (
        found(run, FindingKind.ZERO_RESULTS)[0].text
        == 'Search found nothing three times in a row (e2, e4, e6): "X", "Y", "Z".'
    )


def test_of_many_searches_without_a_result_the_first_ones_are_quoted() -> None:
    run = Run()
    for number in range(8):
        run.text(f"Search[word{number}]", "No results found.")
    (finding,) = found(run, FindingKind.ZERO_RESULTS)
    assert finding.text == (
        "Search found nothing 8 times in a row (e2, e4, e6, e8, e10, e12 and 2 more): "
        '"word0", "word1", "word2", "word3" and 4 more.'
    )


def test_a_result_in_between_ends_a_run_of_empty_searches() -> None:
    run = Run().text("Search[X]", "No Results").text("Search[Y]", "Y is a letter.").text("Search[Z]", "No Results")
    assert not any("in a row" in finding.text for finding in found(run, FindingKind.ZERO_RESULTS))


def test_a_loop_counts_more_than_an_error_that_was_put_right() -> None:
    loop = diagnose(Run().text("Search[A]", "a").text("Search[A]", "a").trace())
    righted = diagnose(
        Run()
        .bash("x a", "bash: x: command not found")
        .bash("apt install x", "ok")
        .bash("x a", "1")
        .trace(Outcome.SUCCESS)
    )
    assert _importance(loop) >= _importance(righted)


def test_a_run_that_timed_out_has_that_category_where_nothing_else_is_seen() -> None:
    assert diagnose(Run().trace(Outcome.TIMEOUT)).category is ErrorCategory.TIMEOUT
    assert diagnose(Run().trace(Outcome.FAILURE, RunError(message="went badly"))).category is ErrorCategory.UNKNOWN


def _importance(diagnosis: Diagnosis) -> float:
    assert diagnosis.importance is not None
    return diagnosis.importance
