"""Serve MCP over stdio, or over HTTP on this machine's loopback: `mcp-reflect serve`."""

import gc
import os
from typing import TYPE_CHECKING

from mcp_reflect.config import NESTED

if TYPE_CHECKING:
    from argparse import Namespace

    from mcp_reflect.cli.commands import CliParser


def add_serve_arguments(parser: "CliParser") -> None:
    parser.add_argument(
        "--http",
        metavar="PORT",
        type=int,
        help="serve http://127.0.0.1:PORT/mcp instead, to this machine alone; 0 takes a free port and prints it",
    )


def run_serve(options: "Namespace | None" = None) -> int:
    """Serve MCP over stdio until stdin closes, or over HTTP. Settings are MCP_REFLECT_* (docs/settings.md)."""
    if os.environ.get(NESTED):
        return 0
    if options is None or options.http is None:
        gc.disable()  # nothing of what is imported becomes garbage, and looking for it takes a 20th of the start
        from mcp_reflect.server.app import build  # noqa: PLC0415 - only this command needs MCP

        server = build()
        gc.freeze()
        gc.enable()
        server.run()
    else:
        from mcp_reflect.server.http import serve_http  # noqa: PLC0415 - same, and a web server

        serve_http(options.http)
    return 0
