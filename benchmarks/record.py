"""Call the server from a shell, one call a command, and keep each call as it was sent, with its answer.

    python -m benchmarks.record FOLDER                    # the tools, as a host shows them to its model
    python -m benchmarks.record FOLDER TOOL 'ARGUMENTS'   # one call; the arguments are a JSON object
    python -m benchmarks.record FOLDER TOOL < FILE        # the same, without quotation marks of a shell

FOLDER is one piece of work: its bank (`bank.db`) and its recorded calls (`calls.jsonl`) stay there. `benchmarks.calls`
replays calls that were recorded in this way.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any, Final, cast

from mcp import Client, StdioServerParameters, stdio_client
from mcp.types import TextContent

from mcp_reflect.models.common import Json

_NO_OBJECT: Final = "The arguments are no JSON object."


def recorded(folder: Path, tool: str, sent: str, answer: str, *, is_error: bool) -> dict[str, Any]:
    """Append a call to the recording of `folder`, and return it. Text that is no JSON object stays as it is."""
    arguments = _object(sent)
    parts: dict[str, Json] = {"sent": sent} if arguments is None else {"arguments": arguments}
    call: dict[str, Any] = {"work": folder.name, "tool": tool, **parts, "is_error": is_error, "answer": answer}
    with (folder / "calls.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(call, ensure_ascii=False) + "\n")
    return call


def _object(text: str) -> dict[str, Json] | None:
    try:
        value: Any = json.loads(text)
    except ValueError:
        return None
    return cast("dict[str, Json]", value) if isinstance(value, dict) else None


async def run(folder: Path, tool: str | None, sent: str) -> tuple[str, bool]:
    """Return what the server answers, and whether that is an error; without a tool, the list of tools."""
    env = {**os.environ, "MCP_REFLECT_BANK": str(folder / "bank.db"), "MCP_REFLECT_PROJECT": folder.name}
    server = StdioServerParameters(command=sys.executable, args=["-m", "mcp_reflect"], env=env)
    async with Client(stdio_client(server)) as client:
        if tool is None:
            tools = [
                f"## {each.name}\n{each.description}\n{json.dumps(each.input_schema)}"
                for each in (await client.list_tools()).tools
            ]
            return "\n\n".join([client.instructions or "", *tools]), False
        result = await client.call_tool(tool, _object(sent) or {})
        return "".join(block.text for block in result.content if isinstance(block, TextContent)), bool(result.is_error)


def main(words: list[str]) -> int:
    """Make one call; 1 if it was refused, 2 if there is none to make."""
    if not 1 <= len(words) <= 3 or words[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    folder, tool = Path(words[0]).resolve(), words[1] if len(words) > 1 else None
    folder.mkdir(parents=True, exist_ok=True)
    sent = words[2] if len(words) > 2 else sys.stdin.read() if tool else ""
    answer, is_error = (_NO_OBJECT, True) if tool and _object(sent) is None else asyncio.run(run(folder, tool, sent))
    if tool:
        recorded(folder, tool, sent, answer, is_error=is_error)
    print(answer)
    return int(is_error)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
