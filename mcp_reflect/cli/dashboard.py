"""`mcp-reflect board`: what was learned, on one page, in the browser or in a file."""

import asyncio
import sys
import threading
import webbrowser
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from mcp_reflect.cli.common import parser, replacing, say, say_json, with_engine
from mcp_reflect.config import Settings
from mcp_reflect.dashboard.data import gathered
from mcp_reflect.dashboard.page import page
from mcp_reflect.errors import InputError
from mcp_reflect.services.engine import Engine


def run(arguments: list[str]) -> int:
    """Serve the board to this machine's browser until Ctrl-C, or write it as one file."""
    words = parser(
        "board",
        "What was learned, on one page: its evidence, its effect, and what waits for you. Served on this machine "
        "alone, where you decide on it too, until Ctrl-C; with --out as a file that only shows.",
    )
    way = words.add_mutually_exclusive_group()
    way.add_argument("--out", metavar="FILE", help="write the page to FILE instead; it needs no server and no network")
    way.add_argument("--serve", action="store_true", help="serve it (what it does by itself)")
    words.add_argument("--port", type=int, default=0, help="the port to serve on; 0 takes a free one")
    words.add_argument("--no-open", action="store_true", help="print the address, and leave the browser alone")
    words.add_argument("--project", metavar="NAME", help="another project than this directory's; '' is global")
    given = words.parse_args(arguments)
    settings = Settings.from_env()
    if given.project is not None:
        settings = replace(settings, project=given.project)
    if given.out is not None:
        return _write(Path(given.out), settings, as_json=given.json)
    return _serve(settings, given.port, as_json=given.json, opens=not given.no_open)


def _write(file: Path, settings: Settings, *, as_json: bool) -> int:
    html = with_engine(_page, settings)
    try:
        with replacing(file) as out:
            out.write(html)
    except OSError as error:
        raise InputError("--out", f"{file} cannot be written: {error.strerror}", "Name another file.") from None
    size = len(html.encode())
    if as_json:
        say_json({"file": str(file), "bytes": size})
    else:
        say(f"The board is in {file} ({size / 1000:,.0f} kB). Open it in a browser; it needs no network.")
    return 0


async def _page(engine: Engine) -> str:
    return page("written", await gathered(engine)).html


def _serve(settings: Settings, port: int, *, as_json: bool, opens: bool) -> int:
    from mcp_reflect.dashboard.server import serve  # noqa: PLC0415 - a file needs no server

    def ready(address: str, once: str) -> None:
        if as_json:
            say_json({"address": address})
        else:
            say(
                f"The board is at {address}\nCtrl-C ends it. Whoever has this address may read and change your lessons."
            )
        sys.stdout.flush()
        if opens:
            threading.Thread(target=webbrowser.open, args=(once,), daemon=True).start()

    async def work() -> None:
        async with Engine(settings) as engine:
            await engine.bank.open()
            await serve(engine, port, ready)

    with suppress(KeyboardInterrupt):  # how it ends
        asyncio.run(work())
    return 0
