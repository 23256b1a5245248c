"""What the agent told itself replaces the lessons of rules, and a model is given every problem."""

from mcp_reflect.models.common import Json
from mcp_reflect.runs.diagnose import diagnose
from mcp_reflect.runs.reflector import findings_text
from tests.runs.run import Run


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


def test_a_model_is_given_every_problem_with_its_events() -> None:
    run = Run()
    for number in range(30):
        run.bash(
            f"./step{number}.sh --to staging", f"Error: bad state of the step {chr(97 + number % 26)}{chr(97 + number)}"
        )
    text = findings_text(diagnose(run.trace()))
    assert all(f"(e{2 * number})" in text for number in range(1, 31))
    learned = Run().bash("python a.py", "bash: python: command not found").bash("python3 a.py", "done")
    assert "Use `python3` in place of `python`. (e2)" in findings_text(diagnose(learned.trace()))
