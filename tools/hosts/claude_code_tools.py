"""A session of the real Claude Code that finds our tools by itself: `python -m tools.hosts.claude_code_tools DIR`.

DIR is where `npm install --prefix DIR @anthropic-ai/claude-code` put it. `mcp-reflect install claude-code` registers
the server in a clean home, and an endpoint on loopback plays the model. Claude Code shows the model the five tools that
say so, and has a search for the others: the model first searches in the words that a person would use, and each tool
must come back for its words. Then it calls reflect on a failed run, and recall_lessons; a failing call must come back
as one.
"""

import json
import os
import sys
from typing import Any

from tools.hosts.scripted_anthropic import Model, results, serve, tool_use
from tools.hosts.trying import Home, binary, clean_home, held, step

# What an agent would search for among the deferred tools, and the tool that it should find.
SEARCHES = (
    ("search found nothing, other queries", "replan_search"),
    ("should I stop and reflect now", "should_reflect"),
    ("forget a lesson that is wrong", "forget_lesson"),
)
LOADED = ("recall_lessons", "store_lesson", "reflect", "record_outcome", "critique")
RUN: dict[str, Any] = {
    "task": "Deploy the shop",
    "outcome": "partial",
    "analysis": {
        "mistake": "Ran ./deploy.sh without --confirm: it refuses",
        "correction": "Pass --confirm to ./deploy.sh",
    },
    "events": [
        {"type": "tool_call", "tool": "bash", "arguments": {"command": "./deploy.sh --region eu"}},
        {
            "type": "tool_response",
            "tool": "bash",
            "error": "deploy.sh: error: refusing to run without --confirm",
        },
        {
            "type": "tool_call",
            "tool": "bash",
            "arguments": {"command": "./deploy.sh --region eu --confirm"},
        },
        {"type": "tool_response", "tool": "bash", "content": "deployed"},
    ],
}
CALLS = (
    ("reflect", RUN),
    ("recall_lessons", {"task": "Deploy the shop to the eu region"}),
    ("recall_lessons", {"task": ""}),
)


def main() -> int:
    """Try it; see the module."""
    program = binary("@anthropic-ai/claude-code-*/claude")
    model = Model()
    server = serve(model)
    try:
        with clean_home("claude-code") as home:
            home.reflect("install", "claude-code", "--yes")
            print(home.run(program, "--version").strip())
            attempt(program, model, f"http://127.0.0.1:{server.server_port}", home)
    finally:
        server.shutdown()
    return 0


def attempt(program: str, model: Model, url: str, home: Home) -> None:
    """One session, and what it must have brought the model."""
    searches = [{"query": query, "max_results": 5} for query, _ in SEARCHES]
    # The search waits for a server that is starting, though not for long: ask before what counts.
    model.script = [tool_use("ToolSearch", searches[0], 9000 + number) for number in range(4)]
    model.script += [tool_use("ToolSearch", one, number) for number, one in enumerate(searches)]
    model.script += [
        tool_use(f"mcp__mcp-reflect__{name}", arguments, len(SEARCHES) + number)
        for number, (name, arguments) in enumerate(CALLS)
    ]
    with step("a session: three searches, three calls"):
        words = [
            "-p",
            "Deploy the shop",
            "--allowedTools",
            "mcp__mcp-reflect",
            "--model",
            "claude-sonnet-5-5",
        ]
        home.run(program, *words, seconds=120, env=environment(url))
    told = {block["tool_use_id"]: block for request in model.requests for block in results(request)}
    for number, (query, tool) in enumerate(SEARCHES):
        found: list[dict[str, Any]] = told[f"toolu_{number:04}"]["content"]
        named = [one.get("tool_name") for one in found]
        held(f"mcp__mcp-reflect__{tool}" in named, f"{query!r} finds {tool}: {named}")
    listed = {tool["name"] for request in model.requests for tool in request.get("tools", ())}
    for tool in LOADED:
        held(f"mcp__mcp-reflect__{tool}" in listed, f"{tool} is loaded: {sorted(listed)}")
    reflected, recalled, refused = (
        told[f"toolu_{len(SEARCHES) + number:04}"] for number in range(len(CALLS))
    )
    held(
        "reflection_id" in json.dumps(reflected["content"]), f"the run is reflected on: {reflected}"
    )
    held("--confirm" in json.dumps(recalled["content"]), f"its lesson is recalled: {recalled}")
    held(refused.get("is_error") is True, f"an empty task is an error: {refused}")
    held("task" in json.dumps(refused["content"]), f"and it names the field: {refused}")
    print("  each tool is found by its words; reflect, recall_lessons and an error come through")


def environment(url: str) -> dict[str, str]:
    """No account, no network but the endpoint; the search even where there are few tools; servers waited for."""
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "scripted",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "ENABLE_TOOL_SEARCH": "true",
        "MCP_CONNECTION_NONBLOCKING": "0",
        "MCP_TIMEOUT": "60000",
        "PATH": os.environ["PATH"],
    }


if __name__ == "__main__":
    sys.exit(main())
