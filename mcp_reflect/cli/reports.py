"""Print counts, the effect of warnings, and the state of vectors: `mcp-reflect stats | proof | embed`."""

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from mcp_reflect.cli.engine import with_engine
from mcp_reflect.cli.output import aligned, table, write_line, write_result
from mcp_reflect.errors import InputError
from mcp_reflect.models.common import Json
from mcp_reflect.services.engine import Engine


def run_stats(options: Namespace) -> None:
    """Print what is in the bank, counted, for this project and global lessons."""
    stats: dict[str, Any] = dict(with_engine(lambda engine: engine.get_stats()))
    told = {name: value for name, value in stats.items() if name != "proof"}  # `mcp-reflect proof` prints it
    told |= {"bank_capacity": stats["bank_capacity"] or "unlimited", "embeddings": vector_summary(stats["embeddings"])}
    write_result(options, stats, report_text({**told, "uplift": _uplift(stats["uplift"])}))


def _uplift(uplift: Mapping[str, Any]) -> str:
    shown, held = uplift["shown"]["tasks"], uplift["held_out"]["tasks"]
    known = uplift["difference"] is not None
    text = _estimate(uplift["difference"]) if known else f"not known yet: it takes {uplift['least']} tasks of each"
    return f"{text} ({shown} tasks with lessons, {held} without)"


def report_text(report: Mapping[str, Json]) -> str:
    """Return the names and values of a report for a person."""
    return aligned({name.replace("_", " "): _value_text(value) for name, value in report.items()})


def _value_text(value: Json) -> str:
    """Return a value of a report as text for a person."""
    if isinstance(value, dict):
        parts = [
            f"{name} ({part})" if isinstance(part, int) else f"{name} {_value_text(part)}"
            for name, part in value.items()
        ]
        return ", ".join(parts) or "none"
    if isinstance(value, list):
        return ", ".join(map(_value_text, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "not known yet" if value is None else str(value)


def run_proof(options: Namespace) -> None:
    """Print how often failures come back in sessions with and without warnings.

    MCP_REFLECT_HOLDOUT sets the share of sessions that are only watched, for comparison.
    """
    proof: dict[str, Any] = dict(with_engine(lambda engine: engine.proof()))
    groups = [("warned", proof["warned"]), ("only watched", proof["held_out"])]
    rows = [
        (name, str(group["sessions"]), str(group["recurrences"]), _estimate(group["recurrences_per_session"]),
         str(group["warnings_due"]), _estimate(group["repeated_after"]))
        for name, group in groups
    ]  # fmt: skip
    heads = ("group", "sessions", "known failures again", "per session", "warnings due", "repeated anyway")
    prevented = proof["recurrences_prevented_per_session"], proof["repeats_prevented_per_warning"]
    needed = f"{proof['least_sessions']} sessions and {proof['least_warnings']} warnings in each group"
    lines = [
        table(rows, heads, 0),
        f"Warnings prevent, per session: {_estimate(prevented[0])}; per warning: {_estimate(prevented[1])}."
        if any(prevented)
        else f"Whether warnings help is not known yet: that takes {needed}.",
        f"{proof['warnings_given']} warnings were shown, {proof['characters_per_warning']} characters each."
        if proof["warnings_given"]
        else "No warning was shown.",
    ]
    write_result(options, proof, "\n".join(lines))


def _estimate(estimate: Mapping[str, Any] | None) -> str:
    if estimate is None:
        return "not known yet"
    low, high = estimate["interval"]
    return f"{estimate['value']} ({low} to {high}, {estimate['cases']} cases)"


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
