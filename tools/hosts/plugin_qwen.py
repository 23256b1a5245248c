"""Our extension in the real Qwen Code, without an account: `python -m tools.hosts.plugin_qwen DIR`.

DIR is where `npm install --prefix DIR @qwen-code/qwen-code` put it; a model on loopback answers. The extension for Gemini
CLI is installed from a clone of this repository. Its first session makes its environment; in the next one its tools are
there. Qwen Code does not know the names of its hooks, which `mcp-reflect install qwen --hooks` writes.
"""

import json
import subprocess
import sys

from mcp_reflect.server.service import tools
from tools.hosts.hooked import HookedHost, run
from tools.hosts.qwen import model, shell
from tools.hosts.scripted_chat import ChatModel, serve_chat
from tools.hosts.trying import ROOT, Home, binary, clean_home, held, step, wait_for_environment

TOOLS = [tool["name"] for tool in tools()]
MOST_SECONDS = 200.0


def main() -> int:
    """Try it; see the module."""
    program = binary(".bin/qwen")
    words = (program, "--yolo", "--auth-type", "openai", "-p", "{prompt}")
    host = HookedHost(name="qwen", shell=shell, command=words, env=model)
    with clean_home("plugin-qwen") as home:
        home.env.pop("PYTHONPATH")  # the extension's own environment, not this checkout
        clone = home.folder / "clone"
        subprocess.run(["git", "clone", "-q", f"file://{ROOT}", str(clone)], check=True)
        with step("installed as an extension"):
            home.run(program, "extensions", "install", str(clone / "plugin"), "--consent")
        with step("its environment is there"):
            session(host, home)
            wait_for_environment(home.folder / ".cache" / "mcp-reflect", MOST_SECONDS)
        with step("its tools are offered"):
            offered = session(host, home)
        held(offered == TOOLS, f"all tools are offered: {offered}")
        with step("taken out"):
            home.run(program, "extensions", "uninstall", "mcp-reflect")
        left = [*(home.folder / ".qwen" / "extensions").glob("mcp-reflect*")]
        held(not left, f"the extension is gone: {left}")
    return 0


def session(host: HookedHost, home: Home) -> list[str]:
    """Run one prompt; return our tools that the host names to the model, perhaps behind a search."""
    scripted = ChatModel()
    server = serve_chat(scripted)
    try:
        said = run(host, home, f"http://127.0.0.1:{server.server_port}")
    finally:
        server.shutdown()
    held(scripted.requests, f"the host asked the model: {said}")
    told = json.dumps(scripted.requests)
    return [name for name in TOOLS if name in told]


if __name__ == "__main__":
    sys.exit(main())
