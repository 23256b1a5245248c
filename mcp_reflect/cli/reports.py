"""Print counts, the effect of warnings, and the state of vectors: `mcp-reflect stats | proof | embed`."""

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from mcp_reflect.cli.engine import with_engine
from mcp_reflect.cli.output import write_json, write_line, write_result
from mcp_reflect.errors import InputError
from mcp_reflect.models.common import Json
from mcp_reflect.services.engine import Engine


def run_stats(options: Namespace) -> None:
    """Print what is in the bank, counted, for this project and global lessons."""
    stats = with_engine(lambda engine: engine.get_stats())
    if options.json:
        write_json(stats)
        return
    for name, value in stats.items():
        if name != "proof":  # `mcp-reflect proof` prints it
            text = "unlimited" if name == "bank_capacity" and value is None else value_text(value)
            write_line(f"{name.replace('_', ' ')}: {text}")


def value_text(value: Json) -> str:
    """Return a value of a report as text for a person."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {value_text(part)}" for name, part in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(value_text, value)) or "none"
    return "not known yet" if value is None else str(value)


def run_proof(options: Namespace) -> None:
    """Print how often failures come back in sessions with and without warnings.

    MCP_REFLECT_HOLDOUT sets the share of sessions that are only watched, for comparison.
    """
    proof: dict[str, Any] = dict(with_engine(lambda engine: engine.proof()))
    if options.json:
        write_json(proof)
        return
    for name in ("warned", "held_out"):
        group = proof[name]
        write_line(
            f"{name.replace('_', ' ')}: {group['sessions']} sessions, {group['recurrences']} recurrences "
            f"({_estimate(group['recurrences_per_session'])} per session), {group['warnings_due']} warnings due, "
            f"repeated anyway {_estimate(group['repeated_after'])}"
        )
    write_line(f"recurrences prevented per session: {_estimate(proof['recurrences_prevented_per_session'])}")
    write_line(f"repeats prevented per warning: {_estimate(proof['repeats_prevented_per_warning'])}")
    length = proof["characters_per_warning"]
    cost = "none given" if length is None else f"{length} characters each"
    write_line(f"cost: {proof['warnings_given']} warnings, {cost}")


def _estimate(estimate: dict[str, Any] | None) -> str:
    if estimate is None:
        return "not known yet"
    low, high = estimate["interval"]
    return f"{estimate['value']} [{low}, {high}] in {estimate['cases']} cases"


def run_embed(options: Namespace) -> int:
    """Give every lesson of this project and every global one its vector now, not when the server is idle."""

    async def work(engine: Engine) -> tuple[int, dict[str, object]]:
        embeddings = engine.bank.embeddings
        if embeddings is None:
            fault = "it names no embedder: every lesson got its word vector when it was stored"
            raise InputError("MCP_REFLECT_EMBEDDINGS", fault, "Name one, as docs/embeddings.md says.")
        total = 0
        async for count in embeddings.embed_all():
            total += count
            if not options.json:
                write_line(f"{total} lessons embedded ...")
        return total, dict(await embeddings.state(engine.scopes.own))

    total, state = with_engine(work)
    text = f"{total} lessons embedded: {vector_summary(state)}."
    write_result(options, {"embedded": total, **state}, f"{text}\n{state['problem']}" if "problem" in state else text)
    return 0 if state["with_vector"] == state["lessons"] else 1


def vector_summary(state: Mapping[str, Any]) -> str:
    """Return the embedder of a bank and how many lessons have its vector, for a person."""
    return f"{state['embedder']}, {state['with_vector']} of {state['lessons']} lessons have a vector"
