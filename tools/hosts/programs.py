"""The real agent programs as language models: `python -m tools.hosts.programs DIR`.

DIR is where npm installed them. Claude Code answers from a scripted endpoint on loopback, in a home with our hooks and
our server; Codex and Gemini CLI have no account, so each must say so, and rules answer.
"""

import json
import sys
from pathlib import Path
from typing import Any

from mcp_reflect.cli.demo import EVENTS, TASK
from tools.hosts.claude_code_tools import environment
from tools.hosts.scripted_anthropic import Model, serve
from tools.hosts.trying import Home, binary, clean_home, held, step

ANALYSIS = {
    "reflection": "PYTHONPATH lacked src.",
    "strategy": "Set PYTHONPATH=src.",
    "importance": 0.6,
}


class Answering(Model):
    """Answers every request with the analysis."""

    def reply(self, request: dict[str, Any]) -> dict[str, Any]:
        self.requests.append(request)
        return {"type": "text", "text": json.dumps(ANALYSIS)}


def reflected(home: Home, provider: str, env: dict[str, str]) -> dict[str, Any]:
    """What `mcp-reflect reflect` makes of a failed run with the provider."""
    run = home.folder / "run.json"
    run.write_text(json.dumps({"task": TASK, "outcome": "failure", "events": EVENTS}))
    words = (sys.executable, "-m", "mcp_reflect", "reflect", "--json", str(run))
    return json.loads(home.run(*words, seconds=120, env={**env, "MCP_REFLECT_LLM": provider}))


def main() -> int:
    """Try each program; see the module."""
    folder = str(Path(binary(".bin/claude")).parent)
    model = Answering()
    server = serve(model)
    env = environment(f"http://127.0.0.1:{server.server_port}")
    env["PATH"] = f"{folder}:{env['PATH']}"
    try:
        with clean_home("programs") as home, step("Claude Code answers"):
            home.run(
                sys.executable,
                "-m",
                "mcp_reflect",
                "install",
                "claude-code",
                "--hooks",
                "--yes",
                env=env,
            )
            result = reflected(home, "claude-code", env)
            held(result["thinker"] == "claude-code", f"Claude Code reflected: {result}")
            held(result["reflection"] == ANALYSIS["reflection"], f"its words are stored: {result}")
            held(all(not request.get("tools") for request in model.requests), "it had no tools")
            held("mcp-reflect" not in json.dumps(model.requests), "no hook of ours spoke in it")
    finally:
        server.shutdown()
    for provider in ("codex", "gemini"):
        with clean_home(f"programs-{provider}") as home, step(f"{provider} without an account"):
            result = reflected(home, provider, {"PATH": env["PATH"]})
            held(result["thinker"] == "rules", f"rules answered: {result}")
            held(provider in result["note"], f"the note says why: {result}")
            print(f"  {result['note']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
