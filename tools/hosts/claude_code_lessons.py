"""Lessons of the real Claude Code in own words: `python -m tools.hosts.claude_code_lessons DIR`.

DIR is where npm installed it; a scripted endpoint on loopback plays the model. In one home the agent is asked beside
the call that worked after failures, and stores a lesson. In another, installed with `--distil`, nobody is asked:
Claude Code reads the finished session without a window. Either way the lesson is in the first request of the next
session.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from tools.hosts.claude_code import call
from tools.hosts.claude_code_tools import environment
from tools.hosts.scripted_anthropic import Model, serve, tool_use
from tools.hosts.trying import Home, binary, clean_home, held, step, stop

COMMAND = "python3 deploy.py --to staging"
DEPLOY = """import sys
if "--take-lock" not in sys.argv:
    sys.exit("Error: bad state: the lock of the registry is held")
print("deployed")
"""
PROMPT = "Deploy to staging, please"
QUESTION = "store_lesson"
OWN_WORDS = "ask the release crew to let go of it"
LESSON = {
    "mistake": "Deployed to staging while the lock of the registry was held",
    "correction": f"Before a deployment to staging look who holds the lock of the registry, and {OWN_WORDS}",
}
STORE = "mcp__mcp-reflect__store_lesson"


class Reader(Model):
    """Plays the agent by its script, and the reader of a finished session, who has no tools."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[dict[str, Any]] = []

    def reply(self, request: dict[str, Any]) -> dict[str, Any]:
        if not request.get("tools") and COMMAND in json.dumps(request["messages"]):
            self.read.append(request)
            analysis = {
                "reflection": "The lock of the registry was held.",
                "importance": 0.7,
                **LESSON,
            }
            return {"type": "text", "text": json.dumps(analysis)}
        return super().reply(request)


def session(
    program: str,
    home: Home,
    url: str,
    model: Reader,
    script: list[dict[str, Any]],
    prompt: str = PROMPT,
) -> list[dict[str, Any]]:
    """Run one session to its end; what the host sent to the model."""
    model.script, model.requests = list(script), []
    words = ["-p", prompt, "--allowedTools", "Bash", STORE, "--model", "claude-sonnet-5-5"]
    env = environment(url)
    home.run(
        program, *words, seconds=120, env={**env, "PATH": f"{Path(program).parent}:{env['PATH']}"}
    )
    return model.requests


def holding(requests: list[dict[str, Any]], words: str) -> int:
    """Return the number of the first request whose last message holds the words; -1 for none."""
    last = [json.dumps(request["messages"][-1]) for request in requests]
    return next((number for number, text in enumerate(last) if words in text), -1)


def prepared(home: Home, *options: str) -> None:
    """Install into a clean home, with a script that works with a flag."""
    home.reflect("install", "claude-code", "--yes", *options)
    (home.project / "deploy.py").write_text(DEPLOY)


def main() -> int:
    """Play the sessions; see the module."""
    program = binary("@anthropic-ai/claude-code-*/claude")
    model = Reader()
    server = serve(model)
    url = f"http://127.0.0.1:{server.server_port}"
    hard_won = [call(COMMAND, 0), call(COMMAND, 1), call(f"{COMMAND} --take-lock", 2)]
    done = {"type": "text", "text": "Done."}
    try:
        with clean_home("claude-code-asked") as home:
            prepared(home, "--hooks")
            with step("asked beside the call that worked, and it stores a lesson"):
                requests = session(
                    program, home, url, model, [*hard_won, tool_use(STORE, LESSON, 9), done]
                )
                held(len(requests) == 5, f"no turn is added: {len(requests)} requests")
                first = holding(requests[1:], QUESTION) + 1
                held(first == 3, f"the question comes with the call that worked, not in {first}")
            follows(program, home, url, model)
        with clean_home("claude-code-distilled") as home:
            prepared(home, "--distil")
            with step("read at its end"):
                home.env["MCP_REFLECT_ASK"] = "off"
                session(program, home, url, model, [*hard_won, done])
                wait_for_words(home)
                held(len(model.read) == 1, f"the session is read once: {len(model.read)}")
            follows(program, home, url, model)
    finally:
        server.shutdown()
    return 0


def follows(program: str, home: Home, url: str, model: Reader) -> None:
    """The lesson in the next session."""
    with step("the next session"):
        requests = session(program, home, url, model, [{"type": "text", "text": "Done."}])
        held(
            OWN_WORDS in json.dumps(requests[0]["messages"]),
            "the lesson is in the first request of the next session",
        )


def wait_for_words(home: Home) -> None:
    """Wait for the process at the session's end, which outlives the host."""
    for _ in range(80):
        if OWN_WORDS in json.dumps(home.lessons()):
            return
        time.sleep(0.5)
    logs = [path.read_text() for path in home.folder.rglob("*.distil.log")]
    stop(f"the model's lesson is not in the bank: {home.lessons()} {logs}")


if __name__ == "__main__":
    sys.exit(main())
