"""Sessions of the real Claude Code with our hooks: `python -m tests.hosts.claude_code DIR`.

DIR is where `npm install --prefix DIR @anthropic-ai/claude-code` put it. No account and no network are needed:
ANTHROPIC_BASE_URL names an endpoint on loopback that plays the model, and `mcp-reflect install claude-code --hooks`
has written the hooks into a clean home.

Two sessions in one project. In the first a command fails and another one works; its transcript is reflected on when
it ends. In the second the model makes the failing call again: the host's first request must carry the lesson, before
any call, and its second the warning of the call (Claude Code hands what a hook says before a call to the model
together with the call's result). The call is not blocked.
"""

import json
import sys
import time
from typing import Any

from tests.hosts.claude_code_tools import environment
from tests.hosts.scripted_anthropic import Model, results, serve, tool_use
from tests.hosts.trying import Home, binary, clean_home, held, step, stop

FAILING = "python3 tool.py --mode fast"
WORKING = "python3 tool.py --mode=fast --yes"
TOOL = """import sys
if "--yes" not in sys.argv:
    sys.exit("tool.py: error: refusing to run without --yes")
print("all done")
"""
PROMPT = "Run tool.py in fast mode, please"


def call(command: str, number: int) -> dict[str, Any]:
    """The model wants a command run."""
    return tool_use("Bash", {"command": command, "description": "Run the tool"}, number)


def session(program: str, home: Home, url: str, model: Model, script: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Run one session to its end; what the host sent to the model."""
    model.script, model.requests = list(script), []
    words = ["-p", PROMPT, "--allowedTools", "Bash", "--model", "claude-sonnet-5-5"]
    home.run(program, *words, seconds=120, env=environment(url))
    held(model.requests, "the host asked the model")
    return model.requests


def holding(requests: list[dict[str, Any]], text: str) -> int | None:
    """The number (from 1) of the first request that holds a text, null for none."""
    return next((at for at, one in enumerate(requests, start=1) if text in json.dumps(one["messages"])), None)


def main() -> int:
    """Play the sessions; see the module."""
    program = binary("@anthropic-ai/claude-code-*/claude")
    model = Model()
    server = serve(model)
    try:
        with clean_home("claude-code-hooks") as home:
            home.reflect("install", "claude-code", "--hooks", "--yes")
            (home.project / "tool.py").write_text(TOOL)
            attempt(program, home, f"http://127.0.0.1:{server.server_port}", model)
    finally:
        server.shutdown()
    return 0


def attempt(program: str, home: Home, url: str, model: Model) -> None:
    """The two sessions, and what the second must have been told."""
    with step("first session: a failing call, then a working one"):
        session(program, home, url, model, [call(FAILING, 1), call(WORKING, 2)])
    with step("reflected on at its end"):
        print(f"  {wait_for_lesson(home)}")
    with step("second session: the failing call again"):
        second = session(program, home, url, model, [call(FAILING, 3), call(WORKING, 4)])
    lesson_at, warned_at = holding(second, "--mode=fast --yes"), holding(second, "this call is known to fail")
    held(lesson_at == 1, f"the lesson is in the first request, not in {lesson_at}")
    held(warned_at == 2, f"the warning is in the second request, not in {warned_at}")
    ran = sum("refusing to run" in json.dumps(block) for block in results(second[-1]))
    held(ran == 1, f"the call is not blocked: it failed {ran} times")
    print("  its first request carries the lesson, its second the warning; the call was not blocked")


def wait_for_lesson(home: Home) -> str:
    """The lesson that the process at the session's end makes; it outlives the host, so we look for it."""
    for _ in range(40):
        found = home.lessons()
        if found:
            return str(found[0]["text"])
        time.sleep(0.5)
    return stop("no lesson came of the first session")


if __name__ == "__main__":
    sys.exit(main())
