"""What every command does: parse its words, open the engine, print for people or programs."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_reflect.config import Settings
from mcp_reflect.engine import Engine

if TYPE_CHECKING:
    import argparse

_Answer = TypeVar("_Answer")


def parser(command: str, about: str) -> "argparse.ArgumentParser":
    """A parser for one command, with `--json`, and examples at the end of its help."""
    import argparse  # noqa: PLC0415 - a hook has no words to parse

    from mcp_reflect.cli.examples import shown  # noqa: PLC0415 - same
    from mcp_reflect.cli.words import Words  # noqa: PLC0415 - same

    made = Words(
        prog=f"mcp-reflect {command}",
        description=about,
        epilog=shown(command),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument("--json", action="store_true", help="print JSON for a program")
    return made


def with_engine(work: Callable[[Engine], Awaitable[_Answer]], settings: Settings | None = None) -> _Answer:
    """Run `work` with an engine over the bank that the settings (default: the environment) name, and close it."""

    async def run() -> _Answer:
        async with Engine(settings) as engine:
            return await work(engine)

    return asyncio.run(run())


def say(text: str) -> None:
    """A line for a person, or a program's JSON line."""
    sys.stdout.write(f"{text}\n")


def say_json(value: Any) -> None:
    """A value for a program, on one line."""
    say(json.dumps(value, ensure_ascii=False))


def vectors_said(state: Mapping[str, Any]) -> str:
    """Which embedder a bank has, and how many lessons have a vector of it, for a person."""
    return f"{state['embedder']}, {state['with_vector']} of {state['lessons']} lessons have a vector"


def table(rows: Sequence[Sequence[str]], heads: Sequence[str], widest: int = 60) -> str:
    """Rows under heads, in columns. Longer cells are cut at `widest` characters, and line ends become spaces."""
    cells = [[_cell(cell, widest) for cell in row] for row in (heads, *rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(heads))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def _cell(text: str, widest: int) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= widest else f"{flat[: widest - 1]}…"
