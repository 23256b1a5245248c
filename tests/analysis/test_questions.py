"""What a session leaves open is asked of whoever can write, once, unless the agent told it."""

from mcp_reflect.analysis.diagnose import QUESTION_CHARS, diagnose, question
from mcp_reflect.analysis.reflector import findings_text
from mcp_reflect.models.common import Json
from mcp_reflect.models.run import Outcome
from tests.analysis.runs import Run

BROKEN = "Error: bad state: the lock of the registry is held"


def hard_won() -> Run:
    run = Run()
    for _ in range(3):
        run = run.bash("./deploy.sh --to staging", BROKEN)
    return run.bash("./deploy.sh --to staging", "deployed")


def test_a_hard_won_success_and_an_unsolved_failure_are_open() -> None:
    (won,) = diagnose(hard_won().trace(Outcome.SUCCESS)).open_points
    assert "failed three times" in won
    assert "The same call worked" in won
    unsolved = Run().bash("./deploy.sh", BROKEN).bash("./deploy.sh -v", BROKEN)
    assert "It stayed open" in diagnose(unsolved.trace()).open_points[0]


def test_an_easy_run_and_expected_failures_leave_nothing_open() -> None:
    once = Run().bash("./deploy.sh", BROKEN).bash("./deploy.sh", "deployed")
    tests = Run().bash("pytest", "1 failed, 2 passed in 0.1s").bash("pytest", "1 failed, 2 passed in 0.1s")
    for run in (once, tests):
        assert diagnose(run.trace()).open_points == ()
    assert question(()) == ""


def test_a_lesson_that_the_agent_told_leaves_nothing_open_and_replaces_the_rules() -> None:
    run = (
        Run()
        .bash("python fetch.py", "ModuleNotFoundError: No module named 'requests'")
        .bash("pip install requests", "Successfully installed requests-2.32.3")
        .bash("python fetch.py", "200 OK")
    )
    assert len(diagnose(run.trace()).corrections) == 1
    told: Json = {"mistake": "fetch.py needs the module requests", "correction": "pip install requests"}
    run = run.call("mcp__mcp-reflect__store_lesson", told, '{"status": "stored"}')
    assert diagnose(run.trace()).corrections == ()
    again = hard_won().call("mcp__mcp-reflect__reflect", {"task": "t", "analysis": told}, "{}")
    assert diagnose(again.trace()).open_points == ()


def test_a_question_is_short_and_says_what_to_send() -> None:
    points = [f"bash ./deploy{number}.sh failed 3 times (bad state) and is unsolved." for number in range(20)]
    text = question(points)
    assert len(text) <= QUESTION_CHARS
    assert "store_lesson" in text
    assert points[0] in text


def test_a_model_is_given_every_problem_with_its_events() -> None:
    run = Run()
    for number in range(30):
        run.bash(
            f"./step{number}.sh --to staging", f"Error: bad state of the step {chr(97 + number % 26)}{chr(97 + number)}"
        )
    text = findings_text(diagnose(run.trace()))
    assert all(f"(e{2 * number})" in text for number in range(1, 31))
    learned = Run().bash("python a.py", "bash: python: command not found").bash("python3 a.py", "done")
    assert "Use `python3` instead of `python`. (e2)" in findings_text(diagnose(learned.trace()))
