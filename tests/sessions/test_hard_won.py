"""What is hard-won in a session is found at the call that worked, with what made the difference; usual work is not."""

from collections.abc import Sequence
from typing import Any

import pytest

from mcp_reflect.models.common import Json
from mcp_reflect.models.finding import Finding, FindingKind, SessionCall
from mcp_reflect.sessions.calls import Call
from mcp_reflect.sessions.drafts import form_of
from mcp_reflect.sessions.hard_won import found_after, session_call
from tests.sessions.api_runs import RUNS, ApiRun

Step = tuple[Any, str] | tuple[Any, str, int]


def calls(steps: Sequence[Step]) -> list[SessionCall]:
    """The calls of a session: a command, or (tool, arguments); its answer; and 1 where the host marks it as failed."""
    seen: list[SessionCall] = []
    for number, (what, answer, *failed) in enumerate(steps, start=1):
        sent: tuple[str, Json] = ("Bash", {"command": what}) if isinstance(what, str) else what
        error = answer if failed else ""
        call = Call(
            event_id="", tool=sent[0], arguments=sent[1], answer=answer, answered=True, error=error
        )
        call.marked = bool(failed)
        seen.append(session_call(number, call))
    return seen


def findings(steps: Sequence[Step]) -> list[Finding]:
    """What is found in a session, in order."""
    seen = calls(steps)
    found = (found_after(seen[:place], call) for place, call in enumerate(seen))
    return [finding for finding in found if finding is not None]


def command(call: Json) -> str:
    """The command of a call in a draft."""
    assert isinstance(call, dict)
    arguments = call["arguments"]
    assert isinstance(arguments, dict)
    return str(arguments.get("command"))


