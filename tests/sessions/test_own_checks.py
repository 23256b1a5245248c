"""What a program's own check tells of the work beside it: `./books check` says "not done", and later "done"."""

from mcp_reflect.models.finding import Finding, FindingKind, FoundCall
from mcp_reflect.moments.asks import MOST_BYTES, ask_again, ask_at_call
from mcp_reflect.services.findings import gives_orders
from mcp_reflect.sessions.calls import Call
from mcp_reflect.sessions.found import facts_of
from mcp_reflect.sessions.noticing import findings_in


def session(*lines: tuple[str, str, int]) -> list[Finding]:
    """The findings in commands of a shell, each with what it printed and its exit code."""
    calls: list[Call] = []
    for place, (command, output, code) in enumerate(lines):
        call = Call(event_id=f"e{place}", tool="Bash", arguments={"command": command}, index=place)
        call.answered, call.answer = True, output
        if code:
            call.marked, call.error = True, f"Exit code {code}\n{output}"
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
    assert found.deciding == FoundCall(
        tool="Bash", arguments={"command": "./svc close 12"}, number=4
    )
    asked = ask_at_call(found)
    assert "said no (call 2), exit code 1: ./svc check" in asked
    assert "in between (call 4): ./svc close 12\nsaid yes (call 5): ./svc check" in asked
    assert "`./svc close 12`" in facts_of(found)
    assert "after `./svc close 12` said yes" in ask_again([found])


def test_of_several_calls_between_both_checks_none_is_named_and_a_repeated_one_is_one() -> None:
    flush, close = ("./svc flush", "ok", 0), ("./svc close 12", "closed", 0)
    assert [one.deciding for one in _svc(flush, close)] == [None]
    (found,) = _svc(flush, flush)
    assert found.deciding is not None


def test_a_long_deciding_call_leaves_the_ask_within_its_bytes() -> None:
    (found,) = _svc((f"./svc close {'x' * 900}", "closed", 0))
    assert len(ask_at_call(found).encode()) <= MOST_BYTES
    assert ask_at_call(found).endswith("doing nothing is fine.")


def test_the_calls_of_the_agent_are_no_orders_to_it() -> None:
    wrong = (
        "./regctl add orders http://f.example; ./regctl check",
        "rejected (rule 7)\nnot done",
        1,
    )
    right = ("./regctl add ORDERS_V1 http://f.example; ./regctl check", "registered\ndone", 0)
    (found,) = session(wrong, right)
    assert not gives_orders(found)
