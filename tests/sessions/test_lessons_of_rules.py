"""Rules make a lesson where the run proves it, and none where a reader of the run would not agree."""

import pytest

from mcp_reflect.models.common import Json
from mcp_reflect.models.run import Correction, Outcome
from mcp_reflect.sessions.diagnose import diagnose
from mcp_reflect.sessions.tools import LABEL_ARGUMENTS
from tests.sessions.run import Run

NO_REQUESTS = """Traceback (most recent call last):
  File "/app/fetch.py", line 1, in <module>
    import requests
ModuleNotFoundError: No module named 'requests'
"""
UNREAD = "<tool_use_error>File has not been read yet. Read it first before writing to it.</tool_use_error>"
NOT_IN_FILE = "String to replace not found in file.\nString: x = 1"
TWICE = "Found 2 matches of the string to replace, but replace_all is false. Provide more context."
REFUSED = "The user doesn't want to proceed with this tool use. The user provided the following reason for the rejection:  "


def only(run: Run) -> Correction:
    corrections = diagnose(run.trace(Outcome.PARTIAL)).corrections
    assert len(corrections) == 1
    return corrections[0]


def edit(file: str, old: str, new: str) -> Json:
    return {"file_path": file, "old_string": old, "new_string": new}


PROVED: list[tuple[Run, str, str]] = [
    (
        Run()
        .bash("python fetch.py", NO_REQUESTS)
        .bash("pip install requests", "Successfully installed requests-2.32.3")
        .bash("python fetch.py", "200 OK"),
        "`python fetch.py` failed: ModuleNotFoundError: No module named 'requests'.",
        "Run `pip install requests` before `python`.",
    ),
    (
        Run()
        .bash("git push origin main", " ! [rejected] main -> main (fetch first)\nerror: failed to push some refs")
        .bash("git pull --rebase origin main", "Successfully rebased")
        .bash("git push origin main", "a..b main -> main"),
        "`git push origin main` failed: error: failed to push some refs.",
        "Run `git pull --rebase origin main` before `git push`.",
    ),
    (
        Run()
        .call("Edit", edit("/r/a.py", "x", "y"), error=UNREAD)
        .call("Read", {"file_path": "/r/a.py"}, "1 x")
        .call("Edit", edit("/r/a.py", "x", "y"), "updated"),
        "`Edit` on a file that was not read in this session, or that changed since, is refused.",
        "Read the file first; then the same edit works.",
    ),
    (
        Run()
        .call("Edit", edit("/r/a.py", "x = 1", "y"), error=NOT_IN_FILE)
        .bash("sed -n 1,20p a.py", "x  = 1")
        .call("Edit", edit("/r/a.py", "x  = 1", "y"), "updated"),
        "`Edit` with text that is not exactly in the file (from memory, or from before it changed) is refused.",
        "Read those lines of the file again and copy their exact text, then edit.",
    ),
    (
        Run()
        .call("Edit", edit("/r/a.py", "x", "y"), error=TWICE)
        .call("Edit", edit("/r/a.py", "def f():\n    x", "def f():\n    y"), "updated"),
        "`Edit` with text that occurs more than once in the file is refused.",
        "Include more context (the neighboring lines), so that the text is unique.",
    ),
    (
        Run()
        .bash("pytest", "/bin/bash: line 1: pytest: command not found")
        .bash("(source .venv/bin/activate && pytest)", "3 passed in 0.10s"),
        "`pytest` failed: pytest: command not found.",
        "Run `source .venv/bin/activate` before `pytest`.",
    ),
    (
        Run().bash("python a.py", "bash: line 1: python: command not found").bash("python3 a.py", "done"),
        "`python a.py` failed: python: command not found.",
        "Use `python3` in place of `python`.",
    ),
    (
        Run().bash("paint src --colour", "paint: unrecognized option '--colour'").bash("paint src --color", "a.py"),
        "`paint src --colour` failed: paint: unrecognized option '--colour'.",
        "Use `--color` in place of `--colour`.",
    ),
    (
        Run()
        .call("bash", {"command": "cd test && pytest -q"}, error="(eval):cd:1: no such file or directory: test")
        .bash("pytest -q", "3 passed in 0.10s"),
        "`cd` into a folder of the project failed: the shell was already in it.",
        "Leave out the `cd`, or use absolute paths: the shell keeps its working folder between calls.",
    ),
    (
        Run()
        .bash("grep -n main app/cli.py", "grep: app/cli.py: No such file or directory")
        .bash("grep -n main /home/ada/work/app/cli.py", "3:def main():"),
        "A path relative to the project's root was not found: the shell was in another folder.",
        "Use the absolute path, or change back to the root: the shell keeps its working folder between calls.",
    ),
    (
        Run()
        .bash("./deploy --env prod", "usage: deploy --env NAME --region R\nexit code: 2")
        .bash("./deploy --env prod --region eu", "deployed"),
        "`./deploy --env prod` failed: usage: deploy --env NAME --region R.",
        "Add `--region`.",
    ),
    (
        Run()
        .bash("systemctl restart nginx", "Failed to restart nginx.service: Access denied")
        .bash("sudo systemctl restart nginx", "restarted"),
        "`systemctl restart nginx` failed: Failed to restart nginx.service: Access denied.",
        "Run it as `sudo systemctl restart nginx`.",
    ),
    (
        Run()
        .call("Bash", {"command": "npm install"}, error=REFUSED + "use pnpm")
        .call("Bash", {"command": "pnpm install"}, "Done in 797ms"),
        "The user refused `npm install`.",
        "Use pnpm: `pnpm install` was accepted.",
    ),
    (
        Run()
        .call("create_issue", {"title": "A", "labels": "bug"}, "Error: missing field: project; unknown field: labels")
        .call("create_issue", {"title": "A", "project": "app"}, '{"id": 7}'),
        "`create_issue` with `labels` in another form failed: Error: missing field: project; unknown field: labels.",
        "Leave out `labels`; Send `project` too.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("run", "mistake", "correction"), PROVED)
def test_a_proved_correction_says_what_fails_and_what_to_do_instead(
    run: Run, mistake: str, correction: str
) -> None:
    lesson = only(run)
    assert (lesson.mistake, lesson.correction) == (mistake, correction)
    assert len(lesson.symptoms) == 1


@pytest.mark.parametrize(
    ("worked", "correction"),
    [
        ("cd api && pytest tests", "Run it in `api`: `cd` there in the same command."),
        (
            "cd /srv/app && pytest tests",
            "Run it in the project's root: `cd` there in the same command.",
        ),
    ],
)
def test_a_command_that_works_in_another_folder_is_run_there(worked: str, correction: str) -> None:
    lesson = only(
        Run()
        .bash("pytest tests", "ERROR: file or directory not found: tests")
        .bash(worked, "3 passed")
    )
    assert (lesson.mistake.split(" failed")[0], lesson.correction) == ("`pytest tests`", correction)


UNPROVED: dict[str, Run] = {
    "an edit of the task's own source": Run()
    .bash("pytest -q", "1 failed, 2 passed in 0.12s")
    .call("Edit", edit("/r/cart.py", "sum(p)", "sum(p * n)"), "updated")
    .bash("pytest -q", "3 passed in 0.10s"),
    "another edit beside the step": Run()
    .bash("python a.py", NO_REQUESTS)
    .call("Edit", edit("/r/a.py", "x", "y"), "updated")
    .bash("pip install requests", "Successfully installed")
    .bash("python a.py", "200 OK"),
    "only looking": Run()
    .bash("./deploy", "Error: bad state")
    .bash("ls -la", "a b")
    .call("Read", {"file_path": "a"}, "1 x")
    .bash("./deploy", "deployed"),
    "one task's side effect": Run()
    .bash("./mailer check", "Error: not done")
    .bash("./mailer send 'Standup moved' dan,eve", "sent")
    .bash("./mailer check", "done"),
    "a working call without a result": Run()
    .bash("./report --month 11", "Error: unknown option --month")
    .bash("./report", "0 rows"),
    "an empty answer": Run().bash("./run --fsat", "Error: unknown option --fsat").bash("./run --fast", ""),
    "a failure that follows": Run()
    .bash("npm install", "npm ERR! ERESOLVE could not resolve")
    .bash("npm install --prefer-dedupe", "added 12 packages")
    .bash("npm test", "npm ERR! code ELIFECYCLE"),
    "a check that was switched off": Run()
    .bash("act -j test", "Error: Job 'test' failed")
    .call("Edit", edit("/r/.github/ci.yml", "run: x", "run: x\ncontinue-on-error: true"), "updated")
    .bash("act -j test", "Job succeeded"),
    "a search without a match": Run().bash("grep -n foo a.py", "").bash("grep -n foo b.py", "3: foo"),
    "a probe": Run().bash("which rg", "which: no rg in (/usr/bin)").bash("which grep", "/usr/bin/grep"),
    "an error that passes": Run()
    .call("fetch", {"url": "https://x.io/a"}, error="Request timed out after 30s")
    .call("fetch", {"url": "https://x.io/a"}, "<html>"),
    "a refusal without a reason": Run()
    .call("Bash", {"command": "rm -r x"}, error="The user doesn't want to proceed with this tool use.")
    .call("Bash", {"command": "ls"}, "x"),
    "a question of the user": Run()
    .call("Bash", {"command": "git commit"}, error=REFUSED + "would this work? use strict instead?")
    .call("Bash", {"command": "git commit --strict"}, "done"),
    "a tool of our own": Run()
    .call("mcp__mcp-reflect__record_outcome", {"success": "yes"}, error="success: it is no boolean")
    .call("mcp__mcp-reflect__record_outcome", {"success": True}, '{"updated": 1}'),
    "a value of the task in the step between": Run()
    .bash("kubectl rollout status deploy/api", "error: timed out waiting for the condition\nexit code: 1")
    .bash("kubectl set image deploy/api api=reg/api:v2.4.1", "image updated")
    .bash("kubectl rollout status deploy/api", "successfully rolled out"),
    "a number of the task in the step between": Run()
    .bash("terraform apply", "Error: state lock held by ci-4711")
    .bash("terraform force-unlock 4711", "unlocked")
    .bash("terraform apply", "Apply complete!"),
    "a value of the task in the environment": Run()
    .bash("pytest", "E   KeyError: DATABASE_URL")
    .bash("DATABASE_URL=postgres://shop@db/orders pytest", "3 passed in 1s"),
    "a step beside which another program ran": Run()
    .bash("npm ci", "npm error code EUSAGE")
    .bash("node repair.js", "written")
    .bash("npm install --package-lock-only", "up to date")
    .bash("npm ci", "added 1 package, and audited 2 packages in 1s"),
    "another thing": Run()
    .call("get_user", {"id": 5}, "Error: user 5 not found")
    .call("get_user", {"id": 6}, '{"id": 6}'),
    "another package": Run()
    .bash("pip install foo", "ERROR: No matching distribution found for foo")
    .bash("pip install bar", "Successfully installed bar"),
    "another query": Run()
    .call("search", {"query": "VIVA Media AG"}, "Could not find [VIVA Media AG]. Similar: ['VIVA Plus']")
    .call("search", {"query": "VIVA Plus"}, "VIVA Plus is a channel"),
    "labels alone": Run()
    .call("Bash", {"command": "./apply", "description": "Apply manifest"}, "Error: no context")
    .call("Bash", {"command": "./apply", "description": "Apply manifest again", "timeout": 9}, "applied"),
}  # fmt: skip


@pytest.mark.parametrize("run", UNPROVED.values(), ids=UNPROVED.keys())
def test_what_is_not_proved_is_no_lesson(run: Run) -> None:
    assert diagnose(run.trace(Outcome.PARTIAL)).corrections == ()


def test_what_worked_after_a_failure_is_a_finding_without_a_lesson() -> None:
    run = (
        Run()
        .bash("./deploy.sh", "Error: assertion failed: bad state")
        .bash("./deploy.sh", "deployed")
    )
    diagnosis = diagnose(run.trace(Outcome.SUCCESS))
    assert diagnosis.corrections == ()
    assert "The same call worked" in diagnosis.summary


def test_a_call_that_worked_after_something_was_done_is_told_with_it() -> None:
    run = Run().bash("kubectl describe pod api-1", "Error: manifest unknown")
    run = run.bash("kubectl set image deploy/api api=reg/api:v2.4.1", "image updated")
    seen = diagnose(
        run.bash("kubectl describe pod api-1", "Status: Running").trace(Outcome.SUCCESS)
    )
    assert "It worked after `kubectl set image deploy/api api=reg/api:v2.4.1` (e4)." in seen.summary


def test_failures_with_one_correction_are_one_lesson_that_names_them_all() -> None:
    run = Run()
    for file in ("/r/a.py", "/r/b.py"):
        run = run.call("Edit", edit(file, "x", "y"), error=TWICE).call(
            "Edit", edit(file, "x\ny", "y"), "updated"
        )
    lesson = only(run)
    assert (lesson.also, lesson.failed_event_id) == (("e2",), "e6")


@pytest.mark.parametrize(
    ("tool", "label"),
    [(tool, label) for tool, labels in LABEL_ARGUMENTS.items() for label in sorted(labels)],
)
def test_an_argument_that_only_labels_is_in_no_signature_and_no_lesson(
    tool: str, label: str
) -> None:
    def run(first: str, second: str) -> Run:
        missing: Json = {"command": "pytest", "target": "a", label: first}
        working: Json = {"command": "pytest -q", "target": "a", label: second}
        return (
            Run()
            .call(tool, missing, "Error: secret-label is wrong")
            .call(tool, working, "3 passed in 0.10s")
        )

    one = diagnose(run("secret-label", "x").trace(Outcome.PARTIAL))
    two = diagnose(run("y", "z").trace(Outcome.PARTIAL))
    assert one.failures[0].exact == two.failures[0].exact
    assert not any("secret-label" in f"{lesson.correction}" for lesson in one.corrections)


def test_a_lesson_has_no_temporary_path_and_no_sentence_cut_in_two() -> None:
    long = "ValueError: the first sentence says it. " + "The second one goes on and on " * 20
    run = (
        Run()
        .bash("cd /tmp/x9 && ./run --fsat", f"{long}\n")
        .bash("cd /tmp/x9 && ./run --fast", "done")
    )
    run = (
        run.bash("python /tmp/a/b.py", NO_REQUESTS)
        .bash("pip install requests", "ok")
        .bash("python /tmp/a/b.py", "1")
    )
    for lesson in diagnose(run.trace(Outcome.PARTIAL)).corrections:
        text = f"{lesson.mistake} {lesson.correction} {lesson.symptoms}"
        assert "tmp/" not in text
        assert "..." not in text


def test_a_failing_call_knows_the_arguments_that_worked() -> None:
    run = (
        Run()
        .call("read_file", {"path": "src/confg.yaml"}, "Error: file not found")
        .call("read_file", {"path": "src/config.yaml"}, "a: 1")
    )
    failure = diagnose(run.trace()).failures[0]
    assert failure.worked == {"path": "src/config.yaml"}
    assert len(failure.signature) == 16


def test_of_a_line_of_commands_the_part_that_mattered_is_known() -> None:
    run = Run().bash("./mig up billing", "error: billing needs identity")
    run = run.bash("./mig up identity; ./mig list; ./mig up billing; ./mig check", "ok")
    assert diagnose(run.trace()).failures[0].worked == {
        "command": "./mig up identity && ./mig up billing"
    }


OUT_OF_SYNC = """npm error code EUSAGE
npm error
npm error `npm ci` can only install packages when your package.json and package-lock.json are in sync.
npm error Missing: left-pad@1.3.0 from lock file
"""
ADDED = "added 1 package, and audited 2 packages in 1s"


def test_a_step_between_two_equal_calls_is_the_correction_whatever_only_looked_and_whatever_comes_later() -> (
    None
):
    run = Run().bash("npm ci 2>&1 | tail -20", OUT_OF_SYNC).bash("npm ls left-pad", "(empty)")
    run = run.bash("npm install --package-lock-only", "up to date").bash("npm ci", ADDED)
    lesson = only(run.bash("npm test", "npm error Missing script: test"))
    assert lesson.correction == "Run `npm install --package-lock-only` before `npm ci`."
