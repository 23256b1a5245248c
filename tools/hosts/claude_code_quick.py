"""Quick calls in the real Claude Code, in every kind of folder: `python -m tools.hosts.claude_code_quick DIR`.

DIR is where npm put the program. A model on loopback answers at once. In each kind of folder the agent is asked for a
lesson after a call of some milliseconds that failed and then worked, a call against a person's lesson is refused, and
an honest last message passes.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tools.hosts.claude_code_tools import environment
from tools.hosts.scripted_anthropic import Model, Until, serve, tool_use
from tools.hosts.trying import Home, binary, clean_home, held, step

DEPLOY = '#!/bin/sh\ncase "$*" in *--confirm*) echo deployed;; *) echo "error: --confirm is missing" >&2; exit 2;; esac\n'
HONEST = {"type": "text", "text": "The deployment went through."}
ASKED, HELD = "mcp-reflect saw in this session", "mcp-reflect: You say"
ROUNDS = 3


# The server starts beside the session: what comes before it is connected has no hook.
def _is_connected(request: dict[str, Any]) -> bool:
    return "mcp__mcp-reflect__forget_lesson" in json.dumps(request)


CONNECTED = Until(
    tool_use("Bash", {"command": "sleep .2", "description": "Wait"}, 900), _is_connected
)


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def no_git(_: Path) -> None:
    pass


def no_commit(folder: Path) -> None:
    git(folder, "init", "-q")


def no_remote(folder: Path) -> None:
    no_commit(folder)
    git(folder, "commit", "-q", "--allow-empty", "-m", "Begin")


def remote(folder: Path) -> None:
    no_remote(folder)
    git(folder, "remote", "add", "origin", "git@github.com:acme/shop.git")


FOLDERS: tuple[Callable[[Path], None], ...] = (no_git, no_commit, no_remote, remote)


def main() -> int:
    """Play the sessions; see the module."""
    program = binary("@anthropic-ai/claude-code-*/claude")
    model = Model()
    server = serve(model)
    url = f"http://127.0.0.1:{server.server_port}"
    try:
        for make in FOLDERS:
            with clean_home(f"claude-code-quick-{make.__name__}") as home, step(make.__name__):
                make(home.project)
                attempt(program, home, url, model)
    finally:
        server.shutdown()
    return 0


def attempt(program: str, home: Home, url: str, model: Model) -> None:
    """Play the sessions of one folder."""
    home.reflect("install", "claude-code", "--hooks", "--yes")
    script = home.project / "deploy.sh"
    script.write_text(DEPLOY)
    script.chmod(0o755)
    fails, works = (
        {"command": f"./deploy.sh{more}", "description": "Deploy"} for more in ("", " --confirm")
    )
    asked = holds = number = 0
    while number < ROUNDS and not asked:
        calls = [tool_use("Bash", fails, 10 * number + 1), tool_use("Bash", works, 10 * number + 2)]
        said = play(program, home, url, model, [*calls, HONEST])
        asked += ASKED in said[-1]
        holds += HELD in said[-1]
        number += 1
    add_by_person(home, "Run pytest by uv", "pytest -q", "uv run pytest -q")
    wrong = {"command": "pytest -q", "description": "Run the tests"}
    said = play(
        program,
        home,
        url,
        model,
        [tool_use("Bash", wrong, 91), {"type": "text", "text": "I stop here."}],
    )
    refused = any("goes against a lesson" in text for text in said)
    print(
        f"    asked {asked} of {number}, refused {refused}, honest messages held {holds} of {number}"
    )
    held((refused, holds) == (True, 0), "a call is refused, and no honest message is held")
    held(asked, f"the agent is asked for a lesson within {ROUNDS} sessions")


def add_by_person(home: Home, rule: str, wrong: str, right: str) -> None:
    """Add a lesson as a person does, at a terminal."""
    words = ["lessons", "add", rule, "--wrong-call", wrong, "--right-call", right]
    command = [sys.executable, "-m", "mcp_reflect", *words]
    home.run(sys.executable, "-c", f"import pty, sys; sys.exit(pty.spawn({command!r}))")


def play(
    program: str, home: Home, url: str, model: Model, script: list[dict[str, Any]]
) -> list[str]:
    """Play a session; return the last message of each request of the host, as text."""
    model.script, model.requests, model.repeated = [CONNECTED, *script], [], 0
    words = ("-p", "Deploy the shop", "--allowedTools", "Bash", "--model", "claude-sonnet-5-5")
    home.run(
        program, *words, seconds=120, env={**environment(url), "MCP_REFLECT_LAST_WORD": "hold"}
    )
    return [json.dumps(request["messages"]) for request in model.requests]


if __name__ == "__main__":
    sys.exit(main())
