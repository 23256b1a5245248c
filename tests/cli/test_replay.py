"""`replay`: past sessions of three hosts with today's lessons, where each would have spoken and what came next."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.models.lesson_words import short_id
from mcp_reflect.sessions.session_database import DATABASE
from tests.cli.commands import Command
from tests.sessions import opencode_database, past_home
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
        "helped 0, noise 0, refused a call that worked 1."
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
    assert (moment["next"], moment["verdict"]) == (
        "nothing of it came",
        "would have been noise",
    )
    text = home.command("replay")
    assert "next: nothing of it came\n" in text
    assert "= noise once, where nothing of it came; " in text


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
    assert sum_of(home, silent).startswith("its failure came once, never warned")
    assert "database is not migrated" in sum_of(home, silent)
    assert sum_of(home, never).startswith("never met")
    assert sum_of(home, rule).startswith("names no call: not judged")
    text = home.command("replay")
    assert (
        "= never met in 1 session (a person's rule): no prompt matched it, "
        "and none of its calls was made\n"
    ) in text
    assert "\n1 lesson names no call: not judged.\n" in text
    assert "cannot be told" not in text


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
    assert sum_of(home, lesson_id).startswith(
        "its failure is over: 4 calls, 1 failed; 3 worked since the last failure; "
    )


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
    said = home.command("replay", "--session", "econd", code=2)
    assert "Give one of " in said
    assert {"first", "second"} <= set(re.findall(r"\w+", said.partition("Give one of")[2]))
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
    assert "  = spoke 3 times before its failure; " in text
    assert "its failure came 6 times, never warned (" in text
    assert "30 sessions" in text
    assert "next: the same failure" in text
    assert lines[-1].startswith("Lessons and guards that are on would have: helped")


def test_a_call_against_a_guard_that_failed_for_another_reason_is_no_help(home: Home) -> None:
    refused = ("runs", "npm install", "Exit code 1\nEACCES: permission denied")
    claude(home.folder, home.project, "a", [("says", "Set it up"), refused])
    home.add("Lost the lock file", "Use pnpm here", "--guard", "Bash: `npm`")
    (moment,) = home.replay()["moments"]
    assert (moment["next"], moment["verdict"]) == (
        "nothing of it came",
        "would have been noise",
    )
    said = "next: nothing of it came, the call failed otherwise: EACCES: permission denied"
    assert said in home.command("replay")


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
    assert "= noise once, at a call that worked (its guard is off)" in shown
    assert "its guard is set to hold" in shown
    assert home.replay()["moments"][0]["armed"] is True


def test_each_name_of_a_session_that_is_shown_is_accepted(home: Home) -> None:
    for write in (claude, codex, gemini):
        write(home.folder, home.project, f"1004-{write.__name__}", [("says", "Publish it"), PUSH])
    sent = [("user", [opencode_database.said("Publish it")])]
    sent.append(("assistant", [opencode_database.ran("c", PUSH[1], PUSH[2], 0)]))
    share = home.folder / ".local" / "share" / "opencode" / DATABASE
    opencode_database.keep(share, home.project, sent)
    home.add("Pushed by force", "Never", "--guard", "Bash: `git push` with `--force`")
    names = {one["session"] for one in home.replay()["moments"]}
    assert names == {"1004-claude", "1004-codex", "1004-gemini", "ses_1"}
    for name in names:
        found = home.replay("--session", name)
        assert {one["session"] for one in found["moments"]} == {name}
    assert home.replay("--session", "1004-")["sessions"] == 3
    told = home.command("replay", "--session", "none", code=2).partition("Give one of")[2]
    assert all(name in told for name in names)


def test_minutes_say_from_when_they_are_counted(home: Home) -> None:
    asks = ("says", "Run make test, and migrate the database if it must be")
    steps = [asks, *[("runs", "ls", "README")] * 20, FAILS, *WORKS]
    claude(home.folder, home.project, "a", steps)
    add_migrate(home)
    (moment,) = home.replay()["moments"]
    (lesson,) = home.replay()["lessons"]
    assert moment["minutes"] > lesson["minutes"]
    text = home.command("replay")
    assert f"; solved {moment['minutes']:g} min after the prompt\n" in text
    assert f" ({lesson['minutes']:g} min from failure to cure)" in text


def test_a_call_that_fails_now_and_then_is_not_over(home: Home) -> None:
    asks = ("says", "Draw a chart")
    for number in range(3):
        claude(home.folder, home.project, f"a{number}", [asks, ("runs", "make test", "ok")])
    claude(home.folder, home.project, "b", [asks, ("runs", "ls", "a"), FAILS, *WORKS])
    late = [asks, *[("runs", "ls", "a")] * 9, *[("runs", "make test", "ok")] * 4]
    claude(home.folder, home.project, "c", late)
    lesson_id = add_migrate(home)
    assert "against it: 9 calls, 1 failed; 4 worked since the last failure" in sum_of(
        home, lesson_id
    )


def test_a_call_that_failed_for_another_reason_and_works_says_nothing_of_what_is_over(
    home: Home,
) -> None:
    refused = ("runs", "npm install", "Exit code 1\nEACCES: permission denied")
    asks = ("says", "Draw a chart")
    claude(home.folder, home.project, "a", [asks, refused])
    works = [("runs", "npm install", "added 3 packages")] * 5
    claude(home.folder, home.project, "b", [asks, *[("runs", "ls", "a")] * 9, *works])
    lesson_id = home.add("Lost the lock file", "Use pnpm here", "--guard", "Bash: `npm`")
    assert "against it: 6 calls, 1 failed; 5 worked since the last failure" in sum_of(
        home, lesson_id
    )
    assert "its failure is over" not in home.command("replay")


def test_a_guard_whose_calls_always_worked_does_not_say_that_they_were_right(home: Home) -> None:
    claude(home.folder, home.project, "a", [("says", "Publish it"), PUSH])
    lesson_id = home.add("Pushed by force", "Never", "--guard", "Bash: `git push` with `--force`")
    assert sum_of(home, lesson_id) == (
        "would have refused 1 call that worked; "
        "against it: 1 call, which worked (a call that worked may still have been wrong)"
    )


def test_each_decisive_fact_has_an_action_and_a_rule_that_was_never_met_is_kept(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    claude(home.folder, home.project, "a", [("says", "Draw a chart"), FAILS, *WORKS])
    add_migrate(home)
    calls = ("--wrong-call", "terraform apply", "--right-call", "terraform apply -lock=false")
    home.add("The state is locked", "Apply without a lock", *calls)
    actions = home.command("replay").partition("What you can do")[2]
    assert '"its failure came, not warned": keep it' in actions
    assert '"never met, a person\'s rule": keep it' in actions
    assert "forget" not in actions
    assert '"noise"' not in actions
    monkeypatch.setenv("CLAUDECODE", "1")
    calls = ("--wrong-call", "kubectl delete pod x", "--right-call", "kubectl scale --replicas=0")
    told = ("--mistake", "The volume stayed attached", "--correction", "Scale to zero first")
    home.command("lessons", "add", *told, *calls)
    assert '"never met": `lessons forget ID`' in home.command("replay")


def test_of_one_session_or_none_lessons_that_were_not_met_are_left_out(home: Home) -> None:
    claude(home.folder, home.project, "a", [("says", "Draw a chart"), FAILS, *WORKS])
    met = add_migrate(home)
    calls = ("--wrong-call", "terraform apply", "--right-call", "terraform apply -lock=false")
    home.add("The state is locked", "Apply without a lock", *calls)
    found = home.replay("--session", "a")
    assert [one["lesson_id"] for one in found["lessons"]] == [met]
    assert found["untouched"] == 1
    text = home.command("replay", "--session", "a")
    assert "never met" not in text
    assert "1 lesson was not met there: left out." in text
    text = home.command("replay", "--days", "0")
    assert text.startswith("0 sessions: 0 prompts, 0 calls.\nNo session was replayed")
    assert len(text.splitlines()) == 2


def test_failures_are_told_in_the_order_of_time(home: Home) -> None:
    asks = ("says", "Draw a chart")
    for days, write in ((20, claude), (40, codex), (30, gemini)):
        file = write(home.folder, home.project, f"of-{days}", [asks, FAILS, *WORKS])
        worked_days_ago(file, days)
    add_migrate(home)
    (lesson,) = home.replay()["lessons"]
    assert [one["session"] for one in lesson["failures"]] == ["of-40", "of-30", "of-20"]
    assert "in of-20, line" in lesson["sum"]


def test_a_lesson_without_a_guard_is_named_with_the_way_to_one(home: Home) -> None:
    name = short_id(home.add("The state was locked", "Wait a minute"))
    for words in (("lessons", "guard", name), ("lessons", "guard", name, "tell")):
        said = home.command.by_person(*words, code=2)
        assert f"{name} has no guard" in said
        assert f"lessons edit {name} --guard 'Bash: `tsc` without `--noEmit`'" in said


def test_the_card_of_a_session_that_no_hook_saw_says_that_it_needs_hooks(home: Home) -> None:
    claude(home.folder, home.project, "a", [("says", "Draw a chart"), FAILS, *WORKS])
    said = home.command("stats", "--session", "a", code=2)
    assert "no hook has recorded a call of a session of this project whose name begins" in said
    assert "install HOST --hooks" in said
    assert "no hook has recorded a session" in home.command("stats", "--session", code=2)


def test_small_sessions_are_told_in_kilobytes(home: Home) -> None:
    claude(home.folder, home.project, "a", [("says", "Draw a chart"), FAILS, *WORKS])
    add_migrate(home)
    assert re.search(r"\n1 session \(\d KB\): 1 prompt, 3 calls\.", home.command("replay"))


def test_a_call_as_a_lesson_says_that_was_made_once_and_failed_is_told_in_words(home: Home) -> None:
    fast = ("runs", "make test-fast", "Exit code 2\nNo rule to make target 'test-fast'.  Stop.")
    claude(home.folder, home.project, "a", [("says", "Are they green?"), fast])
    calls = ("--wrong-call", "make test-slow", "--right-call", "make test-fast")
    lesson_id = home.add("The slow tests took minutes", "Run the fast ones", *calls)
    assert "what it says to do failed the one time that it was done, last with" in sum_of(
        home, lesson_id
    )
