"""Replay calls as agents send them, in many forms: `python -m benchmarks.calls`.

Prints the calls that a reader can make sense of and that were refused, with the bytes of the answers.
"""

import asyncio
import json
import statistics
import tempfile
from pathlib import Path

from mcp import Client
from mcp.types import TextContent

from mcp_reflect.config import Settings
from mcp_reflect.server.app import build
from tests.server.varied_calls import CALLS, RECORDED, VARIATIONS, Values, read_calls, varied


async def replay(file: Path) -> tuple[int, list[str], dict[str, list[int]]]:
    """The number of calls, the refused ones, and the bytes of the answers by tool."""
    calls = read_calls(file)
    count, refused, sizes = 0, list[str](), dict[str, list[int]]()
    with tempfile.TemporaryDirectory() as folder:
        async with Client(build(Settings(bank=Path(folder) / "bank.db", project="app"))) as client:
            for call in calls:
                for name, values in varied(call):
                    lesson = await client.call_tool(
                        "store_lesson",
                        {
                            "mistake": "pytest failed in the root folder",
                            "correction": "run it in api",
                        },
                    )
                    stored: Values = lesson.structured_content or {}
                    text = json.dumps(values).replace("$lesson", str(stored["lesson_id"]))
                    result = await client.call_tool(call["tool"], json.loads(text))
                    answer = "".join(
                        block.text for block in result.content if isinstance(block, TextContent)
                    )
                    count += 1
                    if result.is_error:
                        refused.append(f"{call['tool']} ({name}): {answer[:160]}")
                    else:
                        sizes.setdefault(call["tool"], []).append(len(answer.encode()))
    return count, refused, sizes


def main() -> None:
    """Print what was refused and how long the answers are."""
    for title, file in (("Recorded", RECORDED), ("Written", CALLS)):
        count, refused, sizes = asyncio.run(replay(file))
        every, calls = len(file.read_text(encoding="utf-8").splitlines()), len(read_calls(file))
        print(
            f"{title}: {calls} calls ({every - calls} kept apart), {len(VARIATIONS)} forms, {count} replayed"
        )
        print(f"  understood but refused: {len(refused)}")
        for line in refused:
            print(f"    {line}")
        for tool, values in {
            **sizes,
            "all": [size for each in sizes.values() for size in each],
        }.items():
            p95 = statistics.quantiles([*values, values[-1]], n=20)[18]
            print(
                f"  {tool}: {len(values)} answers, bytes p50 {statistics.median(values):.0f}, p95 {p95:.0f}"
            )


if __name__ == "__main__":
    main()
