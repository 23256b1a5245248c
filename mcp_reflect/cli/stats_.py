"""`mcp-reflect stats`."""

from mcp_reflect.cli.running import parser, say, say_json, with_engine


def run(arguments: list[str]) -> int:
    """Print what is in the bank, counted."""
    given = parser("stats", "What is in the bank, counted, for this project and global lessons.").parse_args(arguments)
    found = with_engine(lambda engine: engine.get_stats())
    if given.json:
        say_json(found)
        return 0
    for name, value in found.items():
        if name == "proof":
            continue  # a command of its own tells it
        if isinstance(value, dict):
            value = ", ".join(f"{item} {count}" for item, count in value.items()) or "none"  # noqa: PLW2901
        say(f"{name.replace('_', ' ')}: {'not known yet' if value is None else value}")
    return 0
