"""The real Copilot CLI, without an account: `python -m tools.hosts.copilot DIR`.

DIR is where `npm install --prefix DIR @github/copilot` put it; a model on loopback answers.
"""

import sys
from collections.abc import Mapping

from tools.hosts.hooked import HookedHost, try_host
from tools.hosts.scripted_chat import Line
from tools.hosts.trying import binary


def shell(command: str) -> Line:
    return {"call": "bash", "arguments": {"command": command, "description": "Look"}}


def model(url: str) -> Mapping[str, str]:
    address = {"COPILOT_PROVIDER_BASE_URL": f"{url}/v1", "COPILOT_MODEL": "scripted"}
    return {"COPILOT_OFFLINE": "true", **address}


def main() -> int:
    """Try it; see the module."""
    words = (binary(".bin/copilot"), "--allow-all-tools", "-p", "{prompt}")
    try_host(HookedHost(name="copilot", shell=shell, command=words, env=model))
    return 0


if __name__ == "__main__":
    sys.exit(main())
