"""The real Qwen Code, without an account: `python -m tools.hosts.qwen DIR`.

DIR is where `npm install --prefix DIR @qwen-code/qwen-code` put it; a model on loopback answers.
"""

import sys
from collections.abc import Mapping

from tools.hosts.hooked import HookedHost, try_host
from tools.hosts.scripted_chat import Line
from tools.hosts.trying import binary


def shell(command: str) -> Line:
    arguments = {"command": command, "description": "Look", "is_background": False}
    return {"call": "run_shell_command", "arguments": arguments}


def model(url: str) -> Mapping[str, str]:
    return {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": "scripted"}


def main() -> int:
    """Try it; see the module."""
    words = (binary(".bin/qwen"), "--yolo", "--auth-type", "openai", "-p", "{prompt}")
    try_host(HookedHost(name="qwen", shell=shell, command=words, env=model))
    return 0


if __name__ == "__main__":
    sys.exit(main())
