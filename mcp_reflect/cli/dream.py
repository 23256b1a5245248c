"""Consolidate the records of a project: `mcp-reflect dream`."""

from argparse import Namespace
from collections.abc import Mapping
from typing import Any, Final

from mcp_reflect.cli.commands import CliParser
from mcp_reflect.cli.files import read_text
from mcp_reflect.cli.output import counted, table, write_json, write_line, write_result
from mcp_reflect.cli.running import with_engine
from mcp_reflect.models.common import plain
from mcp_reflect.models.dream import Dream, Undone
from mcp_reflect.services.engine import Engine
from mcp_reflect.speaker import refuse_in_host, speaker_of_process
from mcp_reflect.text.one_line import one_line

_RESULTS_WITHOUT_CHANGE: Final = {
    "planned": "Nothing was changed. Without --plan it is done.",
    "nothing_to_do": "There is nothing to do.",
}
"""The last line by the status of a dream that changed nothing."""

_MOST_TEXT: Final = 100  # characters of a lesson that is named


def add_dream_arguments(parser: CliParser) -> None:
    """Add the options of `mcp-reflect dream`."""
    action = parser.add_mutually_exclusive_group()
    action.add_argument(
        "--plan", action="store_true", help="say what it would do, and change nothing"
    )
    action.add_argument("--list", action="store_true", help="the dreams so far, newest first")
    action.add_argument("--undo", metavar="ID", help="put back what a dream changed")
    action.add_argument(
        "--prompt",
        action="store_true",
        help="what to ask your own model; --analysis takes its answer",
    )
    parser.add_argument(
        "--analysis", metavar="FILE", help="an answer to that prompt, as JSON (- reads stdin)"
    )


def run_dream(options: Namespace) -> None:
    """Consolidate the project's records: merge those that say the same, archive the useless."""
    with_engine(lambda engine: _dream(engine, options))


async def _dream(engine: Engine, options: Namespace) -> None:
    """Do what the options say: list dreams, print the prompt, undo a dream, or (without any of them) dream."""
    if options.list:
        await _list_dreams(engine, options)
    elif options.prompt:
        from mcp_reflect.services.dream_proposals import prompt  # noqa: PLC0415 - only here

        write_line(await prompt(engine.context))
    elif options.undo:
        refuse_in_host("--undo", "undo a dream")
        undone = await engine.undo_dream(options.undo, by=speaker_of_process())
        report_undone(undone, options)
    else:
        await _dream_now(engine, options)


async def _dream_now(engine: Engine, options: Namespace) -> None:
    """Dream, or with --plan say what a dream would do, and print it; --analysis has a model's answer to the prompt."""
    analysis: str | None = None
    if options.analysis:
        analysis = read_text(options.analysis, engine.settings)
    dream = await engine.dream(plan_only=options.plan, analysis=analysis)
    if options.json:
        write_json(plain(dream))
    else:
        await _print_dream(engine, dream)


async def _list_dreams(engine: Engine, options: Namespace) -> None:
    """Print the dreams so far, the newest first."""
    dreams = await engine.bank.consolidations.latest(engine.scopes.own)
    text = f"No dreams in {engine.scopes.own} yet."
    if dreams:
        rows = [_row_of_dream(dream) for dream in dreams]
        text = table(rows, ("id", "state", "thinker", "merged", "tokens"), 2)
    write_result(options, dreams, text)


def _row_of_dream(dream: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the row of a dream in the table: its id, state, who planned it, merges and tokens."""
    plan = dream["plan"]
    merges = str(len(plan["merges"]))
    return (dream["id"], dream["state"], plan["thinker"], merges, str(dream["tokens"]))


def report_undone(undone: Undone, options: Namespace) -> None:
    """Print what the undo of a dream, or of a merge by hand, put back."""
    lines = [f"{undone.dream_id}: undone, {counted(len(undone.restored), 'record')} put back."]
    lines += [f"  {record_id} was changed since and stays as it is" for record_id in undone.skipped]
    write_result(options, plain(undone), "\n".join(lines))


async def _print_dream(engine: Engine, dream: Dream) -> None:
    """Print what a dream did, or would do: merges, new lessons, what it archived, and what it refused."""
    plan = dream.plan
    write_line(
        f"Looked at by {plan.thinker}: {plan.looked_at} records, groups of similar ones: {len(plan.clusters)}."
    )
    if plan.note:
        write_line(f"Note: {one_line(plan.note)}")
    for merge in plan.merges:
        write_line(f"merge into {merge.keep}: {', '.join(merge.gone)} ({one_line(merge.reason)})")
        write_line(f"    {await _text_of_lesson(engine, merge.keep)}")
        if merge.wording:
            write_line(f"    now: {one_line(merge.wording.text)}")
    for generalization in plan.generalizations:
        write_line(
            f"new lesson from {', '.join(generalization.sources)}:\n    {one_line(generalization.lesson.text)}"
        )
    for archiving in plan.archivings:
        write_line(
            f"archive {archiving.id}: {archiving.reason}\n    {await _text_of_lesson(engine, archiving.id)}"
        )
    for reason in plan.refused:
        write_line(f"not taken: {one_line(reason)}")
    done = f"Done: {dream.dream_id}. `mcp-reflect dream --undo {dream.dream_id}` puts it back."
    write_line(_RESULTS_WITHOUT_CHANGE.get(dream.status, done))


async def _text_of_lesson(engine: Engine, record_id: str) -> str:
    """Return the text of a lesson on one line, cut to _MOST_TEXT characters, so that a person knows which one it is."""
    lesson = await engine.bank.lessons.get(engine.scopes.own, record_id)
    return one_line(lesson.text, _MOST_TEXT)
