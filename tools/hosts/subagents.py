"""A lesson in the prompt of a subagent, in the real Claude Code: `python -m tools.hosts.subagents DIR`.

DIR is where npm put the program. A model on loopback starts an agent for a task that a lesson of a person concerns. The
first request of the child has the lesson, and the child's own call against another lesson is refused.
"""

import json
import sys
from typing import Any

from tools.hosts.claude_code_quick import CONNECTED, add_by_person
from tools.hosts.claude_code_tools import environment
from tools.hosts.scripted_anthropic import Model, serve, tool_use
from tools.hosts.trying import binary, clean_home, held, step

PROMPT = "Deploy the shop to production"
RULE = "Deploy the shop to production on a Tuesday"


class Both(Model):
    """Plays the parent and its child, which is known by its prompt."""

    def __init__(self) -> None:
        super().__init__()
        self.of_child: list[str] = []
        self.child = [
            tool_use("Bash", {"command": "pytest -q", "description": "Test"}, 71),
            {"type": "text", "text": "I stopped."},
        ]

    def reply(self, request: dict[str, Any]) -> dict[str, Any]:
        first = json.dumps(request["messages"][:1])
        if not request.get("tools") or PROMPT not in first:
            return super().reply(request)
        self.of_child.append(json.dumps(request["messages"]))
        return self.child.pop(0) if self.child else {"type": "text", "text": "Done."}


def main() -> int:
    """Play the session; see the module."""
    program = binary("@anthropic-ai/claude-code-*/claude")
    model = Both()
    task = {"description": "Deploy", "prompt": PROMPT, "subagent_type": "general-purpose"}
    model.script = [CONNECTED, tool_use("Task", task, 70), {"type": "text", "text": "Started."}]
    server = serve(model)
    url = f"http://127.0.0.1:{server.server_port}"
    try:
        with clean_home("subagents") as home, step("a lesson in a subagent's prompt"):
            home.reflect("install", "claude-code", "--hooks", "--yes")
            add_by_person(home, RULE, "kubectl apply -f shop", "kubectl apply -f shop --record")
            add_by_person(home, "Run pytest by uv", "pytest -q", "uv run pytest -q")
            words = ("-p", "Go", "--allowedTools", "Bash", "--model", "claude-sonnet-5-5")
            home.run(program, *words, seconds=120, env=environment(url))
    finally:
        server.shutdown()
    held(model.of_child, "a child was started")
    held(RULE in model.of_child[0], f"the lesson is in its prompt: {model.of_child[0][-2000:]}")
    held("les_" in model.of_child[0], "with its id")
    refused = len(model.of_child) > 1 and "Run pytest by uv" in model.of_child[1]
    held(refused, f"its call against a lesson is refused: {model.of_child[-1][-2000:]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
