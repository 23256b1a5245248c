"""`mcp-reflect dream [--plan] [--undo ID]`."""

import sys
from pathlib import Path
from typing import Any

from mcp_reflect.cli.common import parser, say, say_json, table, with_engine
from mcp_reflect.errors import InputError
from mcp_reflect.models.consolidation import Dream, DreamPlan
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.results import plain


def run(arguments: list[str]) -> int:
    """Dream, say what a dream would do, list the dreams, or undo one."""
    words = parser("dream", "Look over the project's records at rest: merge what says the same, archive the useless.")
    one = words.add_mutually_exclusive_group()
    one.add_argument("--plan", action="store_true", help="say what it would do, and change nothing")
    one.add_argument("--list", action="store_true", help="the dreams so far, newest first")
    one.add_argument("--undo", metavar="ID", help="put back what a dream changed")
    one.add_argument("--prompt", action="store_true", help="what to ask a model of yours; --analysis takes its answer")
    words.add_argument("--analysis", metavar="FILE", help="an answer to that prompt, as JSON (- reads stdin)")
    given = vars(words.parse_args(arguments))
    return with_engine(lambda engine: _do(engine, given))


async def _do(engine: Engine, given: dict[str, Any]) -> int:
    if given["list"]:
        return await _list(engine, as_json=given["json"])
    if given["prompt"]:
        from mcp_reflect.services.consolidate import prompt  # noqa: PLC0415 - only here

        say(await prompt(engine.context))
        return 0
    if given["undo"]:
        undone = await engine.undo_dream(given["undo"])
        if given["json"]:
            say_json(plain(undone))
        else:
            say(f"{undone.dream_id}: undone, {len(undone.restored)} records are as they were.")
            for name in undone.skipped:
                say(f"  {name} was changed since and stays as it is")
        return 0
    found = await engine.dream(plan_only=given["plan"], analysis=_analysis(given["analysis"]))
    if given["json"]:
        say_json(plain(found))
    else:
        await _show(engine, found)
    return 0


def _analysis(file: str | None) -> str | None:
    if file is None:
        return None
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("--analysis", f"{file} cannot be read: {error}", "Name a text file, or - for stdin.") from None


async def _show(engine: Engine, found: Dream) -> None:
    await _show_plan(engine, found.plan)
    match found.status:
        case "planned":
            say("Nothing was changed. Without --plan it is done.")
        case "nothing_to_do":
            say("There is nothing to do.")
        case _:
            say(f"Done: {found.dream_id}. `mcp-reflect dream --undo {found.dream_id}` puts it back.")
    for name in found.skipped:
        say(f"  {name} changed meanwhile and was passed over")


async def _show_plan(engine: Engine, plan: DreamPlan) -> None:
    say(f"{plan.looked_at} records looked at by {plan.thinker}; {len(plan.clusters)} clusters of similar ones.")
    if plan.note:
        say(f"Note: {plan.note}")
    for merge in plan.merges:
        say(f"merge into {merge.keep}: {', '.join(merge.gone)} ({merge.reason})\n    {await _text(engine, merge.keep)}")
        if merge.wording:
            say(f"    now: {merge.wording.mistake} {merge.wording.correction}")
    for made in plan.generalisations:
        say(f"new lesson from {', '.join(made.sources)}:\n    {made.lesson.text}")
    for archiving in plan.archivings:
        say(f"archive {archiving.id}: {archiving.reason}\n    {await _text(engine, archiving.id)}")
    for line in plan.refused:
        say(f"not taken: {line}")
    if plan.ties:
        say(f"tie {len(plan.ties)} pairs of similar records")


async def _text(engine: Engine, name: str) -> str:
    text = " ".join((await engine.bank.lessons.get(engine.scopes.own, name)).text.split())
    return text if len(text) <= 100 else f"{text[:99]}…"


async def _list(engine: Engine, *, as_json: bool) -> int:
    found = await engine.bank.consolidations.latest(engine.scopes.own)
    if as_json:
        say_json(found)
    elif found:
        rows = [
            (one["id"], one["state"], one["plan"]["thinker"], str(len(one["plan"]["merges"])), str(one["tokens"]))
            for one in found
        ]
        say(table(rows, ("id", "state", "thinker", "merged", "tokens")))
    else:
        say(f"No dreams in {engine.scopes.own} yet.")
    return 0
