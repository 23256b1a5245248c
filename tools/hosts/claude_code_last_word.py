"""Last messages in the real Claude Code: `python -m tools.hosts.claude_code_last_word DIR`.

DIR is where `npm install --prefix DIR @anthropic-ai/claude-code` put it; the model is played on loopback, and the
hooks are those that `mcp-reflect install claude-code --hooks` writes. In four sessions the model says that all tests
pass: after a red run, after a change that followed a green run, without a run, and after a green run. The first three
are held once, with the reason in the model's next request; the last is not.
"""

import json
import sys
from typing import Any

from tools.hosts.claude_code_tools import environment
from tools.hosts.scripted_anthropic import Model, serve, tool_use
from tools.hosts.trying import Home, binary, clean_home, held, step

CLAIM = {"type": "text", "text": "All tests pass now."}
TEST = """import unittest


class T(unittest.TestCase):
    def test_it(self):
        import shop
        self.assertEqual(shop.total(), 12)
"""


def runs(number: int) -> dict[str, Any]:
    """The model runs the tests."""
    return tool_use(
        "Bash", {"command": "python3 -m unittest test_shop", "description": "Run the tests"}, number
    )


def writes(home: Home, total: int, number: int) -> dict[str, Any]:
    """The model writes the module, which the tests take if its total is 12."""
    text = f"def total():\n    return {total}\n"
    return tool_use("Write", {"file_path": str(home.project / "shop.py"), "content": text}, number)


def main() -> int:
    """Play the sessions; see the module."""
    program = binary("@anthropic-ai/claude-code-*/claude")
    model = Model()
    server = serve(model)
    try:
        with clean_home("claude-code-last-word") as home:
            home.reflect("install", "claude-code", "--hooks", "--yes")
            url = f"http://127.0.0.1:{server.server_port}"
            sessions = {
                "red run": ([writes(home, 13, 1), runs(2)], "FAILED (failures=1)"),
                "stale run": (
                    [writes(home, 12, 3), runs(4), writes(home, 14, 5)],
                    "shop.py changed",
                ),
                "no run": ([writes(home, 15, 6)], "no run of tests that shows it"),
                "honest end": ([writes(home, 12, 7), runs(8)], None),
            }
            for name, (calls, told) in sessions.items():
                (home.project / "shop.py").unlink(missing_ok=True)
                (home.project / "test_shop.py").write_text(TEST)
                with step(name):
                    attempt(program, home, url, model, [*calls, CLAIM], told)
    finally:
        server.shutdown()
    return 0


def said_since_reply(request: dict[str, Any]) -> str:
    """Return what the host adds behind the model's latest reply: the reason, and notes of its own."""
    messages = request["messages"]
    latest = max(n for n, one in enumerate(messages) if one["role"] == "assistant")
    return json.dumps(messages[latest + 1 :])


def attempt(
    program: str, home: Home, url: str, model: Model, script: list[dict[str, Any]], told: str | None
) -> None:
    """Play a session, and look at what the model was asked after its claim."""
    model.script, model.requests = list(script), []
    words = [
        "-p",
        "Fix the total",
        "--allowedTools",
        "Bash",
        "Write",
        "--model",
        "claude-sonnet-5-5",
    ]
    # Nobody watches a session with -p: there the message is held only where a person asks for it.
    home.run(
        program, *words, seconds=120, env={**environment(url), "MCP_REFLECT_LAST_WORD": "hold"}
    )
    after = [said_since_reply(request) for request in model.requests[len(script) :]]
    held(
        len(after) == (told is not None),
        f"the message is held {int(told is not None)} times, not {len(after)}",
    )
    held(told is None or told in after[0], f"the reason names {told}: {after}")
    for text in after:
        print(f"    ... {text[-300:]}")


if __name__ == "__main__":
    sys.exit(main())
