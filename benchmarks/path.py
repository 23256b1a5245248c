"""Which files of ours a call executes: `python -m benchmarks.path` prints the count and the files of two tools."""

import asyncio
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import Any

from mcp import Client

from mcp_reflect.config import Settings
from mcp_reflect.server.app import build

PACKAGE = str(Path(__file__).parent.parent / "mcp_reflect")
RUN: dict[str, Any] = {
    "task": "Read the settings",
    "outcome": "failure",
    "events": [
        {"tool": "read_file", "arguments": {"path": "setings.toml"}},
        {"tool": "read_file", "error": "No such file: setings.toml"},
    ],
}
CALLS: list[tuple[str, dict[str, Any], int]] = [
    ("recall_lessons", {"task": "read the settings"}, 25),
    ("reflect", RUN, 45),
]


async def files_of(tool: str, arguments: dict[str, Any]) -> set[str]:
    """The files of the package whose functions the second call of a tool executes, in all threads."""
    files: set[str] = set()
    is_measured = False

    def trace(frame: FrameType, event: str, value: object) -> None:
        del event, value
        name = frame.f_code.co_filename
        if is_measured and name.startswith(PACKAGE) and frame.f_code.co_name != "<module>":
            files.add(name.removeprefix(PACKAGE + "/"))

    threading.setprofile(trace)  # for the threads that start from now on
    sys.setprofile(trace)
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(bank=Path(folder) / "bank.db", project="app")
        async with Client(build(settings)) as client:
            await client.call_tool(
                "store_lesson", {"lesson": "setings.toml is missing: the file is settings.toml"}
            )
            await client.call_tool(tool, {**arguments, "task": "warm up"})
            is_measured = True
            await client.call_tool(tool, arguments)
            is_measured = False
    sys.setprofile(None)
    threading.setprofile(None)
    return files


def main() -> None:
    """Print the files that each call passes."""
    for tool, arguments, most in CALLS:
        files = asyncio.run(files_of(tool, arguments))
        print(f"{tool}: {len(files)} files (at most {most})")
        print("  " + " ".join(sorted(files)))


if __name__ == "__main__":
    main()
