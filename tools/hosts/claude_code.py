"""Sessions of the real Claude Code with our hooks: `python -m tools.hosts.claude_code DIR`.

DIR is where `npm install --prefix DIR @anthropic-ai/claude-code` put it. No account and no network are needed:
ANTHROPIC_BASE_URL names an endpoint on loopback that plays the model, and `mcp-reflect install claude-code --hooks`
has written the hooks into a clean home.

A person has stored a lesson with its wrong call. The model makes this call: it must be refused before it runs, with the
lesson as the reason. Made again, it must pass. The host's first request must carry the tools that the server asks it to
load.
"""

import json
import sys
from typing import Any

from mcp_reflect.server.app import ALWAYS_LOADED
from tools.hosts.claude_code_tools import environment
from tools.hosts.scripted_anthropic import Model, Until, results, serve, tool_use
from tools.hosts.trying import Home, binary, clean_home, held, step

FAILING = "./tool.py --mode fast"
WORKING = "./tool.py --mode fast --yes"
TOOL = """#!/usr/bin/env python3
import sys
if "--yes" not in sys.argv:
    sys.exit("tool.py: error: refusing to run without --yes")
print("all done")
"""
PROMPT = "Run tool.py in fast mode, please"


def call(command: str, number: int) -> dict[str, Any]:
    """The model wants a command run."""
    return tool_use("Bash", {"command": command, "description": "Run the tool"}, number)


def write_tool(home: Home) -> None:
    """Write the program that works with one flag alone."""
    tool = home.project / "tool.py"
    tool.write_text(TOOL)
    tool.chmod(0o755)


def has_tools(request: dict[str, Any]) -> bool:
    """Return whether the host shows the model tools of ours: it has connected the server, which hooks ask."""
    return any("mcp-reflect" in tool["name"] for tool in request["tools"])


CONNECTED = Until(call("sleep 0.2", 0), has_tools)


def main() -> int:
    """Play the sessions; see the module."""
    program = binary("@anthropic-ai/claude-code-*/claude")
    model = Model()
    server = serve(model)
    try:
        with clean_home("claude-code-hooks") as home:
            home.reflect("install", "claude-code", "--hooks", "--yes")
            write_tool(home)
            attempt(program, home, f"http://127.0.0.1:{server.server_port}", model)
    finally:
        server.shutdown()
    return 0


def attempt(program: str, home: Home, url: str, model: Model) -> None:
    """The sessions, and what the model must have been told."""
    words = ("--mistake", "Ran tool.py without --yes: it refuses", "--correction", "Pass --yes")
    ours = (sys.executable, "-m", "mcp_reflect", "lessons", "add")
    home.by_person(*ours, *words, "--wrong-call", FAILING, "--right-call", WORKING)
    with step("a session: the wrong call, the same again, the right one"):
        model.script = [CONNECTED, call(FAILING, 1), call(FAILING, 2), call(WORKING, 3)]
        words = ["-p", PROMPT, "--allowedTools", "Bash", "--model", "claude-sonnet-5-5"]
        home.run(program, *words, seconds=120, env=environment(url))
    requests = model.requests
    held(requests, "the host asked the model")
    loaded = {
        one["name"].rpartition("__")[2]
        for one in requests[-1]["tools"]
        if "mcp-reflect" in one["name"]
    }
    held(loaded == set(ALWAYS_LOADED), f"the tools are loaded: {loaded}")
    first, second, third = (json.dumps(block) for block in results(requests[-1])[-3:])
    held(
        "Pass --yes" in first and "refusing to run" not in first,
        f"the wrong call is held before it runs: {first}",
    )
    held("refusing to run" in second, f"made again it passes: {second}")
    held("all done" in third, f"the right call is not held: {third}")
    print("  the wrong call was held, made again it passed, and the right one was not held")


if __name__ == "__main__":
    sys.exit(main())
