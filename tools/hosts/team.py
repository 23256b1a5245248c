"""Real hosts of two people on one service, without an account: `python -m tools.hosts.team DIR`.

DIR is where npm has installed Claude Code, Codex and Gemini CLI. `mcp-reflect install HOST --url` has registered the
service in two clean homes, which stand for two machines. Ada's Codex stores a lesson. Bob's Claude Code, whose model an
endpoint on loopback plays, is told it by its hook and recalls it; his token is a reader's, so it may not store one.
Gemini CLI is connected with Ada's token until that is revoked. No file of either home has a token.
"""

import json
import sys
import tempfile
from pathlib import Path

from mcp_reflect.storage.tokens import PREFIX
from tests.server.test_team_processes import made, run, serving
from tools.hosts.claude_code_tools import environment
from tools.hosts.codex import AppServer, called
from tools.hosts.scripted_anthropic import Model, results, serve, tool_use
from tools.hosts.trying import LESSON, TASK, Home, binary, clean_home, held, step

RECALL, STORE = 100, 101  # the numbers of Bob's calls


def main() -> int:
    """Try it; see the module."""
    with (
        tempfile.TemporaryDirectory() as folder,
        clean_home("ada") as ada,
        clean_home("bob") as bob,
    ):
        bank = Path(folder) / "bank.db"
        ada.env["REFLECT_TOKEN"], bob.env["REFLECT_TOKEN"] = (
            made(bank, "ada"),
            made(bank, "bob", "reader"),
        )
        with serving(bank) as (url, _):
            for home, hosts in ((ada, ("codex", "gemini")), (bob, ("claude-code",))):
                for host in hosts:
                    home.reflect("install", host, "--url", url, "--hooks", "--yes")
            store_with_codex(ada)
            bob.reflect(
                "recall", "--url", url, TASK
            )  # a hook waits .6 s: no first answer of a service
            recall_with_claude_code(bob)
            connect_with_gemini(ada, bank)
        for home in (ada, bob):
            # Codex keeps the environment of its shell, where a person puts the token, in files of its own.
            files = [
                path
                for path in home.folder.rglob("*")
                if path.is_file() and path.parent.name != "shell_snapshots"
            ]
            having = [path for path in files if PREFIX.encode() in path.read_bytes()]
            held(not having, f"no file has a token: {having}")
    return 0


def store_with_codex(home: Home) -> None:
    """Ada's agent stores a lesson."""
    codex = AppServer(binary(".bin/codex"), home)
    try:
        with step("Codex stores a lesson in the service"):
            codex.ask("initialize", clientInfo={"name": "mcp-reflect-tests", "version": "1"})
            codex.send({"method": "initialized"})
            thread = codex.ask("thread/start", cwd=str(home.project))["thread"]["id"]
            stored = called(codex, thread, "store_lesson", LESSON)
            held(
                stored["structuredContent"]["status"] == "stored", f"the lesson is stored: {stored}"
            )
    finally:
        codex.close()


def recall_with_claude_code(home: Home) -> None:
    """Bob's agent is told the lesson, recalls it, and may not store one."""
    model = Model()
    server = serve(model)
    try:
        search = {"query": "lessons learned from earlier tasks", "max_results": 5}
        model.script = [
            *(
                tool_use("ToolSearch", search, number) for number in range(4)
            ),  # it waits for the service, briefly
            tool_use("mcp__mcp-reflect__recall_lessons", {"task": TASK}, RECALL),
            tool_use("mcp__mcp-reflect__store_lesson", LESSON, STORE),
        ]
        with step("Claude Code recalls it from the service, and its hook tells it before"):
            words = [
                "-p",
                "Deploy the shop",
                "--allowedTools",
                "mcp__mcp-reflect",
                "--model",
                "claude-sonnet-5-5",
            ]
            env = environment(f"http://127.0.0.1:{server.server_port}")
            home.run(binary("@anthropic-ai/claude-code-*/claude"), *words, seconds=120, env=env)
    finally:
        server.shutdown()
    held(
        LESSON["correction"] in json.dumps(model.requests[0]["messages"]),
        "the hook tells the lesson",
    )
    told = {block["tool_use_id"]: block for request in model.requests for block in results(request)}
    recalled, refused = told[f"toolu_{RECALL:04}"], told[f"toolu_{STORE:04}"]
    held(LESSON["correction"] in json.dumps(recalled["content"]), f"it is recalled: {recalled}")
    held(refused.get("is_error") is True, f"a reader stores nothing: {refused}")
    held("must be writer" in json.dumps(refused["content"]), f"and is told why: {refused}")


def connect_with_gemini(home: Home, bank: Path) -> None:
    """Gemini CLI is connected until the token is revoked. It starts servers in trusted folders alone."""
    program = binary(".bin/gemini")
    trusted = home.folder / ".gemini" / "trustedFolders.json"
    trusted.write_text(json.dumps({str(home.project): "TRUST_FOLDER"}), "utf-8")
    with step("Gemini CLI is connected, and no longer once the token is revoked"):
        said = home.run(program, "mcp", "list", errors=True)
        held("Connected" in said, f"it is connected:\n{said}")
        held(run(bank, "tokens", "revoke", "ada").returncode == 0, "the token is revoked")
        said = home.run(program, "mcp", "list", errors=True)
        held("Disconnected" in said, f"it is not any more:\n{said}")


if __name__ == "__main__":
    sys.exit(main())
