"""`replay`: past sessions of three hosts with today's lessons, where each would have spoken and what came next."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import Command
from tests.sessions import past_home
from tests.sessions.past_home import FAILS, WORKS, claude, codex, gemini, worked_days_ago

MIGRATE = {
    "mistake": "`make test` failed: database is not migrated",
    "correction": "Run `make migrate` before `make test`",
    "wrong": "make test",
    "right": "make migrate",
}
PUSH = ("runs", "git push --force", "Everything up-to-date")


class Home:
    """A home with sessions, and the command in a project of it."""

    def __init__(self, command: Command, folder: Path) -> None:
        self.command = command
        self.folder = folder
        self.project = folder / "shop"
        self.project.mkdir()

    def add(self, mistake: str, correction: str, *words: str) -> str:
        """Add a lesson as a person; return its id."""
        told = ("--mistake", mistake, "--correction", correction, *words)
        return self.command.json("lessons", "add", *told)["lesson_id"]

    def replay(self, *words: str) -> dict[str, Any]:
        """What `replay` finds."""
        return json.loads(self.command("replay", "--json", *words))


@pytest.fixture
def home(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.delenv("MCP_REFLECT_PROJECT")
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    made = Home(command, tmp_path)
    monkeypatch.chdir(made.project)
    return made


def add_migrate(home: Home) -> str:
    return home.add(
        MIGRATE["mistake"],
        MIGRATE["correction"],
        *("--wrong-call", MIGRATE["wrong"], "--right-call", MIGRATE["right"]),
    )


def test_a_lesson_that_would_have_come_before_its_failure_would_have_helped_in_each_host(
    home: Home,
) -> None:
    asks = ("says", "Run make test, and migrate the database if it must be")
    for write in (claude, codex, gemini):
        write(home.folder, home.project, f"of-{write.__name__}", [asks, FAILS, *WORKS])
    lesson_id = add_migrate(home)
    found = home.replay()
    assert found["sessions"] == 3
    assert (found["prompts"], found["calls"]) == (3, 9)
    at_prompts = [one for one in found["moments"] if one["trigger"] == "prompt"]
    assert {one["host"] for one in at_prompts} == {"claude-code", "codex", "gemini"}
    for one in at_prompts:
        assert one["lesson_id"] == lesson_id
        assert (one["next"], one["verdict"]) == ("the same failure", "would have helped")
        assert "database is not migrated" in one["fact"]
        assert one["minutes"] is not None


def test_a_guard_that_would_have_refused_a_call_that_worked_is_counted_so(home: Home) -> None:
    claude(home.folder, home.project, "a", [("says", "Publish it"), PUSH])
    lesson_id = home.add("Pushed by force", "Never", "--guard", "Bash: `git push` with `--force`")
    found = home.replay()
    [moment] = found["moments"]
    assert (moment["trigger"], moment["holds"], moment["line"]) == ("call", True, 4)
    assert moment["verdict"] == "would have refused a call that worked"
    assert found["sums"] == {
        "helped": 0,
        "noise": 0,
        "refused a call that worked": 1,
        "cannot be told": 0,
    }
    assert home.command("lessons", "guard", lesson_id).splitlines()[-1] == (
        "Lessons and guards that are on would have: "
        "helped 0, noise 0, refused a call that worked 1, cannot be told 0."
    )
    home.command.by_person("lessons", "guard", lesson_id, "tell")
    assert home.replay()["sums"]["noise"] == 1


def test_a_guard_that_is_off_is_tried_and_counts_for_nothing(home: Home) -> None:
    claude(home.folder, home.project, "a", [("says", "Publish it"), PUSH])
    lesson_id = home.add("Pushed by force", "Never", "--guard", "Bash: `git push` with `--force`")
    home.command.by_person("lessons", "guard", lesson_id, "off")
    found = home.replay()
    assert [one["armed"] for one in found["moments"]] == [False]
    assert sum(found["sums"].values()) == 0
    assert "its guard is off" in home.command("replay")


def test_a_lesson_beside_the_point_is_noise(home: Home) -> None:
    asks = ("says", "Migrate the database, then run make test twice")
    steps = [asks, ("runs", "make test", "42 passed in 1s")]
    claude(home.folder, home.project, "a", steps)
    add_migrate(home)
    [moment] = home.replay()["moments"]
    assert (moment["next"], moment["verdict"]) == ("neither", "would have been noise")


def test_replay_changes_nothing_and_says_it_where_nothing_would_have_spoken(home: Home) -> None:
    claude(home.folder, home.project, "a", [("says", "Draw a chart"), ("runs", "ls", "README")])
    add_migrate(home)
    before = home.command("stats", "--json")
    assert "No lesson of this project would have spoken" in home.command("replay")
    assert home.command("stats", "--json") == before


def sum_of(home: Home, lesson_id: str, *words: str) -> str:
    """The last line of a lesson."""
    return next(
        one["sum"] for one in home.replay(*words)["lessons"] if one["lesson_id"] == lesson_id
    )


def test_lessons_that_would_not_have_spoken_are_listed_with_what_came_of_them(home: Home) -> None:
    claude(home.folder, home.project, "a", [("says", "Draw a chart"), FAILS, *WORKS])
    silent = add_migrate(home)
    calls = ("--wrong-call", "terraform apply", "--right-call", "terraform apply -lock=false")
    never = home.add("The state is locked", "Apply without a lock", *calls)
    rule = home.add("Wrote a message without a ticket", "Name the ticket in each message")
    found = home.replay()
    assert found["lessons"][0]["lesson_id"] == silent
    assert "its failure came once in 1 session, 1 of them where it had not spoken before" in sum_of(
        home, silent
    )
    assert "database is not migrated" in sum_of(home, silent)
    assert sum_of(home, never).startswith("never met")
    assert "it names no call" in sum_of(home, rule)
    text = home.command("replay")
    assert "= never met in 1 session: no prompt brings it, and none of its calls was made" in text


def test_a_lesson_whose_own_call_fails_says_so(home: Home) -> None:
    fast = ("runs", "make test-fast", "Exit code 2\nNo rule to make target 'test-fast'")
    claude(home.folder, home.project, "a", [("says", "Are the tests green?"), fast, fast])
    calls = ("--wrong-call", "make test-slow", "--right-call", "make test-fast")
    lesson_id = home.add("The slow tests took minutes", "Run the fast ones", *calls)
    assert "what it says to do failed 2 of 2 times" in sum_of(home, lesson_id)
    assert "No rule to make target" in sum_of(home, lesson_id)


def test_a_lesson_whose_failure_is_over_says_how_often_its_call_worked_since(home: Home) -> None:
    build = ("runs", "node build.js", "Exit code 1\ndigital envelope routines unsupported")
    cured = ("runs", "node --openssl-legacy-provider build.js", "built")
    claude(home.folder, home.project, "old", [("says", "Draw a chart"), build, cured])
    later = [
        ("says", "Draw another"),
        ("runs", "ls", "a"),
        *[("runs", "node build.js", "built")] * 3,
    ]
    claude(home.folder, home.project, "later", later)
    lesson_id = home.add(
        "node build.js failed: digital envelope routines unsupported",
        "Run it with the legacy provider",
        *("--wrong-call", "node build.js", "--right-call", cured[1]),
    )
    assert "worked 3 times in sessions since" in sum_of(home, lesson_id)


def test_a_call_without_the_variables_of_the_right_one_does_not_do_as_the_lesson_says(
    home: Home,
) -> None:
    rounded = ("runs", "report prices", "Exit code 1\nprices were rounded: LC_NUMERIC is not set")
    cures = ("LC_NUMERIC=C report prices", "export LC_NUMERIC=C; report prices")
    steps = [("says", "Draw a chart"), rounded, *(("runs", one, "wrote it") for one in cures)]
    claude(home.folder, home.project, "a", steps)
    calls = ("--wrong-call", "report prices", "--right-call", cures[0])
    lesson_id = home.add("Prices were rounded: LC_NUMERIC is not set", "Set it", *calls)
    [lesson] = [one for one in home.replay()["lessons"] if one["lesson_id"] == lesson_id]
    assert (lesson["against"], lesson["against_failed"]) == (1, 1)
    assert (lesson["followed"], lesson["followed_failed"]) == (2, 0)


def test_a_rule_that_names_no_call_is_no_noise_at_a_prompt(home: Home) -> None:
    asks = ("says", "Write the commit message of the migration of the tables")
    claude(home.folder, home.project, "a", [asks, ("runs", "ls", "README")])
    home.add("The commit message of the migration named no tables", "Name the tables in it")
    (moment,) = home.replay()["moments"]
    assert moment["verdict"] == "cannot be told"
    assert home.replay()["sums"]["noise"] == 0


def test_days_go_by_what_sessions_tell_and_not_by_the_time_of_their_files(home: Home) -> None:
    asks = ("says", "Run make test please")
    written = claude(home.folder, home.project, "old", [asks, FAILS, *WORKS])
    worked_days_ago(codex(home.folder, home.project, "new", [asks, FAILS, *WORKS]), 3)
    worked_days_ago(written, 2_500)
    for file in home.folder.rglob("*.jsonl"):
        os.utime(file, (0, 0))
    add_migrate(home)
    assert home.replay("--days", "7")["sessions"] == 1
    assert home.replay("--days", "9999")["sessions"] == 2


def test_one_session_and_sessions_of_some_days_are_replayed_alone(home: Home) -> None:
    asks = ("says", "Run make test please")
    first = claude(home.folder, home.project, "first", [asks, FAILS, *WORKS])
    claude(home.folder, home.project, "second", [asks, FAILS, *WORKS])
    add_migrate(home)
    assert home.replay("--session", "second")["sessions"] == 1
    home.command("replay", "--session", "econd", code=2)
    assert home.replay("--session", str(first))["sessions"] == 1
    assert home.replay("--days", "0")["sessions"] == 0
    assert home.replay("--days", "9999")["sessions"] == 2


def test_sessions_of_other_projects_and_files_that_cannot_be_read_are_left_out(home: Home) -> None:
    claude(home.folder, home.folder / "other", "other", [("says", "Run make test"), FAILS])
    damaged = claude(home.folder, home.project, "damaged", [("says", "Run make test"), FAILS])
    with damaged.open("ab") as file:
        file.write(b'{"type": "user", "message": \xff\n[[[\n')
    add_migrate(home)
    found = home.replay()
    assert found["sessions"] == 1
    assert [fault["file"] for fault in found["faults"]] == [str(damaged)]


def test_a_home_of_thirty_sessions_reads_as_a_list_of_lessons_with_their_moments(
    home: Home,
) -> None:
    past_home.thirty(home.folder, home.project)
    add_migrate(home)
    home.add("Installed with npm", "Use pnpm here", "--guard", "Bash: `npm`")
    text = home.command("replay")
    lines = text.splitlines()
    assert lines[0].startswith("les_")
    assert "  = spoke 3 times: 3 before the same failure" in text
    assert "its failure came 6 times in 6 sessions, 6 of them where it had not spoken" in text
    assert "30 sessions" in text
    assert "next: the same failure" in text
    assert lines[-1].startswith("Lessons and guards that are on would have: helped")


def test_a_call_against_a_guard_that_failed_for_another_reason_is_no_help(home: Home) -> None:
    refused = ("runs", "npm install", "Exit code 1\nEACCES: permission denied")
    claude(home.folder, home.project, "a", [("says", "Set it up"), refused])
    home.add("Lost the lock file", "Use pnpm here", "--guard", "Bash: `npm`")
    (moment,) = home.replay()["moments"]
    assert (moment["next"], moment["verdict"]) == ("neither", "would have been noise")


def test_secrets_of_a_past_session_are_not_shown(home: Home) -> None:
    secret = "ghp_" + "a1B2" * 9
    steps = [("says", "Publish"), ("runs", f"git push --force https://x:{secret}@host/r", "ok")]
    claude(home.folder, home.project, "a", steps)
    home.add("Pushed by force", "Never", "--guard", "Bash: `git push` with `--force`")
    found = home.replay()
    assert found["moments"]
    assert secret not in json.dumps(found)


def test_rules_that_an_agent_read_are_replayed_and_armed_in_one_sitting(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    claude(home.folder, home.project, "a", [("says", "Publish it"), PUSH])
    told = ("--mistake", "Pushed by force", "--correction", "Push with a lease")
    calls = ("--wrong-call", "git push --force", "--right-call", "git push --force-with-lease")
    monkeypatch.setenv("CLAUDECODE", "1")
    home.command("lessons", "add", *told, *calls, "--tag", "project-rule")
    monkeypatch.delenv("CLAUDECODE")
    assert home.replay()["moments"][0]["armed"] is False
    shown = home.command.at_terminal("lessons", "review", typed="r\nh\n")
    assert "a person arms it" in shown
    assert "= would speak once (its guard is off): 1 noise at a call that worked" in shown
    assert "its guard is set to hold" in shown
    assert home.replay()["moments"][0]["armed"] is True
