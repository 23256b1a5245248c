"""Last messages after runs that the session does not tell plainly: scripts, other tools, other agents."""

from typing import Any

import pytest

from mcp_reflect.evidence.answered_call import AnsweredCall
from mcp_reflect.evidence.ledger import Ledger
from mcp_reflect.moments.doubts import DoubtKind, doubts

EDIT = ("Edit", {"file_path": "/home/me/shop/src/cart.ts"}, "ok")


def verdicts(message: str, *calls: Any) -> list[DoubtKind]:
    """What is doubted of a message after these calls: tool, command or arguments, and answer."""
    ledger = Ledger("/home/me/shop")
    for tool, sent, answer in calls:
        arguments: Any = {"command": sent} if isinstance(sent, str) else sent
        ledger.note(AnsweredCall(tool=tool, arguments=arguments, answer=answer))
    return [doubt.verdict for doubt in doubts(message, ledger)]


NAMELESS: tuple[Any, ...] = (
    ("Bash", "./tidy.sh", "done"),
    ("Bash", "bash scripts/tidy.sh", ""),
    ("Bash", "python tools/tidy.py --all", "4 files"),
    ("Bash", "npm run tidy", "> tidy"),
    ("Bash", "make tidy", "ok"),
)


@pytest.mark.parametrize("run", NAMELESS)
def test_a_script_that_nobody_knows_proves_nothing_by_chance(run: Any) -> None:
    for claim in ("All tests pass now.", "I pushed it to main.", "It is deployed to production."):
        assert verdicts(claim, EDIT, run) == [DoubtKind.NEVER]
    assert verdicts("I tidied the files.", EDIT, run) == []


TEXT = "#!/bin/sh\nset -e\npytest -q\ngit push origin main\n"


@pytest.mark.parametrize(
    "calls",
    [
        [
            (
                "Bash",
                "./tidy.sh",
                "17 passed in 2.1s\nTo github.com:acme/shop.git\n  1a2b3c4..5d6e7f8  main -> main",
            )
        ],
        [("Write", {"file_path": "/home/me/shop/tidy.sh", "content": TEXT}, "ok"), NAMELESS[0]],
        [("Bash", f"cat > tidy.sh <<'END'\n{TEXT}END", ""), NAMELESS[0]],
        [("Read", {"file_path": "/home/me/shop/scripts/tidy.sh"}, TEXT), NAMELESS[1]],
        [("Bash", "cat tools/tidy.py", 'run(["pytest", "-q"])\nrun(["git", "push"])'), NAMELESS[2]],
        [("Read", {"file_path": "/shop/package.json"}, '"tidy": "jest && git push"'), NAMELESS[3]],
        [("Bash", "python - <<'E'\nrun(['pytest'])\nrun(['git', 'push'])\nE", "fine")],
    ],
)
def test_a_script_may_prove_what_its_text_or_its_output_names(calls: list[Any]) -> None:
    for claim in ("All tests pass now.", "I pushed it to main."):
        assert verdicts(claim, EDIT, *calls) == []


@pytest.mark.parametrize(
    "run",
    [
        ("mcp__jetbrains__execute_run_configuration", {"configurationName": "All"}, "exit code 0"),
        ("mcp__nx__nx_run", {"target": "test", "project": "shop"}, "Successfully ran target"),
        ("mcp__process__start", {"argv": ["npm", "test"]}, "3 passed"),
        ("run_process", {"argv": ["npm", "test"]}, "3 passed"),
        ("mcp__jupyter__execute_cell", {"cell_index": 3}, "3 passed"),
        ("NotebookExecuteCell", {"code": "!pytest -q"}, "3 passed"),
        ("mcp__repl__eval", {"code": "pytest.main()"}, "0"),
        ("javascript_repl", {"code": "await $`npm test`"}, "ok"),
        ("mcp__acme__frob", {"x": 1}, "fine"),
        ("Skill", {"skill": "test-runner"}, "All 17 tests pass."),
        ("Agent", {"prompt": "Run the tests"}, "17 passed"),
        ("mcp__hub__delegate_to_agent", {"task": "test it"}, "done"),
    ],
)
def test_a_run_elsewhere_may_be_the_proof(run: Any) -> None:
    assert verdicts("All tests pass now.", EDIT, run) == []


@pytest.mark.parametrize(
    "look",
    [
        ("mcp__github__get_issue", {"number": 3}, "tests pass"),
        ("mcp__context7__get_library_docs", {"library": "jest"}, "17 passed"),
        ("Skill", {"skill": "style"}, "Launching skill: style"),
        ("TodoWrite", {"todos": []}, "ok"),
        ("TaskCreate", {"subject": "run tests"}, "ok"),
        ("mcp__mcp-reflect__recall_lessons", {"task": "run the tests"}, "{}"),
    ],
)
def test_a_tool_that_only_looks_proves_nothing(look: Any) -> None:
    assert verdicts("All tests pass now.", EDIT, look) == [DoubtKind.NEVER]


RED = ("Bash", "pytest -q", "Exit code 1\n1 failed, 16 passed in 2.1s")


@pytest.mark.parametrize(
    "command",
    [
        "tmux send-keys -t work 'pytest -q' Enter",
        "expect -c 'spawn pytest; interact'",
        "python -c 'import pytest; pytest.main()'",
        "R -e 'devtools::test()'",
        "zig build test",
        "dune runtest",
        "gh run watch 12",
        "gh workflow run tests.yml && gh run watch",
        "moon run app:test",
        "newman run shop.json",
    ],
)
def test_what_a_program_that_nobody_knows_is_told_to_run_may_be_the_proof(command: str) -> None:
    assert verdicts("All tests pass.", RED, ("Bash", command, "ok")) == []
    assert verdicts("All tests pass.", RED, ("Bash", "frobnicate --all", "ok")) == [
        DoubtKind.FAILED
    ]


def test_an_output_that_sums_up_tests_may_be_the_proof_whoever_printed_it() -> None:
    shown = ("Bash", "tmux capture-pane -p", "$ make it\n17 passed in 2.1s")
    assert verdicts("All tests pass.", RED, shown) == []
    assert verdicts("It is deployed to production.", EDIT, RED, shown) == []
    red_again = ("Bash", "frobnicate test", "Exit code 1\n1 failed")
    assert verdicts("All tests pass.", RED, red_again) == [DoubtKind.FAILED]


def test_an_agent_that_was_sent_a_message_may_have_run_it() -> None:
    sent = ("SendMessage", {"to": "tester", "message": "run the tests"}, "sent")
    assert verdicts("All tests pass.", RED, sent) == []
