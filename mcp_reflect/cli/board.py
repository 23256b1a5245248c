"""Show the dashboard in a browser, or write it to a file: `mcp-reflect board`."""

import asyncio
import sys
import threading
import webbrowser
from argparse import Namespace
from contextlib import suppress
from dataclasses import replace

from mcp_reflect.cli.commands import CliParser
from mcp_reflect.cli.engine import with_engine
from mcp_reflect.cli.files import write_output
from mcp_reflect.cli.output import write_json, write_line
from mcp_reflect.config import Settings
from mcp_reflect.dashboard.data import collect
from mcp_reflect.dashboard.page import MARK, render_page
from mcp_reflect.services.engine import Engine


def add_board_arguments(parser: CliParser) -> None:
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--out", metavar="FILE", help="write the page to FILE; it needs no server and no network")
    action.add_argument("--serve", action="store_true", help="serve it (the default)")
    parser.add_argument("--force", action="store_true", help="with --out, overwrite a file that is not such a page")
    parser.add_argument("--port", type=int, default=0, help="the port to serve on; 0 takes a free one")
    parser.add_argument("--no-open", action="store_true", help="print the address, and do not open the browser")
    parser.add_argument("--project", metavar="NAME", help="another project than this directory's; '' is global")


def run_board(options: Namespace) -> int:
    """Show what was learned on one page: its evidence, its effect, and what waits for you.

    It is served on this machine alone until Ctrl-C, and you can decide there. With --out it is a file that only shows.
    """
    settings = Settings.from_env()
    if options.project is not None:
        settings = replace(settings, project=options.project)
    if options.out is not None:
        return _write(options.out, settings, force=options.force, as_json=options.json)
    return _serve(settings, options.port, as_json=options.json, opens_browser=not options.no_open)


def _write(name: str, settings: Settings, *, force: bool, as_json: bool) -> int:
    async def work(engine: Engine) -> str:
        return render_page("written", await collect(engine)).html

    with write_output(name, "--out", is_ours=lambda head: MARK in head, force=force) as file:
        html = with_engine(work, settings)
        file.write(html)
    size = len(html.encode())
    if as_json:
        write_json({"file": name, "bytes": size})
    else:
        write_line(f"The board is in {name} ({size / 1000:,.0f} kB). Open it in a browser; it needs no network.")
    return 0


def _serve(settings: Settings, port: int, *, as_json: bool, opens_browser: bool) -> int:
    from mcp_reflect.dashboard.server import serve  # noqa: PLC0415 - a file needs no server

    def announce(address: str, one_time_address: str) -> None:
        if as_json:
            write_json({"address": address})
        else:
            write_line(f"The board is at {address}")
            write_line("Ctrl-C ends it. Whoever has this address may read and change your lessons.")
        sys.stdout.flush()
        if opens_browser:
            threading.Thread(target=webbrowser.open, args=(one_time_address,), daemon=True).start()

    async def work() -> None:
        async with Engine(settings) as engine:
            await engine.bank.open()
            await serve(engine, port, announce)

    with suppress(KeyboardInterrupt):  # the usual end
        asyncio.run(work())
    return 0
