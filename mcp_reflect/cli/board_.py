"""`mcp-reflect board --out FILE`: the page on which a person sees what was learned."""

import os
from dataclasses import replace
from pathlib import Path

from mcp_reflect.board.gathering import gathered
from mcp_reflect.board.page import page
from mcp_reflect.cli.running import parser, say, say_json, with_engine
from mcp_reflect.engine import Engine
from mcp_reflect.errors import InputError
from mcp_reflect.settings import Settings


def run(arguments: list[str]) -> int:
    """Write the board as one file."""
    words = parser("board", "What was learned, on one page: its evidence, its effect, and what waits for you.")
    words.add_argument("--out", metavar="FILE", required=True, help="write the page to FILE; it only shows")
    words.add_argument("--project", metavar="NAME", help="another project than this directory's; '' is global")
    given = words.parse_args(arguments)
    settings = Settings.from_env()
    if given.project is not None:
        settings = replace(settings, project=given.project)
    file = Path(given.out)
    size = _written(file, with_engine(_page, settings))
    if given.json:
        say_json({"file": str(file), "bytes": size})
    else:
        say(f"The board is in {file} ({size / 1000:,.0f} kB). Open it in a browser; it needs no network.")
    return 0


async def _page(engine: Engine) -> str:
    return page("written", await gathered(engine)).html


def _written(file: Path, html: str) -> int:
    """Write a page that others must not read, all or nothing; its bytes."""
    body = html.encode()
    part = file.with_name(f"{file.name}.part")
    try:
        with os.fdopen(os.open(part, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb") as out:
            out.write(body)
        part.replace(file)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise InputError("--out", f"{file} cannot be written: {error.strerror}", "Name another file.") from None
    return len(body)
