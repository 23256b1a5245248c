"""The real opencode, without an account: `python -m tools.hosts.opencode DIR`.

DIR is where `npm install --prefix DIR opencode-ai` put it; a model on loopback answers.
"""

import json
import sys

from tools.hosts.hooked import HookedHost, try_host
from tools.hosts.scripted_chat import Line
from tools.hosts.trying import Home, binary


def shell(command: str) -> Line:
    return {"call": "bash", "arguments": {"command": command, "description": "Look"}}


def name_model(home: Home, url: str) -> None:
    """Name the model in the settings that have our entry."""
    file = home.folder / ".config" / "opencode" / "opencode.json"
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{url}/v1", "apiKey": "x"},
        "models": {"scripted": {"name": "scripted", "tool_call": True}},
    }
    settings = json.loads(file.read_text("utf-8"))
    settings |= {"provider": {"fake": provider}, "model": "fake/scripted"}
    file.write_text(json.dumps(settings), "utf-8")


def main() -> int:
    """Try it; see the module."""
    words = (binary(".bin/opencode"), "run", "{prompt}")
    try_host(
        HookedHost(
            name="opencode", shell=shell, command=words, env=lambda _url: {},
            prepare=name_model, holds=False,
        )
    )  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
