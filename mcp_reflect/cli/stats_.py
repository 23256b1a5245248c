"""`mcp-reflect stats`."""

from collections.abc import Mapping

from mcp_reflect.cli.running import parser, say, say_json, with_engine
from mcp_reflect.models.common import Json


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
        say(f"{name.replace('_', ' ')}: {'unlimited' if (name, value) == ('bank_capacity', None) else _words(value)}")
    return 0


def _words(value: Json) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{item} {_words(part)}" for item, part in value.items()) or "none"
    return "not known yet" if value is None else str(value)
