"""Serve MCP over stdio, or over HTTP on this machine's loopback: `mcp-reflect serve`."""

import os
from argparse import Namespace

from mcp_reflect.cli.commands import CliParser
from mcp_reflect.config import NESTED


def add_serve_arguments(parser: CliParser) -> None:
    parser.add_argument(
        "--http",
        metavar="PORT",
        type=int,
        help="serve http://127.0.0.1:PORT/mcp instead, to this machine alone; 0 takes a free port and prints it",
    )


def run_serve(options: Namespace) -> int:
    """Serve MCP over stdio until stdin closes, or over HTTP. Settings are MCP_REFLECT_* (docs/settings.md)."""
    if os.environ.get(NESTED):
        return 0
    if options.http is None:
        from mcp_reflect.server.app import build  # noqa: PLC0415 - only this command needs MCP

        build().run()
    else:
        from mcp_reflect.server.http import serve_http  # noqa: PLC0415 - same, and a web server

        serve_http(options.http)
    return 0
