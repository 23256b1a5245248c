"""The real Cline CLI, without an account: `python -m tools.hosts.cline DIR`.

DIR is where `npm install --prefix DIR cline` put it; a model on loopback answers.
"""

import sys

from tools.hosts.hooked import HookedHost, try_host
from tools.hosts.scripted_chat import Line
from tools.hosts.trying import Home, binary


def shell(command: str) -> Line:
    return {"call": "run_commands", "arguments": {"commands": [command]}}


def name_model(home: Home, url: str) -> None:
    """Name the model, as a person does."""
    words = ("-p", "openai-compatible", "-k", "x", "-m", "scripted", "-b", f"{url}/v1")
    home.run(binary(".bin/cline"), "auth", *words)


def end_hub(home: Home) -> None:
    """End the process that it leaves in the background."""
    home.run(binary(".bin/cline"), "hub", "stop")


def main() -> int:
    """Try it; see the module."""
    words = (binary(".bin/cline"), "-P", "openai-compatible", "-m", "scripted", "{prompt}")
    try_host(
        HookedHost(
            name="cline", shell=shell, command=words, env=lambda _url: {},
            prepare=name_model, finish=end_hub, holds=False,
        )
    )  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
