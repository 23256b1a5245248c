"""`mcp-reflect backup FILE`."""

from pathlib import Path

from mcp_reflect.cli.running import parser, say, say_json, with_engine


def run(arguments: list[str]) -> int:
    """Copy the bank as it is now, while servers read and write."""
    words = parser("backup", "A copy of the bank in one file, whole or not at all, for your eyes alone (mode 0600).")
    words.add_argument("file", help="a file that is not there yet")
    given = words.parse_args(arguments)
    file = Path(given.file).absolute()
    size = with_engine(lambda engine: engine.bank.safekeeping.backup(file))
    if given.json:
        say_json({"file": str(file), "bytes": size})
    else:
        say(f"Copied to {file}, {size} bytes.")
    return 0
