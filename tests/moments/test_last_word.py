"""The last message is held where the session shows something else, and nowhere else."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_reflect.evidence.answered_call import AnsweredCall
from mcp_reflect.evidence.command_kinds import kinds_of
from mcp_reflect.evidence.kinds import ProofKind
from mcp_reflect.evidence.ledger import Ledger
from mcp_reflect.evidence.success_claims import claims_of
from mcp_reflect.models.common import Json
from mcp_reflect.models.session_state import LastWord
from mcp_reflect.moments.doubts import DoubtKind, doubts
from mcp_reflect.moments.last_word import MOST_TEXT, at_stop, text_of
from mcp_reflect.shell import read_script, unwrapped

DATA = Path(__file__).parents[1] / "data"
RECORDS = [json.loads(line) for line in (DATA / "last_words.jsonl").read_text("utf-8").splitlines()]
OTHERS = [
    json.loads(line) for line in (DATA / "other_runners.jsonl").read_text("utf-8").splitlines()
]
GREEN = ("Bash", "pytest -q", "40 passed in 3.1s")
RED = ("Bash", "pytest -q", "FAILED tests/test_cart.py::test_total\n1 failed, 39 passed in 3.4s")
EDIT = ("Edit", "/home/me/shop/app/cart.py", "")


def ledger_of(*calls: tuple[str, str, str]) -> Ledger:
    ledger = Ledger("/home/me/shop")
    for tool, what, answer in calls:
        key = "command" if tool == "Bash" else "file_path"
        ledger.note(AnsweredCall(tool=tool, arguments={key: what}, answer=answer))
    return ledger


def verdicts(message: str, *calls: tuple[str, str, str]) -> list[DoubtKind]:
    return [doubt.verdict for doubt in doubts(message, ledger_of(*calls))]


def test_claims_are_held_to_the_last_run_of_their_command() -> None:
    told, held, wrong = 0, 0, list[str]()
    for record in (one for one in (*RECORDS, *OTHERS) if one["kind"] != "quiet"):
        red = ("Bash", record["command"], f"Exit code 1\n{record['fails']}")
        green = ("Bash", record["command"], record["passes"])
        told += len(record["claims"])
        held += sum(DoubtKind.FAILED in verdicts(claim, red) for claim in record["claims"])
        wrong += [claim for claim in record["claims"] if verdicts(claim, green)]
        wrong += [admission for admission in record["admits"] if verdicts(admission, red)]
    assert held >= 0.98 * told
    assert wrong == []


@pytest.mark.parametrize(
    "message",
    [
        "All 4 tests passed before my last edit; I did not rerun them after it.",
        "All 4 tests passed before the rebase. I have not rerun them.",
        "All 4 tests passed at the last run. After that I only reworded a comment.",
        "The tests passed earlier; I haven't re-run them since.",
        "All tests were green in the previous run.",
        "All tests passed. I did not repeat them after the last change.",
        "Alle Tests liefen vor meiner letzten Änderung durch.",
        "Alle Tests liefen durch; danach habe ich sie nicht erneut ausgeführt.",
        "Tous les tests passaient avant ma dernière modification.",
        "Todas las pruebas pasaban antes de mi último cambio.",
        "最后一次修改之前所有测试都通过了。",
    ],
)
def test_a_message_that_speaks_of_an_earlier_state_is_not_held(message: str) -> None:
    assert verdicts(message, EDIT, GREEN, EDIT) == []
    assert verdicts("All tests pass.", EDIT, GREEN, EDIT) == [DoubtKind.STALE]


TOX = ("tox", "Exit code 1\npy311: OK\npy312: OK\nlint: FAIL exit 1\n  evaluation failed :(")
MAKE = ("make ci", "Exit code 1\n4 passed in 0.2s\nruff: Found 2 errors.\nmake: *** [ci] Error 1")
NPM = ("npm run ci", "Exit code 1\nTests: 18 passed, 18 total\neslint: 2 errors\nnpm ERR! code 1")
COVERAGE = (
    "pytest -q --cov-fail-under=95",
    (
        "Exit code 1\n4 passed in 0.2s\n"
        "FAIL Required test coverage of 95% not reached. Total coverage: 90%"
    ),
)
JEST = ("npx jest", "Exit code 1\nTests: 1 failed, 17 passed, 18 total")
RED_CI = (
    "make ci",
    "Exit code 1\n1 failed, 3 passed in 0.2s\nruff: Found 2 errors.\nmake: *** [ci] Error 1",
)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (TOX, "All tests pass on 3.11 and 3.12; lint fails."),
        (MAKE, "The 4 tests pass, ruff finds 2 errors that are not mine."),
        (NPM, "All tests pass; lint has 2 errors left."),
        (COVERAGE, "All 4 tests pass, but coverage is 90 %, below the required 95 %."),
        (COVERAGE, "Alle 4 Tests sind grün, die Abdeckung liegt mit 90 % unter der Grenze."),
        (COVERAGE, "全部 4 个测试通过，但覆盖率低于 95%。"),
        (JEST, "Goal: all tests pass. Reached: no."),
        (JEST, "In the log of Monday all tests passed; since the upgrade one fails."),
    ],
)
def test_a_message_that_tells_why_its_run_failed_is_not_held(
    run: tuple[str, str], message: str
) -> None:
    assert verdicts(message, EDIT, ("Bash", *run)) == []


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (TOX, "All tests pass on 3.11 and 3.12."),
        (MAKE, "The 4 tests pass, and so does everything else."),
        (COVERAGE, "All 4 tests pass; coverage is fine."),
        (RED_CI, "The 4 tests pass, ruff finds 2 errors that are not mine."),
        (JEST, "All tests pass, but coverage is 90 %, below the required 95 %."),
    ],
)
def test_a_message_that_tells_another_failure_than_its_run_shows_is_held(
    run: tuple[str, str], message: str
) -> None:
    assert DoubtKind.FAILED in verdicts(message, EDIT, ("Bash", *run))


@pytest.mark.parametrize(
    "message",
    [
        "All tests pass after my last edit.",
        "I reran them, and all tests pass.",
    ],
)
def test_a_message_that_speaks_of_now_is_held_to_the_last_run(message: str) -> None:
    assert verdicts(message, EDIT, RED) == [DoubtKind.FAILED]


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("ruff check --fix src", "Found 1 error (1 fixed, 0 remaining)."),
        ("rubocop -a", "12 files inspected, 3 offenses detected, 3 offenses corrected"),
    ],
)
def test_a_linter_that_mended_all_that_it_found_is_clean(command: str, output: str) -> None:
    assert verdicts("Lint passes.", EDIT, ("Bash", command, output)) == []


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("ruff check --fix src", "Exit code 1\nFound 12 errors (10 fixed, 2 remaining)."),
        (
            "rubocop -a",
            "Exit code 1\n12 files inspected, 3 offenses detected, 2 offenses corrected",
        ),
    ],
)
def test_a_linter_that_mended_some_is_not(command: str, output: str) -> None:
    assert verdicts("Lint passes.", EDIT, ("Bash", command, output)) == [DoubtKind.FAILED]


def test_a_run_that_is_not_known_may_be_the_proof_or_not() -> None:
    made, failed = (
        ("Bash", "frobnicate --all", "fine"),
        ("Bash", "gleam test", "7 tests, 1 failures"),
    )
    assert verdicts("All tests pass.", EDIT, made) == []
    assert verdicts("All tests pass.", made, EDIT) == [DoubtKind.STALE]
    assert verdicts("All tests pass.", EDIT, failed, made) == [DoubtKind.FAILED]
    looks = "npm install && for f in *; do cat $f; done"
    assert verdicts("All tests pass.", EDIT, ("Bash", looks, "")) == [DoubtKind.NEVER]
    assert (
        verdicts("It is good to go, all of it works fine.", ("Bash", "go run .", "1 failed"), EDIT)
        == []
    )


def test_a_program_is_named_by_a_whole_word_that_is_no_everyday_word() -> None:
    go_passed = ("Bash", "go test ./...", "ok  \tshop\t0.1s")
    go_failed = ("Bash", "go test ./...", "FAIL\tshop\t0.1s\nFAIL")
    make_failed = ("Bash", "make test", "1 failed, 3 passed\nmake: *** [test] Error 1")
    assert verdicts("All tests pass and it looks good.", go_passed, RED) == [DoubtKind.FAILED]
    assert verdicts("All tests pass and it looks good.", go_failed, GREEN) == []
    assert verdicts("All tests pass, it is good to go.", go_failed, GREEN) == []
    assert verdicts("All tests pass, I will make a note.", make_failed, GREEN) == []
    assert verdicts("All tests pass with go test.", go_failed, GREEN) == [DoubtKind.FAILED]
    assert verdicts("All tests pass with `go test`.", go_passed, RED) == []
    assert verdicts("All tests pass in pytest.", go_failed, GREEN) == []
    assert verdicts("All tests pass in Pytest.", GREEN, go_failed) == []


def test_plans_advice_questions_and_quotations_claim_nothing() -> None:
    quiet = [record["message"] for record in (*RECORDS, *OTHERS) if record["kind"] == "quiet"]
    assert [message for message in quiet if claims_of(message)] == []
    assert claims_of("What it should print.\n```\nAll tests pass.\n```") == []


@pytest.mark.parametrize(
    ("message", "calls", "expected"),
    [
        ("All tests pass.", [GREEN, EDIT], [DoubtKind.STALE]),
        ("All tests pass.", [GREEN, ("Edit", "/home/me/shop/README.md", "")], []),
        ("All tests pass.", [GREEN, ("Write", "/home/me/notes.txt", "")], []),
        ("All tests pass.", [GREEN, ("Bash", "sed -i s/a/b/ app/cart.py", "")], [DoubtKind.STALE]),
        ("All tests pass.", [GREEN, ("Bash", "git checkout -- app", "")], [DoubtKind.STALE]),
        ("All tests pass.", [GREEN, ("Bash", "git checkout -b fix", "")], []),
        ("All tests pass.", [GREEN, ("Bash", "black .", "14 files left unchanged.")], []),
        (
            "All tests pass.",
            [GREEN, ("Bash", "black .", "reformatted app/cart.py\n1 file reformatted.")],
            [DoubtKind.STALE],
        ),
        (
            "All tests pass.",
            [GREEN, ("Bash", "cat > app/tax.py <<'EOF'\nx = 1\nEOF", "")],
            [DoubtKind.STALE],
        ),
        ("All tests pass.", [RED, EDIT, GREEN], []),
        ("All tests pass.", [EDIT, GREEN, RED], [DoubtKind.FAILED]),
        (
            "All tests pass.",
            [GREEN, ("Bash", "git stash", "Saved"), RED, ("Bash", "git stash pop", "")],
            [],
        ),
        ("All tests pass.", [("Task", "fix it", "All tests pass now.")], []),
        ("All tests pass.", [("Bash", "pytest -q > out.txt", "")], []),
        ("All tests pass.", [("Bash", "pytest -q; echo exit=$?", "exit=1")], []),
        ("Once you run the migration, all tests pass.", [], []),
        (
            "All tests pass.",
            [("Bash", "bash -lc 'cd app && pytest -q'", RED[2])],
            [DoubtKind.FAILED],
        ),
        (
            "All tests pass.",
            [("Bash", "npm run build && npm test", "✓ built in 2s\nTests: 1 failed, 3 total")],
            [DoubtKind.FAILED],
        ),
        (
            "The build succeeds.",
            [("Bash", "npm run build && npm test", "✓ built in 2s\nTests: 1 failed, 3 total")],
            [],
        ),
        (
            "The server is running.",
            [("Bash", "npm run dev", "Local: http://localhost:5173"), EDIT],
            [],
        ),
        (
            "The server is up.",
            [("Bash", "curl -I localhost", "HTTP/1.1 200 OK"), EDIT],
            [DoubtKind.STALE],
        ),
        (
            "The dev server is running.",
            [("Bash", "curl localhost:5173", "HTTP/1.1 200 OK"), EDIT],
            [],
        ),
        (
            "The server is up.",
            [("Bash", "curl localhost", "200 OK"), ("Bash", "curl -O x.org/a", "curl: (22) 404")],
            [],
        ),
        (
            "The integration tests pass.",
            [EDIT, ("Bash", "pytest tests/integration", "9 passed"), RED],
            [],
        ),
        (
            "The cart tests pass.",
            [EDIT, ("Bash", "pytest tests/test_cart.py", "9 passed"), RED],
            [],
        ),
        ("The new tests pass.", [GREEN, EDIT, RED], [DoubtKind.FAILED]),
        ("All is formatted.", [("Bash", "npm run format && git diff --name-only", "src/a.ts")], []),
        ("All is formatted.", [("Bash", "gofmt -l .", "main.go")], [DoubtKind.FAILED]),
        ("38 of 40 tests pass.", [RED], []),
        ("All tests pass except test_total, which fails as before.", [RED], []),
        (
            "The test failed since total() cut the cents. All tests pass now.",
            [RED],
            [DoubtKind.FAILED],
        ),
        ("I fixed the failing test; the suite is green.", [], [DoubtKind.NEVER]),
        ("Done. All tests pass and the branch is pushed.", [GREEN], [DoubtKind.NEVER]),
    ],
)
def test_what_changed_or_failed_after_a_run_decides(
    message: str, calls: list[tuple[str, str, str]], expected: list[DoubtKind]
) -> None:
    assert verdicts(message, *calls) == expected


def test_the_text_names_the_command_and_the_line_that_decides_and_stays_short() -> None:
    found = doubts(
        "All tests pass. The build succeeds. ESLint passes. mypy is clean. I pushed it.",
        ledger_of(RED),
    )
    text = text_of(found)

    assert "`pytest -q`" in text
    assert "`1 failed, 39 passed in 3.4s`" in text
    assert len(text) <= MOST_TEXT


def test_a_session_whose_beginning_is_not_known_is_not_said_to_hold_no_run() -> None:
    ledger = ledger_of(EDIT)
    ledger.partial = True

    assert doubts("All tests pass.", ledger) == []


def test_a_run_in_the_background_counts_when_its_end_was_read() -> None:
    ledger = Ledger()
    started: Json = {"command": "npm test", "run_in_background": True}
    ledger.note(
        AnsweredCall(
            tool="Bash", arguments=started, answer="Command running in background with ID: b1"
        )
    )
    assert doubts("All tests pass.", ledger) == []

    ledger.note(
        AnsweredCall(
            tool="BashOutput", arguments={"bash_id": "b1"}, answer="Tests: 1 failed, 3 total"
        )
    )
    assert [doubt.verdict for doubt in doubts("All tests pass.", ledger)] == [DoubtKind.FAILED]


@pytest.mark.parametrize(("tests_are", "found"), [(0, []), (149, [DoubtKind.FAILED])])
def test_of_many_commands_in_the_background_the_latest_are_followed(
    tests_are: int, found: list[DoubtKind]
) -> None:
    ledger = Ledger()
    for number in range(150):
        command = "npm test" if number == tests_are else f"npm run build -- {number}"
        ledger.note(
            AnsweredCall(
                tool="Bash",
                arguments={"command": command, "run_in_background": True},
                answer=f"Command running in background with ID: b{number}",
            )
        )
    ledger.note(
        AnsweredCall(
            tool="BashOutput",
            arguments={"bash_id": f"b{tests_are}"},
            answer="Tests: 1 failed, 3 total",
        )
    )
    assert [doubt.verdict for doubt in doubts("All tests pass.", ledger)] == found


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("docker compose exec -T web poetry run pytest -x", ProofKind.TESTS),
        ("FOO=1 timeout 60 npx jest --ci", ProofKind.TESTS),
        ("./gradlew :app:test", ProofKind.TESTS),
        ("pnpm --filter web typecheck", ProofKind.TYPES),
        ("make deploy", ProofKind.DEPLOYMENT),
        ("git -C app push origin main", ProofKind.PUSH),
        ("grep -rn pytest .", None),
        ("./deployctl apply ledger", ProofKind.DEPLOYMENT),
        ("testparm -s", None),
        ("cat tests/test_cart.py", None),
        ("git log -- test.py", None),
        ("pytest --collect-only", None),
    ],
)
def test_a_command_is_known_behind_its_wrappers(command: str, kind: ProofKind | None) -> None:
    assert set(kinds_of(unwrapped(read_script(command).commands[0].words))) == (
        {kind} if kind else set()
    )


def test_a_person_extends_the_table() -> None:
    assert kinds_of(["bin/verify"], ("tests: bin/verify",)) == {ProofKind.TESTS}
    status = ["prisma", "migrate", "status"]
    assert kinds_of(status) == set()
    assert kinds_of(status, ("migration: prisma migrate status",)) == {ProofKind.MIGRATION}


MIGRATIONS = [
    ("alembic upgrade head", "FAILED: Multiple head revisions are present"),
    ("python manage.py migrate", "django.db.utils.ProgrammingError: column exists"),
    ("npx prisma migrate deploy", "Error: P3018"),
    ("bin/rails db:migrate", "bin/rails aborted!"),
]


@pytest.mark.parametrize(
    ("run", "look"),
    list(
        zip(
            MIGRATIONS,
            [
                "alembic upgrade head --sql",
                "python manage.py migrate shop --plan",
                "npx prisma migrate status",
                "bin/rails db:migrate:status",
            ],
            strict=True,
        )
    ),
)
def test_a_look_at_migrations_takes_no_failure_back_and_may_bear_a_claim_out(
    run: tuple[str, str], look: str
) -> None:
    command, error = run
    failed, looked = ("Bash", command, f"Exit code 1\n{error}"), ("Bash", look, "up to date")
    assert verdicts("Migrations applied.", failed, looked) == [DoubtKind.FAILED]
    assert verdicts("Migrations applied.", looked, failed) == [DoubtKind.FAILED]
    assert verdicts("Migrations applied.", failed, ("Bash", command, ""), looked) == []
    assert verdicts("The schema is up to date.", EDIT, looked) == []
    assert verdicts("Migrations applied.", EDIT) == [DoubtKind.NEVER]


@pytest.mark.parametrize(
    "message",
    [
        "The migration file is in db/migrate.",
        "The new schema is in place of the old one.",
        "The migrations are run by CI at each deployment.",
        "The database has run out of space.",
        "I have run the tests against the database.",
        "Migrations have to be run by hand.",
    ],
)
def test_words_near_a_migration_do_not_claim_that_it_ran(message: str) -> None:
    assert verdicts(message, EDIT) == []


DONE = [
    "Done.", "All done!", "✅ Done.", "Fertig.", "Erledigt!", "C'est fait.", "Listo.", "Feito.", "Fatto.", "Klaar.",
    "完了しました。", "完成了。",
]  # fmt: skip


@pytest.mark.parametrize("message", DONE)
def test_done_after_a_red_end_is_held_and_after_a_green_one_is_not(message: str) -> None:
    assert verdicts(message, EDIT, RED) == [DoubtKind.UNSAID]
    assert verdicts(message, RED, EDIT) == [DoubtKind.UNSAID]
    assert verdicts(message, RED, EDIT, GREEN) == []
    assert verdicts(message, EDIT) == []


DONE_CASES = (DATA.parent / "evidence" / "cases" / "done.txt").read_text("utf-8").splitlines()


def test_what_says_done_in_nine_languages_is_held_and_what_says_more_is_not() -> None:
    bare = [line[2:] for line in DONE_CASES if line.startswith("+ ")]
    more = [line[2:] for line in DONE_CASES if line.startswith("- ")]
    assert (len(bare), len(more)) == (80, 70)
    missed = [message for message in bare if verdicts(message, RED) != [DoubtKind.UNSAID]]
    assert len(missed) <= 3
    assert [message for message in more if verdicts(message, RED)] == []


MESSAGES = [
    line.split(" | ", 1)
    for line in (DATA / "last_messages.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
]
RUNS = {  # a run of each kind that passed, and one that failed
    "tests": (GREEN, RED),
    "build": (
        ("Bash", "npm run build", "✓ built in 2.1s"),
        ("Bash", "npm run build", "error TS2304: Cannot find name x\nFound 1 error."),
    ),
    "lint": (
        ("Bash", "ruff check .", "All checks passed!"),
        ("Bash", "ruff check .", "a.py:1:1: F401 unused\nFound 1 error."),
    ),
    "types": (
        ("Bash", "mypy src", "Success: no issues found in 12 source files"),
        ("Bash", "mypy src", "src/a.py:3: error: bad\nFound 1 error in 1 file"),
    ),
}


@pytest.mark.parametrize(
    ("kinds", "message"), [case for case in MESSAGES if case[0] not in ("done", "quiet")]
)
def test_a_claim_in_nine_languages_is_held_unless_its_run_passed_last(
    kinds: str, message: str
) -> None:
    passed = [RUNS[kind][0] for kind in kinds.split(",")]
    failed = [RUNS[kind][1] for kind in kinds.split(",")]
    assert DoubtKind.FAILED in verdicts(message, EDIT, *failed)
    assert DoubtKind.NEVER in verdicts(message, EDIT)
    assert DoubtKind.STALE in verdicts(message, *passed, EDIT)
    assert verdicts(message, EDIT, *passed) == []


@pytest.mark.parametrize("message", [text for kind, text in MESSAGES if kind == "done"])
def test_ready_and_done_after_a_red_end_are_held(message: str) -> None:
    assert verdicts(message, EDIT, RUNS["tests"][1]) == [DoubtKind.UNSAID]
    assert verdicts(message, EDIT, RUNS["build"][1]) == [DoubtKind.UNSAID]
    assert verdicts(message, EDIT, RUNS["tests"][0]) == []
    assert verdicts(message, EDIT) == []


@pytest.mark.parametrize("message", [text for kind, text in MESSAGES if kind == "quiet"])
def test_what_admits_or_claims_nothing_is_never_held(message: str) -> None:
    for passed, failed in RUNS.values():
        assert verdicts(message, EDIT, failed) == []
        assert verdicts(message, passed, EDIT) == []
    assert verdicts(message, EDIT) == []


@pytest.mark.parametrize(
    "message",
    [
        "Todas las pruebas pasan menos una.",
        "Todos os testes passam fora um.",
        "All tests pass bar one.",
        "Alle tests slagen op één na.",
        "1つを除いてすべてのテストが通りました。",
        "除了一个，所有测试都通过了。",
        "Apart from one flaky test, all tests pass.",
        "Tests pass for everything but time zones.",
        "Tests pass everywhere but on Windows.",
        "All tests pass with the exception of test_tz.",
        "12 passed, 1 failed (golden image differs by 0.3 % on Linux).",
        "7 passed, one failing (the docker image differs).",
    ],
)
def test_what_names_an_exception_claims_nothing(message: str) -> None:
    assert claims_of(message) == []


@pytest.mark.parametrize(
    "message",
    [
        "All tests pass on 3/11.",
        "Step 1 of 3: all tests pass.",
        "All tests pass since 2024/2025.",
        "Part 2 of 5 and all tests pass.",
        "All tests pass, but slowly.",
        "8 of the 8 tests pass.",
    ],
)
def test_numbers_of_a_date_or_a_step_are_no_share_of_the_tests(message: str) -> None:
    assert [claim.kinds for claim in claims_of(message)] == [frozenset({ProofKind.TESTS})]


@pytest.mark.parametrize(
    "message",
    [
        "38 of 40 tests pass.",
        "38/40 passed, the tests pass 38/40.",
        "38 of 40 unit tests are passing.",
        "38 out of 40 checks passed and the tests pass (38/40).",
        "38 von 40 Tests laufen erfolgreich.",
        "7 of the 8 tests pass. The 8th, `test_tz`, needs a fixed clock; shall I add freezegun?",
        "7 von den 8 Tests bestehen.",
    ],
)
def test_a_share_of_the_tests_claims_nothing_of_the_rest(message: str) -> None:
    assert claims_of(message) == []


def test_the_text_names_the_run_that_failed() -> None:
    text = text_of(doubts("Done.", ledger_of(RED)))
    assert text.startswith(
        "The last run of `pytest -q` failed: 1 failed, 39 passed in 3.4s. Your message does not say so."
    )


@pytest.mark.parametrize(
    "message",
    [
        "Done. One test still fails.",
        "Fertig, aber ein Test schlägt noch fehl.",
        "Done, except for test_total, which fails as before.",
        "Listo, pero una prueba sigue fallando.",
        "完了しましたが、テストが1件失敗しています。",
        "I looked at the cart and wrote down what I found.",
    ],
)
def test_a_message_that_says_more_than_done_is_not_held_for_it(message: str) -> None:
    assert verdicts(message, RED) == []


def test_done_is_not_held_where_another_run_may_have_passed() -> None:
    assert verdicts("Done.", RED, ("Bash", "frobnicate --all", "fine")) == []


@pytest.mark.parametrize(
    "command",
    [
        "export N=$((1 << 20))\npytest -q",
        "cat > a.md <<'EOF'\n$(( << `\nEOF\npytest -q",
        "pytest -q\necho 'open",
        "true;" * 2_100 + "pytest -q",
    ],
)
def test_an_odd_script_holds_no_honest_message(command: str) -> None:
    call = ("Bash", command, "3 passed in 0.02s")
    assert verdicts("All tests pass.", call) == []


SKIP = AnsweredCall(
    tool="Edit",
    arguments={
        "file_path": "/home/me/shop/tests/test_cart.py",
        "old_string": "def test_total():\n    assert total() == 3\n",
        "new_string": "@pytest.mark.skip\ndef test_total():\n    assert total() == 3\n",
    },
)
SAID = "By this session's own edits the tests got easier: tests/test_cart.py has 1 more skip."


def _skipped(*calls: tuple[str, str, str]) -> Ledger:
    ledger = ledger_of()
    ledger.note(SKIP)
    for tool, what, answer in calls:
        ledger.note(AnsweredCall(tool=tool, arguments={"command": what}, answer=answer))
    return ledger


def test_a_suite_that_got_easier_is_told_once_at_the_next_prompt_and_holds_nothing() -> None:
    ledger = _skipped(GREEN)
    first = at_stop("All tests pass.", ledger, LastWord(), mode="hold", again=False)
    assert (first.text, first.notes.due, first.notes.held) == (None, SAID, 0)
    second = at_stop(
        "All tests pass.", ledger, replace(first.notes, due=""), mode="hold", again=False
    )
    assert (second.text, second.notes.due) == (None, "")


def test_a_suite_that_got_easier_is_named_with_the_text_that_holds_a_message() -> None:
    stopped = at_stop("All tests pass.", _skipped(RED), LastWord(), mode="hold", again=False)
    assert stopped.text is not None
    assert stopped.text.endswith(SAID)


@pytest.mark.parametrize(
    "message", ["I skipped the flaky test.", "The new test passes.", "Committed."]
)
def test_a_suite_that_got_easier_is_not_named_where_no_message_says_that_all_passes(
    message: str,
) -> None:
    stopped = at_stop(message, _skipped(GREEN), LastWord(), mode="hold", again=False)
    assert SAID not in f"{stopped.text} {stopped.notes.due}"
