"""Print counts, the effect of warnings, and the state of vectors: `mcp-reflect stats | embed`."""

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from mcp_reflect.cli.commands import CliParser, add_service_arguments
from mcp_reflect.cli.output import aligned, write_line, write_result
from mcp_reflect.cli.place import settings_of, with_engine, with_place
from mcp_reflect.errors import InputError
from mcp_reflect.models.common import Json
from mcp_reflect.services.engine import Engine


def add_stats_arguments(parser: CliParser) -> None:
    add_service_arguments(parser)


def run_stats(options: Namespace) -> None:
    """Print what is in the bank, counted, for this project and global lessons."""
    stats: dict[str, Any] = with_place(options, lambda do: do("stats", {}), settings_of(options))
    told = {name: value for name, value in stats.items() if name not in ("proof", "helped")}
    told |= {"bank_capacity": stats["bank_capacity"] or "unlimited", "embeddings": vector_summary(stats["embeddings"])}
    told |= {"uplift": _uplift(stats["uplift"])}
    if (proof := stats.get("proof")) is not None:
        told |= {"warned sessions": _group(proof["warned"]), "only watched": _group(proof["held_out"])}
    first = f"{helped_text(stats['helped'], stats['last_messages'])}\n\n" if "helped" in stats else ""
    write_result(options, stats, first + report_text(told))


def helped_text(helped: Mapping[str, int], last_messages: Mapping[str, int]) -> str:
    """Return in a line what lessons came to, and what these counts do not show."""
    parts = [f"Lessons were shown {helped['shown']} times in {helped['sessions']} sessions"]
    if helped["judged"]:
        parts.append(f"followed at {helped['followed']} of the {helped['judged']} calls that could be judged")
    if helped["failures"]:
        met = f"met in {helped['before']} past sessions before and {helped['since']} since"
        parts.append(f"what became {helped['failures']} lessons by a review was {met}")
    parts.append(f"{last_messages['held']} last messages were held, {last_messages['corrected']} corrected after it")
    limits = (
        "These are counts of what hooks and `learn` saw, not a comparison: run `learn` again for later sessions; "
        "MCP_REFLECT_HOLDOUT compares with sessions without lessons."
    )
    return f"{'; '.join(parts)}.\n{limits}"


def _uplift(uplift: Mapping[str, Any]) -> str:
    shown, held = (
        f"{arm['success']:.0%} of {arm['tasks']} tasks succeeded" if arm["tasks"] else "no task yet"
        for arm in (uplift["shown"], uplift["held_out"])
    )
    return f"with lessons {shown}, without {held}"


def _group(group: Mapping[str, Any]) -> str:
    repeats = sum(count for name, count in group["sequels"].items() if name not in ("heeded", "open"))
    return (
        f"{group['recurrences']} known failures again in {group['sessions']} sessions; "
        f"{group['warnings_due']} warnings due, {repeats} calls made anyway"
    )


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
