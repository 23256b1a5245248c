"""The real pi, without an account: `python -m tools.hosts.pi DIR`.

DIR is where `npm install --prefix DIR @earendil-works/pi-coding-agent` put it; a model on loopback answers.
"""

import json
import sys

from tools.hosts.hooked import HookedHost, try_host
from tools.hosts.scripted_chat import Line
from tools.hosts.trying import Home, binary


def shell(command: str) -> Line:
    return {"call": "bash", "arguments": {"command": command}}


def name_model(home: Home, url: str) -> None:
    """Name the model in its settings."""
    provider = {
        "baseUrl": f"{url}/v1",
        "apiKey": "x",
        "api": "openai-completions",
        "models": [{"id": "scripted", "name": "scripted"}],
    }
    file = home.folder / ".pi" / "agent" / "models.json"
    file.write_text(json.dumps({"providers": {"fake": provider}}), "utf-8")


def main() -> int:
    """Try it; see the module."""
    words = (binary(".bin/pi"), "--model", "fake/scripted", "-p", "{prompt}")
    env = {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1"}
    try_host(
        HookedHost(
            name="pi", shell=shell, command=words, env=lambda _url: env, prepare=name_model
        )
    )  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
