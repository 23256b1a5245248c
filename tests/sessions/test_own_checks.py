"""What a program's own check tells of the work beside it: `./books check` says "not done", and later "done"."""

from dataclasses import replace

from mcp_reflect.models.finding import Finding, FindingKind, FoundCall
from mcp_reflect.moments.asks import MOST_BYTES, ask_again, ask_at_call
from mcp_reflect.services.finding_asks import gives_orders
from mcp_reflect.sessions.calls import CallWithAnswer
from mcp_reflect.sessions.found import facts_of
from mcp_reflect.sessions.noticing import findings_in


def session(*lines: tuple[str, str, int]) -> list[Finding]:
    """The findings in commands of a shell, each with what it printed and its exit code."""
    calls: list[CallWithAnswer] = []
    for place, (command, output, code) in enumerate(lines):
        call = CallWithAnswer(
            event_id=f"e{place}", tool="Bash", arguments={"command": command}, index=place
        )
        call.answered, call.answer = True, output
        if code:
            call.marked_failed, call.error = True, f"Exit code {code}\n{output}"
        calls.append(call)
    return findings_in(calls)


def test_a_check_before_the_work_is_no_failure_of_it() -> None:
    first = ("ls; ./migrator help; ./migrator check", "TASK.md\nnot done", 1)
    plan = ("./migrator explain 0042", "modes: plan (default), commit (--commit)", 0)
    last = ("./migrator run 0042 --commit; ./migrator check", "0042 ok\ndone", 0)
    assert session(first, plan, last) == []


def test_the_line_says_what_was_refused_rather_than_that_it_is_not_done() -> None:
    wrong = (
        "./regctl add orders u; ./regctl feeds; ./regctl check",
        "rejected (rule 7)\nSTOCK_V1\nnot done",
        1,
    )
    right = (
        "./regctl add ORDERS_V1 u; ./regctl feeds; ./regctl check",
        "registered\nORDERS_V1\ndone",
        0,
    )
    (found,) = session(wrong, right)
    assert (found.kind, found.line) == (FindingKind.TURNED, "rejected (rule 7)")


def test_an_earlier_failure_of_the_program_says_more_than_its_check() -> None:
    (found, *_) = session(
        ("./books post travel 120", "error 31", 31),
        ("./books open && ./books post travel 120; ./books check", "opened\nposted\nnot done", 1),
        ("./books close; ./books check", "closed, 1 posting kept\ndone", 0),
    )[-1:]
    assert found.line == "error 31"


def _svc(*between: tuple[str, str, int]) -> list[Finding]:
    opened = ("./svc open 12", "opened", 0)
    no, yes = ("./svc check", "not done", 1), ("./svc check", "done", 0)
    return session(opened, no, *between, yes)


def test_the_one_call_between_both_checks_is_the_deciding_one() -> None:
    (found,) = _svc(("cat README", "close what you open", 0), ("./svc close 12", "closed", 0))
    closed = FoundCall(tool="Bash", arguments={"command": "./svc close 12"}, number=4)
    assert found.between == (closed,)
    asked = ask_at_call(found)
    assert "said no (call 2), exit code 1: ./svc check" in asked
    assert "in between (call 4): ./svc close 12\nsaid yes (call 5): ./svc check" in asked
    assert "`./svc close 12`" in facts_of(found)
    assert "after `./svc close 12` said yes" in ask_again([found])


def _named_between(found: Finding) -> list[object]:
    return [call.number for call in found.between]


def test_of_several_calls_between_both_checks_the_last_two_are_named() -> None:
    flush, close = ("./svc flush", "ok", 0), ("./svc close 12", "closed", 0)
    (found,) = _svc(flush, close)
    assert _named_between(found) == [3, 4]
    assert "in between (call 3): ./svc flush\nand (call 4): ./svc close 12" in ask_at_call(found)
    (found,) = _svc(("./svc drain", "ok", 0), flush, close)
    assert _named_between(found) == [4, 5]
    assert "in between, the last 2 of 3 (call 4): ./svc flush\nand (call 5)" in ask_at_call(found)


def test_a_call_that_was_made_again_between_both_checks_is_one() -> None:
    flush, close = ("./svc flush", "ok", 0), ("./svc close 12", "closed", 0)
    (found,) = _svc(flush, flush)
    assert (_named_between(found), found.done_between) == ([4], 1)
    (found,) = _svc(flush, close, flush)
    assert _named_between(found) == [4, 5]


def test_long_calls_between_both_checks_leave_the_ask_within_its_bytes() -> None:
    long = [(f"./svc close {name * 900}", "closed", 0) for name in "xyz"]
    for between in (long[:1], long):
        (found,) = _svc(*between)
        asked = ask_at_call(replace(found, line="é" * 200))
        assert len(asked.encode()) <= MOST_BYTES
        assert asked.endswith("doing nothing is fine.")
        assert asked.count("./svc check") == 2


def test_the_line_of_a_check_beside_another_program_is_left_out() -> None:
    opened = ("./svc open 12", "opened", 0)
    no = ("npx vitest run; ./svc check", "Error: 3 tests failed\nservice 12 is open", 1)
    closed, yes = ("./svc close 12", "closed", 0), ("./svc check", "done", 0)
    (found,) = [one for one in session(opened, no, closed, yes) if one.kind is FindingKind.TURNED]
    assert found.line == ""
    assert "exit code 1: npx vitest run; ./svc check\nin between (call 3)" in ask_at_call(found)
    assert "./svc check` failed; then" in facts_of(found)


def test_the_line_of_a_check_beside_another_program_is_taken_where_the_program_failed_alone() -> (
    None
):
    opened = ("./svc open 12", "opened", 0)
    refused = ("./svc drop 12", "error: 12 has a lease", 3)
    no = ("npx vitest run; ./svc check", "Error: 3 tests failed\nservice 12 is open", 1)
    closed, yes = ("./svc close 12", "closed", 0), ("./svc check", "done", 0)
    found = session(opened, refused, no, closed, yes)[-1]
    assert (found.kind, found.line) == (FindingKind.TURNED, "error: 12 has a lease")


def test_the_calls_of_the_agent_are_no_orders_to_it() -> None:
    wrong = (
        "./regctl add orders http://f.example; ./regctl check",
        "rejected (rule 7)\nnot done",
        1,
    )
    right = ("./regctl add ORDERS_V1 http://f.example; ./regctl check", "registered\ndone", 0)
    (found,) = session(wrong, right)
    assert not gives_orders(found)
