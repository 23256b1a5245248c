"""`mcp-reflect stats | proof | embed`."""

from collections.abc import Mapping
from typing import Any

from mcp_reflect.cli.common import parser, say, say_json, vectors_said, with_engine
from mcp_reflect.errors import InputError
from mcp_reflect.models.common import Json
from mcp_reflect.services.engine import Engine

# `mcp-reflect stats`.


def run_stats(arguments: list[str]) -> int:
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


# `mcp-reflect proof`.


def run_proof(arguments: list[str]) -> int:
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


# `mcp-reflect embed`.


def run_embed(arguments: list[str]) -> int:
    """Give every lesson its vector now. Returns 1 where some have none at the end."""
    words = parser(
        "embed",
        "Give every lesson of this project and every global one its vector now, rather than when the server is idle.",
    )
    given = words.parse_args(arguments)

    async def work(engine: Engine) -> tuple[int, dict[str, object]]:
        meaning = engine.bank.vectors
        if meaning is None:
            raise InputError("MCP_REFLECT_EMBEDDINGS", "it is off", "Set it, as docs/embeddings.md says.")
        total = 0
        async for done in meaning.caught_up():
            total += done
            if not given.json:
                say(f"{total} lessons embedded ...")
        return total, dict(await meaning.state(engine.scopes.own))

    total, state = with_engine(work)
    if given.json:
        say_json({"embedded": total, **state})
    else:
        say(f"{total} lessons embedded: {vectors_said(state)}.")
        if "problem" in state:
            say(str(state["problem"]))
    return 0 if state["with_vector"] == state["lessons"] else 1
