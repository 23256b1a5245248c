"""Consolidate the project's records, or list and undo earlier consolidations: `mcp-reflect dream`."""

from argparse import Namespace

from mcp_reflect.cli.commands import CliParser
from mcp_reflect.cli.engine import with_engine
from mcp_reflect.cli.files import read_text
from mcp_reflect.cli.output import table, write_json, write_line
from mcp_reflect.models.common import plain
from mcp_reflect.models.consolidation import Dream, DreamPlan
from mcp_reflect.services.engine import Engine


def add_dream_arguments(parser: CliParser) -> None:
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--plan", action="store_true", help="say what it would do, and change nothing")
    action.add_argument("--list", action="store_true", help="the dreams so far, newest first")
    action.add_argument("--undo", metavar="ID", help="put back what a dream changed")
    action.add_argument("--prompt", action="store_true", help="what to ask your own model; --analysis takes its answer")
    parser.add_argument("--analysis", metavar="FILE", help="an answer to that prompt, as JSON (- reads stdin)")


def run_dream(options: Namespace) -> int:
    """Consolidate the project's records: merge those that say the same, archive the useless."""
    return with_engine(lambda engine: _run(engine, options))


async def _run(engine: Engine, options: Namespace) -> int:
    if options.list:
        return await _list(engine, as_json=options.json)
    if options.prompt:
        from mcp_reflect.services.consolidate import prompt  # noqa: PLC0415 - only here

        write_line(await prompt(engine.context))
        return 0
    if options.undo:
        await undo(engine, options.undo, as_json=options.json)
        return 0
    analysis = read_text(options.analysis, engine.settings) if options.analysis else None
    dream = await engine.dream(plan_only=options.plan, analysis=analysis)
    if options.json:
        write_json(plain(dream))
    else:
        await _print(engine, dream)
    return 0


async def undo(engine: Engine, dream_id: str, *, as_json: bool = False) -> None:
    """Undo a dream, or a merge by hand, and print what was put back."""
    undone = await engine.undo_dream(dream_id)
    if as_json:
        write_json(plain(undone))
        return
    write_line(f"{undone.dream_id}: undone, {len(undone.restored)} records are as they were.")
    for record_id in undone.skipped:
        write_line(f"  {record_id} was changed since and stays as it is")


async def _list(engine: Engine, *, as_json: bool) -> int:
    dreams = await engine.bank.consolidations.latest(engine.scopes.own)
    if as_json:
        write_json(dreams)
    elif dreams:
        rows = [
            (dream["id"], dream["state"], plan["thinker"], str(len(plan["merges"])), str(dream["tokens"]))
            for dream in dreams
            for plan in [dream["plan"]]
        ]
        write_line(table(rows, ("id", "state", "thinker", "merged", "tokens"), 2))
    else:
        write_line(f"No dreams in {engine.scopes.own} yet.")
    return 0


async def _print(engine: Engine, dream: Dream) -> None:
    await _print_plan(engine, dream.plan)
    match dream.status:
        case "planned":
            write_line("Nothing was changed. Without --plan it is done.")
        case "nothing_to_do":
            write_line("There is nothing to do.")
        case _:
            write_line(f"Done: {dream.dream_id}. `mcp-reflect dream --undo {dream.dream_id}` puts it back.")
    for record_id in dream.skipped:
        write_line(f"  {record_id} changed meanwhile and was skipped")


async def _print_plan(engine: Engine, plan: DreamPlan) -> None:
    write_line(f"{plan.looked_at} records looked at by {plan.thinker}; {len(plan.clusters)} clusters of similar ones.")
    if plan.note:
        write_line(f"Note: {plan.note}")
    for merge in plan.merges:
        write_line(f"merge into {merge.keep}: {', '.join(merge.gone)} ({merge.reason})")
        write_line(f"    {await _text(engine, merge.keep)}")
        if merge.wording:
            write_line(f"    now: {merge.wording.mistake} {merge.wording.correction}")
    for generalization in plan.generalisations:
        write_line(f"new lesson from {', '.join(generalization.sources)}:\n    {generalization.lesson.text}")
    for archiving in plan.archivings:
        write_line(f"archive {archiving.id}: {archiving.reason}\n    {await _text(engine, archiving.id)}")
    for reason in plan.refused:
        write_line(f"not taken: {reason}")
    if plan.ties:
        write_line(f"link {len(plan.ties)} pairs of similar records")


async def _text(engine: Engine, record_id: str) -> str:
    text = " ".join((await engine.bank.lessons.get(engine.scopes.own, record_id)).text.split())
    return text if len(text) <= 100 else f"{text[:99]}…"
