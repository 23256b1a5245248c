"""Serve MCP over stdio, over HTTP on this machine's loopback, or to a team: `mcp-reflect serve`."""

import gc
import signal
from typing import TYPE_CHECKING

from mcp_reflect.repository_settings import is_within_our_command

if TYPE_CHECKING:
    from argparse import Namespace

    from mcp_reflect.cli.commands import CliParser


def add_serve_arguments(parser: "CliParser") -> None:
    """Add the options of `mcp-reflect serve`."""
    from mcp_reflect.cli.team import add_team_arguments  # noqa: PLC0415 - hosts start it without argparse

    about = "serve http://127.0.0.1:PORT/mcp instead, to this machine alone; 0 takes a free port and prints it. "
    parser.add_argument(
        "--http", metavar="[HOST:]PORT", help=about + "With HOST it is a team's service"
    )
    add_team_arguments(parser)


def run_serve(options: "Namespace | None" = None) -> None:
    """Serve MCP over stdio until stdin closes, or over HTTP. Settings are MCP_REFLECT_* (docs/settings.md)."""
    if is_within_our_command():
        return
    if options is not None and options.http is not None:
        from mcp_reflect.cli.team import serve_http  # noqa: PLC0415 - a web server

        serve_http(options)
        return
    gc.disable()  # nothing of what is imported becomes garbage, and looking for it takes a 20th of the start
    from mcp_reflect.server.app import build  # noqa: PLC0415 - only this command needs MCP

    server = build()
    gc.freeze()
    gc.enable()
    # Python's own handler would wait for the thread that reads stdin, and so until the host closes it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    server.run()
