"""Show the dashboard in a browser, or write it to a file: `mcp-reflect board`."""

import asyncio
import sys
import threading
from argparse import Namespace
from contextlib import suppress

from mcp_reflect.children import open_browser
from mcp_reflect.cli.commands import CliParser, add_number
from mcp_reflect.cli.files import write_output
from mcp_reflect.cli.output import write_result
from mcp_reflect.cli.running import settings_of, with_engine
from mcp_reflect.cli.service_client import ask_as
from mcp_reflect.config import Settings
from mcp_reflect.dashboard.contents import collect
from mcp_reflect.dashboard.page import MARK, render_page
from mcp_reflect.services.engine import Engine
from mcp_reflect.speaker import Speaker, speaker_of_process


def add_board_arguments(parser: CliParser) -> None:
    """Add the options of `mcp-reflect board`."""
    parser.add_argument(
        "--out", metavar="FILE", help="write the page to FILE; it needs no server and no network"
    )
    parser.add_argument(
        "--force", action="store_true", help="with --out, overwrite a file that is not such a page"
    )
    add_number(
        parser,
        "--port",
        0,
        65_535,
        default=0,
        metavar="N",
        help="the port to serve on; 0 takes a free one",
    )
    parser.add_argument(
        "--no-open", action="store_true", help="print the address, and do not open the browser"
    )


def run_board(options: Namespace) -> None:
    """Show what was learned on one page: its evidence, its effect, and what waits for you.

    It is served only on this machine, until Ctrl-C, and you can make decisions there. With --out it is a read-only
    file.
    """
    if options.url and options.out is None:
        _open_of_service(options)
        return
    settings = settings_of(options)
    if options.out is None:
        _serve(options, settings)
    else:
        _write_file(options, settings)


def _page_html(options: Namespace, settings: Settings) -> str:
    """Return the page as HTML, over the bank of the service that --url names, else over the bank of this machine."""
    if options.url:
        return render_page("written", ask_as(options, "page", {})).html

    async def work(engine: Engine) -> str:
        return render_page("written", await collect(engine)).html

    return with_engine(work, settings)


def _write_file(options: Namespace, settings: Settings) -> None:
    """Write the page to the file of --out, and say so."""
    html = _page_html(options, settings)
    write_output(options.out, "--out", html, mark=MARK, force=options.force)
    size = len(html.encode())
    text = f"The board is in {options.out} ({size / 1000:,.0f} kB). Open it in a browser; it needs no network."
    write_result(options, {"file": options.out, "bytes": size}, text)


def _open_of_service(options: Namespace) -> None:
    """Open the page of a service, after asking whether the token works; the page asks for it once more."""
    ask_as(options, "whoami", {})
    address = options.url.removesuffix("/").removesuffix("/mcp") + "/"
    write_result(
        options,
        {"address": address},
        f"The board of your team is at {address}\nIt asks for your token once.",
    )
    if not options.no_open:
        open_browser(address)


def _serve(options: Namespace, settings: Settings) -> None:
    """Serve the page on this machine until Ctrl-C, and open it in the browser."""
    from mcp_reflect.dashboard.server import serve  # noqa: PLC0415 - a file needs no server

    speaker = speaker_of_process()

    def announce(address: str, one_time_address: str) -> None:
        """Print where the page is, and open it by an address that logs the person in once."""
        warning = "Ctrl-C ends it. Whoever has this address may read and change your lessons."
        if speaker is not Speaker.PERSON:
            warning = "An agent or a script started it: it shows lessons and decides nothing."
        write_result(options, {"address": address}, f"The board is at {address}\n{warning}")
        sys.stdout.flush()
        if not options.no_open:
            threading.Thread(target=open_browser, args=(one_time_address,), daemon=True).start()

    async def serve_until_stopped() -> None:
        async with Engine(settings) as engine:
            await engine.bank.open()
            await serve(engine, options.port, announce, speaker)

    with suppress(KeyboardInterrupt):  # the usual end
        asyncio.run(serve_until_stopped())
