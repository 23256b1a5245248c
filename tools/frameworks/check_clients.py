"""The first part of docs/frameworks.md, tried: `python -m tools.frameworks.check_clients COMMAND NAME...`

COMMAND is mcp-reflect's, which may stand in another environment: this script needs the named frameworks alone. Each
opens the server as the page says, lists the tools, stores a lesson, recalls it, reflects on a run, and must get
structured results, and an error for an empty task.
"""

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tools.frameworks.page import examples

TOOLS = {
    *("should_reflect", "reflect", "critique", "replan_search"),
    *("recall_lessons", "store_lesson", "record_outcome", "forget_lesson"),
}
LESSON = {
    "mistake": "Deployed the shop on a Friday evening",
    "correction": "Deploy the shop on a Tuesday morning",
}
RUN = {
    "task": "Run the tests of the shop",
    "outcome": "partial",
    "events": [
        {"type": "tool_call", "tool": "bash", "arguments": {"command": "pytest shop"}},
        {
            "type": "tool_response",
            "tool": "bash",
            "error": "ModuleNotFoundError: No module named 'shop'",
        },
        {
            "type": "tool_call",
            "tool": "bash",
            "arguments": {"command": "PYTHONPATH=src pytest shop"},
        },
        {"type": "tool_response", "tool": "bash", "content": "12 passed"},
    ],
}

# The names of the tools, and a call: its structured result (or, where the framework has none, its JSON), or the error.
Answer = dict[str, Any] | str
Opened = tuple[set[str], Callable[[str, dict[str, Any]], Awaitable[Answer]]]


@asynccontextmanager
async def openai_agents(
    page: dict[str, Any], command: str, env: dict[str, str]
) -> AsyncIterator[Opened]:
    async with page["openai_agents"](command, env) as server:

        async def call(name: str, arguments: dict[str, Any]) -> Answer:
            return of_result(await server.call_tool(name, arguments))

        yield {tool.name for tool in await server.list_tools()}, call


@asynccontextmanager
async def pydantic_ai(
    page: dict[str, Any], command: str, env: dict[str, str]
) -> AsyncIterator[Opened]:
    from pydantic_ai import ModelRetry

    async with page["pydantic_ai"](command, env) as toolset:

        async def call(name: str, arguments: dict[str, Any]) -> Answer:
            try:
                return await toolset.direct_call_tool(name, arguments)
            except ModelRetry as error:
                return error.message

        yield {tool.name for tool in await toolset.list_tools()}, call


@asynccontextmanager
async def llama_index(
    page: dict[str, Any], command: str, env: dict[str, str]
) -> AsyncIterator[Opened]:
    tools = {tool.metadata.name: tool for tool in await page["llama_index"](command, env)}

    async def call(name: str, arguments: dict[str, Any]) -> Answer:
        return of_result((await tools[name].acall(**arguments)).raw_output)

    yield set(tools), call


@asynccontextmanager
async def fastmcp(page: dict[str, Any], command: str, env: dict[str, str]) -> AsyncIterator[Opened]:
    from fastmcp.exceptions import ToolError

    async with page["fastmcp"](command, env) as client:

        async def call(name: str, arguments: dict[str, Any]) -> Answer:
            try:
                return (await client.call_tool(name, arguments)).structured_content
            except ToolError as error:
                return str(error)

        yield {tool.name for tool in await client.list_tools()}, call


@asynccontextmanager
async def langchain(
    page: dict[str, Any], command: str, env: dict[str, str]
) -> AsyncIterator[Opened]:
    from langchain_mcp_adapters.tools import load_mcp_tools

    async with page["langchain"](command, env).session("mcp-reflect") as session:
        tools = {tool.name: tool for tool in await load_mcp_tools(session, handle_tool_errors=True)}

        async def call(name: str, arguments: dict[str, Any]) -> Answer:
            asked = {"type": "tool_call", "id": "c1", "name": name, "args": arguments}
            message = await tools[name].ainvoke(asked)
            return (
                str(message.content)
                if message.status == "error"
                else message.artifact["structured_content"]
            )

        yield set(tools), call


def of_result(result: Any) -> Answer:
    """The structured content of a CallToolResult, or the text of one that is an error."""
    return str(result.content[0].text) if result.is_error else result.structured_content


CLIENTS = {
    "OpenAI Agents": openai_agents,
    "Pydantic AI": pydantic_ai,
    "LlamaIndex": llama_index,
    "FastMCP": fastmcp,
    "LangChain": langchain,
}


async def attempt(name: str, command: str, bank: Path) -> None:
    """One framework, from the page's example to an error."""
    opened = CLIENTS[name]
    page = examples("The tools, over MCP", name)
    async with opened(
        page, command, {"MCP_REFLECT_BANK": str(bank), "MCP_REFLECT_PROJECT": "shop"}
    ) as (tools, call):
        held(tools == TOOLS, f"it lists the tools: {tools}")
        stored = await call("store_lesson", LESSON)
        held(isinstance(stored, dict) and stored["status"] == "stored", f"it stores: {stored}")
        found = await call("recall_lessons", {"task": "deploy the shop"})
        held(
            isinstance(found, dict) and LESSON["correction"] in json.dumps(found["lessons"]),
            f"it recalls: {found}",
        )
        reflected = await call("reflect", RUN)
        held(tells_the_facts(reflected), f"it reflects: {reflected}")
        refused = await call("recall_lessons", {"task": ""})
        held(
            isinstance(refused, str) and "task" in refused,
            f"an empty task is an error that names it: {refused}",
        )


def tells_the_facts(answer: Answer) -> bool:
    """Whether a reflection without an analysis names what failed first, and how to add what it means."""
    return (
        isinstance(answer, dict)
        and answer["thinker"] == "rules"
        and answer["first_failing_event"] == "e2"
        and "PYTHONPATH=src pytest shop" in answer["reflection"]
        and "analysis {mistake, correction" in answer["next"]["send"]
    )


def held(truth: bool, what: str) -> None:
    """End the check where something is not so."""
    if not truth:
        sys.exit(f"FAILED: this is not so: {what}")


def main() -> int:
    """Try the named frameworks."""
    command, *names = sys.argv[1:]
    for name in names:
        began = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(attempt(name, command, Path(folder) / "bank.db"))
        print(
            f"{name}: lists, stores, recalls, reflects, and gets an error: {time.perf_counter() - began:.1f} s"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
