"""The real Codex, without an account: `python -m tools.hosts.codex DIR`.

DIR is where `npm install --prefix DIR @openai/codex` put it. `mcp-reflect install codex --hooks` registers the
server in a clean home; then Codex's own app-server starts it, lists it with all its tools, calls two of them, and
lists the hooks, each waiting for a person's trust.
"""

import json
import subprocess
import sys
from typing import Any

from tools.hosts.trying import LESSON, TASK, Home, binary, clean_home, held, step, stop

TOOLS = {
    *("should_reflect", "reflect", "critique", "replan_search"),
    *("recall_lessons", "store_lesson", "record_outcome", "forget_lesson"),
}


class AppServer:
    """`codex app-server`: a line of JSON for each message."""

    def __init__(self, command: str, home: Home) -> None:
        self._process = subprocess.Popen(
            [command, "app-server"],
            cwd=home.project,
            env=home.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._last = 0
        self.warnings: list[str] = []

    def send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def ask(self, method: str, **params: Any) -> Any:
        """The result of a request; what comes in between is passed over, warnings are kept."""
        self._last += 1
        self.send({"id": self._last, "method": method, "params": params})
        assert self._process.stdout
        for line in self._process.stdout:
            message = json.loads(line)
            if message.get("method") in ("warning", "configWarning"):
                self.warnings.append(json.dumps(message["params"]))
            if message.get("id") == self._last and "method" not in message:
                held("result" in message, f"{method} is answered: {line}")
                return message["result"]
        return stop(f"Codex ended before it answered {method}")

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def main() -> int:
    """Try it; see the module."""
    program = binary(".bin/codex")
    with clean_home("codex") as home:
        home.reflect("install", "codex", "--hooks", "--yes")
        print(home.run(program, "--version").strip())
        codex = AppServer(program, home)
        try:
            attempt(codex, home)
        finally:
            codex.close()
    return 0


def attempt(codex: AppServer, home: Home) -> None:
    """What is asked of Codex."""
    with step("started"):
        codex.ask("initialize", clientInfo={"name": "mcp-reflect-tests", "version": "1"})
        codex.send({"method": "initialized"})
    with step("the server is listed with its tools"):
        (server,) = codex.ask("mcpServerStatus/list")["data"]
        held(server["name"] == "mcp-reflect", "it is our server")
        held(set(server["tools"]) == TOOLS, f"it has all tools: {sorted(server['tools'])}")
    with step("a lesson is stored and recalled through it"):
        thread = codex.ask("thread/start", cwd=str(home.project))["thread"]["id"]
        stored = called(codex, thread, "store_lesson", LESSON)
        held(stored["structuredContent"]["status"] == "stored", f"the lesson is stored: {stored}")
        found = called(codex, thread, "recall_lessons", {"task": TASK})
        held(
            LESSON["correction"] in json.dumps(found["structuredContent"]),
            f"it is recalled: {found}",
        )
    with step("the hooks are read"):
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
        ours = [one for one in (*entry["warnings"], *codex.warnings) if "hook" in one.lower()]
        held(not ours, f"it warns of none: {ours}")


def called(codex: AppServer, thread: str, tool: str, arguments: dict[str, Any]) -> Any:
    """A call of a tool of ours, as Codex makes it."""
    given = {"server": "mcp-reflect", "tool": tool, "arguments": arguments}
    result = codex.ask("mcpServer/tool/call", threadId=thread, **given)
    held(not result.get("isError"), f"{tool} works: {result}")
    return result


if __name__ == "__main__":
    sys.exit(main())
