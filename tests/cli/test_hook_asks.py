"""The command after a call asks for a lesson at the call that worked, where an earlier one failed or fell short."""

from typing import Any

import pytest

from tests.cli.test_hook import Host, host

__all__ = ["host"]  # a fixture

LOOKED_AGAIN = [
    ("./thermo set hall 21", "ok"),
    ("./thermo show", "hall: target 2\nstore: target 15"),
    ("./thermo set hall 210", "ok"),
    ("./thermo show", "hall: target 21\nstore: target 15"),
]
NOTHING_FOUND = [
    ("./dbq rows 2026-03-01 2026-03-31", "0 rows"),
    ("./dbq schema", "day INTEGER -- astronomical Julian day number"),
    ("./dbq rows 2461101 2461131", "217 rows"),
]
SENT_AGAIN = [
    ("./mailer send 'Standup moved' ann,bob,cid,dan,eve", "queued for 5 recipients"),
    ("./mailer log", "delivered ann\ndelivered bob\ndelivered cid"),
    ("./mailer send 'Standup moved' dan,eve", "queued for 2 recipients"),
    ("./mailer log", "delivered ann\ndelivered bob\ndelivered cid\ndelivered dan\ndelivered eve"),
]
SAID_NO = [
    ("./sheet add rent 1250.50", "booked"),
    ("./sheet check", "not done"),
    ("./sheet reset", "empty"),
    ("./sheet add rent 1250,50", "booked"),
    ("./sheet check", "done"),
]
MANY_FORMS = [
    (
        "cat TASK.md; ./dbq rows 2026-03-01 2026-03-31; ./dbq rows 2026-03-31 2026-03-31",
        "Count the rows.\n\n0 rows\n0 rows",
    ),
    (
        "./dbq rows 01.03.2026 31.03.2026; ./dbq rows 20260301 20260331; ./dbq rows 2026/03/01 2026/03/31",
        "0 rows\n" * 3,
    ),
    ("for day in 1 2; do ./dbq rows $day $day; done; ./dbq check", "0 rows\n0 rows\nnot done"),
    (
        "./dbq rows 2461101 2461131; ./dbq rows 2461102 2461131; ./dbq rows 1 2; ./dbq save 217; ./dbq check",
        "217 rows\ndone",
    ),
]
OTHER_WORK = [
    ("./deploy push search", "live"),
    ("./deploy status", "2 services"),
    ("./deploy push billing", "live"),
    ("./deploy logs billing", "started"),
    ("git add a.py", ""),
    ("git commit -m 'one'", "[main 1a2b3c4] one"),
    ("git status", "nothing to commit"),
    ("git commit -am 'two'", "[main 5d6e7f8] two"),
]


def _answers(host: Host, calls: list[tuple[str, str]]) -> list[Any]:
    return [
        host.send(
            "PostToolUse",
            tool_name="Bash",
            tool_input={"command": command},
            tool_response={"stdout": output, "stderr": "", "interrupted": False},
        )
        for command, output in calls
    ]


@pytest.mark.parametrize(
    ("calls", "wrong", "right"),
    [
        (LOOKED_AGAIN, "set hall 21", "set hall 210"),
        (NOTHING_FOUND, "rows 2026-03-01", "rows 2461101"),
        (SENT_AGAIN, "ann,bob,cid,dan,eve", "dan,eve"),
        (SAID_NO, "1250.50", "1250,50"),
    ],
    ids=["looked again", "nothing found", "sent again", "said no"],
)
def test_the_call_that_worked_brings_the_ask(host: Host, calls: list[tuple[str, str]], wrong: str, right: str) -> None:
    *before, last = _answers(host, calls)
    asked = [str(answer) for answer in (*before[-1:], last) if answer is not None]
    assert len(asked) == 1
    assert "store_lesson" in asked[0]
    assert wrong in asked[0]
    assert right in asked[0]
    assert not any(before[:-1])


def test_of_many_forms_none_is_told_as_the_one_that_worked(host: Host) -> None:
    for answer in filter(None, _answers(host, MANY_FORMS)):
        assert "01.03.2026" not in str(answer)
        assert "$day" not in str(answer)
        assert "Count the rows" not in str(answer)


def test_work_that_goes_on_brings_no_ask(host: Host) -> None:
    assert not any(_answers(host, OTHER_WORK))
