"""`mcp-reflect proof`."""

from typing import Any

from mcp_reflect.cli.running import parser, say, say_json, with_engine


def run(arguments: list[str]) -> int:
    """Print whether warnings keep failures from coming back."""
    given = parser(
        "proof",
        "Recurrences a session with and without warnings. MCP_REFLECT_HOLDOUT says which share of sessions is "
        "only watched, to compare with.",
    ).parse_args(arguments)
    found: dict[str, Any] = dict(with_engine(lambda engine: engine.proof()))
    if given.json:
        say_json(found)
        return 0
    for name in ("warned", "held_out"):
        group = found[name]
        say(
            f"{name.replace('_', ' ')}: {group['sessions']} sessions, {group['recurrences']} recurrences "
            f"({_shown(group['recurrences_per_session'])} a session), {group['warnings_due']} warnings due, "
            f"repeated all the same {_shown(group['repeated_after'])}"
        )
    say(f"recurrences prevented a session: {_shown(found['recurrences_prevented_per_session'])}")
    say(f"repeats prevented a warning: {_shown(found['repeats_prevented_per_warning'])}")
    cost = found["characters_per_warning"]
    say(f"cost: {found['warnings_given']} warnings, {'none given' if cost is None else f'{cost} characters each'}")
    return 0


def _shown(told: dict[str, Any] | None) -> str:
    if told is None:
        return "not known yet"
    low, high = told["interval"]
    return f"{told['value']} [{low}, {high}] in {told['cases']} cases"
