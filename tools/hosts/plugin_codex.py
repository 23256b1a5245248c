"""The plugin in the real Codex: `python -m tools.hosts.plugin_codex DIR`.

DIR is where npm installed it. The folder of this repository becomes a marketplace, and its plugin is added; Codex's own
app-server then starts the server, whose environment is made meanwhile, lists its tools, hooks and skill, and stores a
lesson for the project of a thread. Beside `mcp-reflect install codex` it says nothing twice. Then it is removed.
"""

import json
import sys
import time

from tools.hosts.codex import TOOLS, AppServer, called
from tools.hosts.plugin_claude_code import copy_checkout
from tools.hosts.trying import LESSON, ROOT, TASK, Home, binary, clean_home, held, step, stop

PLUGIN = "mcp-reflect@mcp-reflect"


def main() -> int:
    """Play it; see the module."""
    program = binary(".bin/codex")
    with clean_home("codex-plugin") as home:
        home.env.pop("PYTHONPATH")  # the plugin's own environment, not this checkout
        clone = home.folder / "clone"
        copy_checkout(clone)
        with step("added from the folder"):
            home.run(program, "plugin", "marketplace", "add", str(clone))
            home.run(program, "plugin", "add", PLUGIN)
        make(program, home)
        use(program, home)
        beside_install(program, home)
        with step("removed, and the lessons kept"):
            home.run(program, "plugin", "remove", PLUGIN)
            home.run(program, "plugin", "marketplace", "remove", "mcp-reflect")
            home.env["PYTHONPATH"] = str(ROOT)
            held(LESSON["correction"] in json.dumps(home.lessons()), "the lessons are kept")
            left = [
                path
                for path in home.folder.glob(".codex/plugins/**/*")
                if "mcp-reflect" in path.name
            ]
            print(f"  left: {[str(path.relative_to(home.folder)) for path in left]}")
    return 0


def started(program: str, home: Home) -> AppServer:
    """Codex's app-server, ready to be asked."""
    codex = AppServer(program, home)
    codex.ask("initialize", clientInfo={"name": "mcp-reflect-tests", "version": "1"})
    codex.send({"method": "initialized"})
    return codex


def make(program: str, home: Home) -> None:
    """The first start, during which the environment is made."""
    with step("the first start, and the environment made"):
        codex = started(program, home)
        try:
            (server,) = codex.ask("mcpServerStatus/list")["data"]
            held(set(server["tools"]) == TOOLS, f"its tools are listed at once: {server}")
        finally:
            codex.close()
        data = home.folder / ".codex" / "plugins" / "data"
        for _ in range(300):
            if list(data.glob("*/environment-*/ready")):
                return
            time.sleep(1)
        stop(
            f"the environment is not made: {[path.read_text() for path in data.glob('*/*') if path.is_file()]}"
        )


def use(program: str, home: Home) -> None:
    """Tools, hooks and the skill."""
    codex = started(program, home)
    try:
        with step("a lesson is stored for the thread's project, and recalled"):
            thread = codex.ask("thread/start", cwd=str(home.project))["thread"]["id"]
            stored = called(codex, thread, "store_lesson", {**LESSON, "detail": True})[
                "structuredContent"
            ]
            held(str(home.project) in stored["scope"], f"it is one of the project: {stored}")
            found = called(codex, thread, "recall_lessons", {"task": TASK})
            held(
                LESSON["correction"] in json.dumps(found["structuredContent"]),
                f"it is recalled: {found}",
            )
        with step("hooks and the skill are read"):
            (entry,) = codex.ask("hooks/list", cwds=[str(home.project)])["data"]
            held(not entry["errors"], f"no hook is faulty: {entry['errors']}")
            events = {hook["eventName"] for hook in entry["hooks"]}
            expected = {
                "sessionStart",
                "userPromptSubmit",
                "preToolUse",
                "postToolUse",
                "stop",
                "sessionEnd",
            }
            held(events == expected, f"each moment has its hook: {events}")
            skills = json.dumps(codex.ask("skills/list", cwds=[str(home.project)]))
            held("mcp-reflect:mcp-reflect" in skills, "the skill is listed")
    finally:
        codex.close()


def beside_install(program: str, home: Home) -> None:
    """The entry that `mcp-reflect install` writes has the server's name, and goes before the plugin's."""
    with step("beside `install codex`"):
        found = home.env | {"PYTHONPATH": str(ROOT)}
        words = (sys.executable, "-m", "mcp_reflect", "install", "codex")
        home.run(*words, "--hooks", "--yes", env=found)
        home.env["PYTHONPATH"] = str(ROOT)
        codex = started(program, home)
        try:
            servers = codex.ask("mcpServerStatus/list")["data"]
            tools = [tool for server in servers for tool in server["tools"]]
            held(sorted(tools) == sorted(TOOLS), f"each tool is listed once: {tools}")
        finally:
            codex.close()
        home.env.pop("PYTHONPATH")
        home.run(*words, "--uninstall", "--yes", env=found)


if __name__ == "__main__":
    sys.exit(main())
