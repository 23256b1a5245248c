"""What a program's own check tells of the work beside it: `./books check` says "not done", and later "done"."""

from mcp_reflect.models.finding import Finding, FindingKind
from mcp_reflect.services.findings import gives_orders
from mcp_reflect.sessions.calls import Call
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


def test_the_calls_of_the_agent_are_no_orders_to_it() -> None:
    wrong = (
        "./regctl add orders http://f.example; ./regctl check",
        "rejected (rule 7)\nnot done",
        1,
    )
    right = ("./regctl add ORDERS_V1 http://f.example; ./regctl check", "registered\ndone", 0)
    (found,) = session(wrong, right)
    assert not gives_orders(found)
