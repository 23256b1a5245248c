"""`mcp-reflect serve`: over stdio, or over HTTP on this machine alone."""

from collections.abc import Sequence

from mcp_reflect.cli.parser import CliParser


def run(words: Sequence[str]) -> int:
    """Serve until stdin closes, or with `--http PORT` until the process is told to end."""
    reader = CliParser(
        prog="mcp-reflect serve",
        description="Serve MCP over stdio. Settings are MCP_REFLECT_* (docs/settings.md).",
        allow_abbrev=False,
    )
    reader.add_argument(
        "--http",
        metavar="PORT",
        type=int,
        help="serve http://127.0.0.1:PORT/mcp instead, to this machine alone; 0 takes a free port and prints it",
    )
    sent = reader.parse_args(words)
    port: int | None = sent.http
    from mcp_reflect.server.app import serve  # noqa: PLC0415 - only this command needs MCP

    serve() if port is None else _serve_http(port)
    return 0


def _serve_http(port: int) -> None:
    from mcp_reflect.server.http import serve_http  # noqa: PLC0415 - only this way of serving needs a web server

    serve_http(port)
