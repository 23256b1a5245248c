"""`mcp-reflect restore FILE`."""

from pathlib import Path

from mcp_reflect.cli.running import parser, say, say_json, with_engine


def run(arguments: list[str]) -> int:
    """Put a copy in the place of all that is in the bank; running servers go on with it."""
    words = parser(
        "restore",
        "Put what a copy holds in the place of all that is in the bank. Servers that run go on with it; "
        "what was there is kept as a copy beside the bank.",
    )
    words.add_argument("file", help="a copy that `mcp-reflect backup` made")
    given = words.parse_args(arguments)
    file = Path(given.file).absolute()
    kept = with_engine(lambda engine: engine.bank.safekeeping.restore(file))
    if given.json:
        say_json({"restored": str(file), "kept": None if kept is None else str(kept)})
    else:
        say(f"Restored {file}." + ("" if kept is None else f" What was there is kept as {kept}."))
    return 0
