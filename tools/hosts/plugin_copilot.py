"""Our plugin in the real Copilot CLI, without an account: `python -m tools.hosts.plugin_copilot DIR`.

DIR is where `npm install --prefix DIR @github/copilot` put it; a model on loopback answers. The plugin comes from a clone
of this repository; its first session makes its environment, and in the next one its hooks speak.
"""

import subprocess
import sys

from tools.hosts.copilot import model, shell
from tools.hosts.hooked import HookedHost, converse, run
from tools.hosts.scripted_chat import ChatModel, serve_chat
from tools.hosts.trying import ROOT, Home, binary, clean_home, step, wait_for_environment

MOST_SECONDS = 300.0


def main() -> int:
    """Try it; see the module."""
    program = binary(".bin/copilot")
    words = (program, "--allow-all-tools", "-p", "{prompt}")
    # A hook of a plugin starts one more process: on a busy machine its time may be up before it holds a message.
    host = HookedHost(name="copilot", shell=shell, command=words, env=model, holds=False)
    with clean_home("plugin-copilot") as home:
        clone = home.folder / "clone"
        subprocess.run(["git", "clone", "-q", f"file://{ROOT}", str(clone)], check=True)
        with step("installed as a plugin"):
            home.run(program, "plugin", "marketplace", "add", str(clone))
            home.run(program, "plugin", "install", "mcp-reflect@mcp-reflect")
        with step("its environment is there"):
            make_environment(host, home)
        with step("a session"):
            told = converse(host, home)
        print(f"    {told}")
    return 0


def make_environment(host: HookedHost, home: Home) -> None:
    """Run a session that makes the environment, and wait for it."""
    server = serve_chat(ChatModel())
    try:
        run(host, home, f"http://127.0.0.1:{server.server_port}")
    finally:
        server.shutdown()
    wait_for_environment(home.folder / ".copilot" / "plugin-data", MOST_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