PUSH = "./deployctl push billing"
FOUND: dict[str, tuple[list[Step], str, str, str, str]] = {
    # name: (session, wrong call, right call, words of the mistake, words of the correction)
    "another form of an operand": (
        [("./vault get teams/billing", "denied", 1), ("./vault ls", "/teams/"), ("./vault get /teams/billing/", "O")],
        "./vault get teams/billing", "./vault get /teams/billing/", "denied", "`/` in front and `/` at the end",
    ),
    "a flag of a command before the one that failed": (
        [(f"./deployctl index; {PUSH}; ./deployctl check", "41\nerror E42: no candidate for billing\nnot done", 1),
         (f"./deployctl index --rebuild && {PUSH}; ./deployctl check", "index rebuilt\nlive\ndone")],
        "./deployctl index", "./deployctl index --rebuild", "E42", "Add `--rebuild`",
    ),
    "a longer time limit, with both values": (
        [("helm upgrade web ./c --timeout 30s", "Error: UPGRADE FAILED: timed out waiting after 30s", 1),
         ("helm upgrade web ./c --timeout 300s", 'Release "web" has been upgraded.')],
        "helm upgrade web ./c --timeout 30s", "helm upgrade web ./c --timeout 300s", "after 30s", "--timeout",
    ),
    "a search that found nothing": (
        [("./tickets find pay-out", "no tickets"), ("./tickets find pay_out", "TK-311  pay_out fails")],
        "./tickets find pay-out", "./tickets find pay_out", "no tickets", "`pay_out` in place of `pay-out`",
    ),
    "something that had to come first": (
        [(PUSH, "error E42: no candidate for billing", 2), ("./deployctl status", "platform healthy"),
         ("./deployctl index --rebuild", "index rebuilt"), (PUSH, "live")],
        PUSH, f"./deployctl index --rebuild && {PUSH}", "E42", "Run `./deployctl index --rebuild` before",
    ),
    "the same, in one line with what comes next": (
        [(PUSH, "error E42: no candidate for billing", 2), ("./deployctl index --rebuild", "index rebuilt"),
         (f"{PUSH} && ./deployctl check", "live\ndone")],
        PUSH, f"./deployctl index --rebuild && {PUSH}", "E42", "Run `./deployctl index --rebuild` before",
    ),
    "two values that found nothing": (
        [("./dbq rows 2026-03-01 2026-03-31", "0 rows"), ("./dbq schema", "day INTEGER -- Julian day number"),
         ("./dbq rows 2461101 2461131", "217 rows")],
        "./dbq rows 2026-03-01 2026-03-31", "./dbq rows 2461101 2461131", "0 rows", "2461101",
    ),
    "a second try before the first check": (
        [("./mailer send 'Boat' a,b,c,d,e", "queued for 5"), ("./mailer log", "delivered a\ndelivered c"),
         ("./mailer send 'Boat' d,e", "queued for 2"), ("./mailer log; ./mailer check", "delivered e\ndone")],
        "./mailer send Boat a,b,c,d,e", "./mailer send Boat d,e", "delivered c", "`d,e` in place of",
    ),
    "a value that a check refused": (
        [("./thermo set hall 21", "ok"), ("./thermo check", "not done", 1), ("./thermo show", "hall: target 2"),
         ("./thermo set hall 210", "ok"), ("./thermo check", "done")],
        "./thermo set hall 21", "./thermo set hall 210", "not done", "`210` in place of `21`",
    ),
    "the same in one line each": (
        [("./img resize a.png 1200x300 && ./img info a.png && ./img check", "written\na.png: 300 wide\nnot done", 1),
         ("./img resize a.png 300x1200 && ./img check", "written\ndone")],
        "./img resize a.png 1200x300", "./img resize a.png 300x1200", "not done", "`300x1200` in place of",
    ),
    "a value that only its effect shows to be wrong": (
        [("./img resize a.png 1200x300", "written"), ("./img info a.png", "a.png: 300 wide, 1200 high"),
         ("./img resize a.png 300x1200", "written"), ("./img info a.png", "a.png: 1200 wide, 300 high")],
        "./img resize a.png 1200x300", "./img resize a.png 300x1200", "300 wide", "`300x1200` in place of",
    ),
    "something undone and done again": (
        [("./sheet add rent 1250.50", "booked"), ("./sheet add power 89.90", "booked"), ("./sheet total", "134040,00"),
         ("./sheet reset", "empty"), ("./sheet add rent 1250,50", "booked"), ("./sheet add power 89,90", "booked"),
         ("./sheet total", "1340,40")],
        "./sheet add power 89.90", "./sheet add power 89,90", "134040,00", "`89,90` in place of `89.90`",
    ),
    "too many at once": (
        [("./mailer send 'Boat' a,b,c,d,e", "queued for 5 recipients"), ("./mailer check", "not done", 1),
         ("./mailer log", "delivered a\ndelivered b\ndelivered c"), ("./mailer send 'Boat' d,e", "queued for 2"),
         ("./mailer check", "done")],
        "./mailer send Boat a,b,c,d,e", "./mailer send Boat d,e", "not done", "`d,e` in place of",
    ),
    "a program of the virtual environment": (
        [("pytest", "bash: line 1: pytest: command not found", 127), ("ls", "src .venv"),
         ("(source .venv/bin/activate && pytest)", "== 4 passed in 1s ==")],
        "pytest", "source .venv/bin/activate && pytest", "command not found", "Run `source .venv/bin/activate` before",
    ),
    "another program": (
        [("npm install", "npm: command not found", 127), ("pnpm install", "Packages: +11")],
        "npm install", "pnpm install", "command not found", "`pnpm` in place of `npm`",
    ),
    "a deployment that is described and mended": (
        [("kubectl set image deploy/web web=web:2.4.1", "image updated"),
         ("kubectl rollout status deploy/web", "error: manifest unknown", 1),
         ("kubectl set image deploy/web web=web:v2.4.1", "image updated"),
         ("kubectl rollout status deploy/web", "successfully rolled out")],
        "kubectl set image deploy/web web=web:2.4.1", "kubectl set image deploy/web web=web:v2.4.1", "manifest unknown",
        "",
    ),
    "a step that came first, with looks around it": (
        [("./mig up billing", "error: billing needs identity", 1),
         ("./mig up identity; ./mig list; ./mig up billing; ./mig check", "up\nidentity: up\nup\nok")],
        "./mig up billing", "./mig up identity && ./mig up billing", "billing needs identity",
        "Run `./mig up identity` before `./mig up billing`.",
    ),
    "a step that the error names, and not what comes next": (
        [("./mig up identity", "Error: audit is behind", 1), ("./mig list; ./mig check", "audit behind\nbilling ok"),
         ("./mig up audit", "done"), ("./mig up identity; ./mig list; ./mig up billing", "up\naudit: up\nup")],
        "./mig up identity", "./mig up audit && ./mig up identity", "audit is behind",
        "Run `./mig up audit` before `./mig up identity`.",
    ),
    "one of the values that the error lists": (
        [("./tickets rank TK-1 high", "error: rank must be one of P1, P2", 1), ("./tickets rank TK-1 P2", "ranked")],
        "./tickets rank TK-1 high", "./tickets rank TK-1 P2", "one of P1, P2", "`P2` in place of `high`",
    ),
    "a program that asks for a setting": (
        [("./sync orders", "Please set --region, then try again.", 1), ("./sync orders --region eu", "synced")],
        "./sync orders", "./sync orders --region eu", "Please set --region", "Add `--region`.",
    ),
    "a part of a longer line": (
        [("./mig up billing; ./mig list", "error: billing needs identity\nidentity: down", 1),
         ("./mig up identity; ./mig list; ./mig up billing; ./mig list", "up\nidentity: up\nup\nbilling: up")],
        "./mig list", "./mig up identity && ./mig list", "billing needs identity", "Run `./mig up identity` before",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_what_failed_is_found_with_the_part_that_made_the_difference(name: str) -> None:
    steps, wrong, right, mistake, correction = FOUND[name]
    found = findings(steps)
    assert len(found) == 1, found
    draft = found[0].draft
    assert (command(draft.wrong_call), command(draft.right_call)) == (wrong, right)
    assert mistake in draft.mistake
    assert correction in draft.correction


EDIT = ("Edit", {"file_path": "/src/app.py", "old_string": "a", "new_string": "b"})
USUAL: dict[str, list[Step]] = {
    "a probe of the help": [("./pay --help", "usage: see help", 2), ("./pay refund P-1", "refunded")],
    "a guess of a subcommand": [("./pay status", "usage: see help", 2), ("./pay refund P-1", "refunded")],
    "a search of the code without a match": [("grep foo a.py", "", 1), ("grep bar a.py", "12: bar")],
    "a red test that was the task": [("pytest -q", "1 failed in 1s", 1), (EDIT, "updated"), ("pytest -q", "1 passed")],
    "a refusal of the user": [
        ("npm publish", "The user doesn't want to proceed with this tool use.", 1), ("npm publish --dry-run", "ok"),
    ],
    "a permission that was not granted": [
        (("WebSearch", {"query": "a b"}), "Claude requested permissions, but you haven't granted it yet.", 1),
        (("WebSearch", {"query": "a c"}), "1. result"),
    ],
    "a command that the host does not allow": [
        ("ls ~/x", "ls in '~/x' was blocked. For security, Claude Code may only list files in the allowed folders.", 1),
        ("ls src", "app.py"),
    ],
    "a command that nobody approved": [("make deploy", "This command requires approval", 1), ("make", "built")],
    "waiting": [("curl -f x/health", "curl: (7) Failed to connect", 7), ("sleep 5", ""), ("curl -f x/health", "ok")],
    "another page after one that is not there": [
        (("WebFetch", {"url": "https://docs.acme.test/setup"}), "Request failed with status code 404", 1),
        (("WebFetch", {"url": "https://github.test/acme/wiki"}), "# Title"),
    ],
    "another user after one that does not exist": [
        (("get_user", {"id": 5}), "user 5 not found", 1), (("get_user", {"id": 6}), '{"id": 6}'),
    ],
    "other files that are read": [("cat a.txt", "cat: a.txt: No such file or directory", 1), ("cat src/b.txt", "text")],
    "a commit after a commit": [
        ("git commit -m one", "[main 1] one"), ("git status", "clean"), ("git commit -m two", "[main 2] two"),
        ("git status", "clean, ahead by 2"),
    ],
    "a failure that is hidden": [
        ("python manage.py migrate", "OperationalError: connection refused", 1),
        ("python manage.py migrate --fake", "FAKED"),
    ],
    "a look beside the call": [("make", "make: *** [a.o] Error 1", 2), ("ls && make", "a.o\nbuilt")],
    "another service": [
        ("./deploy push search", "live"), ("./deploy status", "2 services"), ("./deploy push billing", "live"),
        ("./deploy logs billing", "started"),
    ],
    "a check that says no": [("./mig list; ./mig check", "billing: up\naudit behind", 1), ("./mig list", "up")],
}  # fmt: skip


@pytest.mark.parametrize("name", USUAL)
def test_nothing_is_found_of_work_as_usual(name: str) -> None:
    assert findings(USUAL[name]) == []


def test_of_many_forms_none_is_told_as_the_one_that_worked() -> None:
    found = findings([
        ("cat TASK.md; ./dbq rows 2026-03-01 2026-03-31; ./dbq rows 2026-03-31 2026-03-31",
         "Count the rows.\n\n0 rows\n0 rows"),
        ("./dbq rows 01.03.2026 31.03.2026; ./dbq rows 20260301 20260331", "0 rows\n" * 2),
        ("for day in 1 2; do ./dbq rows $day $day; done; ./dbq check", "0 rows\n0 rows\nnot done"),
        ("./dbq rows 2461101 2461131; ./dbq rows 1 2; ./dbq save 217; ./dbq check", "217 rows\ndone"),
    ])  # fmt: skip
    told = str([one.draft.correction for one in found])
    assert [word for word in ("01.03.2026", "$day", "Count the rows") if word in told] == []


def test_an_edit_that_its_tool_refused_is_told_with_what_works() -> None:
    refused = "File has not been read yet. Read it first before writing to it."
    steps: list[Step] = [
        (EDIT, refused, 1),
        (("Read", {"file_path": "/src/app.py"}), "a"),
        (EDIT, "updated"),
    ]
    (found,) = findings(steps)
    assert found.form
    assert "Read the file first" in found.draft.correction


def test_a_refused_edit_without_the_name_of_a_file_is_no_argument_in_another_form() -> None:
    tries = [("edit", {"command": f"edit {line}:{line}\nreturn {line}"}) for line in (3, 5)]
    (found,) = findings(
        [(tries[0], "Your proposed edit has introduced new syntax error(s).", 1), (tries[1], "ok")]
    )
    assert found.draft.mistake.startswith("`edit` failed: Your proposed edit")


def test_a_look_that_shows_something_else_above_its_last_line_is_another_answer() -> None:
    shown = "size {}\ndepth 8\nkind png\nname a\n"
    (found,) = findings([
        ("./img resize a.png 10", "ok"), ("./img info a.png", shown.format(10)),
        ("./img resize a.png 10 --scale", "ok"), ("./img info a.png", shown.format(20)),
    ])  # fmt: skip
    assert "--scale" in found.draft.correction


def test_a_finding_of_a_kind_that_older_banks_have_is_read() -> None:
    assert FindingKind("refused") is FindingKind.CORRECTION
    with pytest.raises(ValueError, match="guessed"):
        FindingKind("guessed")


def test_a_check_that_stayed_red_after_an_edit_is_hard_won() -> None:
    check: Step = ("uv run ty check", "error[call-non-callable]: Object is not callable", 1)
    (found,) = findings(
        [
            check,
            (EDIT, "updated"),
            check,
            (EDIT, "updated"),
            ("uv run ty check", "All checks passed!"),
        ]
    )
    assert found.failed == (1, 3)
    assert "failed 2 times: error[call-non-callable]" in found.draft.mistake


def asked(run: ApiRun) -> Finding | None:
    """The finding of a run."""
    found = findings(
        [((run.tool, run.refused), run.error, 1), ((run.tool, run.accepted), run.answer)]
    )
    return found[0] if found else None


@pytest.mark.parametrize("half", ["developed", "aside"])
def test_nine_of_ten_refused_forms_of_an_argument_are_named(half: str) -> None:
    found = [(run, asked(run)) for run in RUNS if run.half == half]
    named = [
        all(f"`{name}`" in told.draft.correction for name in run.differs)
        for run, told in found
        if told
    ]
    assert sum(named) >= 0.9 * len(found)


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.tool)
def test_no_draft_teaches_the_value_of_one_task(run: ApiRun) -> None:
    found = asked(run)
    if found is not None:
        told = f"{found.draft.mistake} {found.draft.correction}"
        assert not [value for value in run.values if len(value) > 3 and value in told]


@pytest.mark.parametrize(
    ("before", "after", "form"),
    [
        ("8812", "ORD-8812", "with `ORD-` in front"),
        (12.5, 1250, None),
        ("open", "OPEN", "in its exact case"),
        ("Thursday", "2026-11-26", "a date as YYYY-MM-DD"),
        ("red,new", ["red", "new"], "as a list"),
        ("main", "dev", None),
    ],
)
def test_the_form_of_a_value_is_told_without_the_value(
    before: Json, after: Json, form: str | None
) -> None:
    assert form_of(before, after) == form


def test_a_v_among_other_words_asks_for_no_help() -> None:
    (found,) = findings(
        [("./deployctl push -v", "error: no token", 1), ("./deployctl push -v --token T", "live")]
    )
    assert "--token" in found.draft.correction
    assert (
        findings([("./deployctl -v", "error: no token", 1), ("./deployctl -v --token T", "4.2")])
        == []
    )
