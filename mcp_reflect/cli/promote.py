"""Write lessons into the files that hosts give to their models: `mcp-reflect promote`."""

import difflib
from argparse import Namespace
from typing import Final

from mcp_reflect.cli.commands import CliParser
from mcp_reflect.cli.output import GREEN, RED, confirm, styled, visible, write_json, write_line
from mcp_reflect.cli.place import with_engine
from mcp_reflect.services import promote
from mcp_reflect.services.engine import Engine

_COLORS: Final = {"+": GREEN, "-": RED}


def add_promote_arguments(parser: CliParser) -> None:
    about = "CLAUDE.md, AGENTS.md, GEMINI.md or .cursor/rules (default: those that are there, else CLAUDE.md)"
    parser.add_argument("file", nargs="?", metavar="FILE", choices=promote.FILES, help=about)
    parser.add_argument(
        "--skill",
        metavar="SUBJECT",
        help="lessons of a task type or tag, three or more: .claude/skills/SUBJECT/SKILL.md",
    )
    parser.add_argument("--lesson", action="append", default=[], metavar="ID", help="this lesson; may be given again")
    parser.add_argument("--undo", action="store_true", help="take the block out again: of the file, or of every one")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run_promote(options: Namespace) -> int:
    """Write your lessons and proven ones into a block of the project's instruction file, after showing the change.

    The block is kept in step with its lessons, and hooks do not tell again what the file says. Nothing outside of it is
    touched.
    """
    return with_engine(lambda engine: _run(engine, options))


async def _run(engine: Engine, options: Namespace) -> int:
    context = engine.context
    if options.undo:
        plans = await promote.undo_plans(context, options.file, options.skill)
    else:
        root = promote.root_of(context)
        paths = {name: promote.path_of(root, name) for name in promote.FILES}
        there = {path.resolve(): name for name, path in paths.items() if path.exists()}  # one may be a link to another
        names = [options.file] if options.file else [""] if options.skill else [*there.values()] or ["CLAUDE.md"]
        plans = [await promote.plan(context, name, subject=options.skill, ids=options.lesson) for name in names]
    changed = [plan for plan in plans if plan.before != plan.after]
    if not options.json:
        for plan in plans:
            _print(plan)
    if changed and not options.yes and not confirm("Write this?", "it changes a file of the project"):
        write_line("Nothing was written.")
        return 1
    for plan in changed if not options.undo else plans:
        await promote.apply(context, plan)
    if options.json:
        for plan in plans:
            lessons = plan.promotion.lessons if plan.promotion else ()
            left_out = [{"id": name, "reason": reason} for name, reason in plan.left_out]
            record = {"file": str(plan.path), "changed": plan in changed, "lessons": [*lessons], "left_out": left_out}
            write_json(record)
    elif changed:
        write_line("Undone." if options.undo else "Written. `mcp-reflect promote --undo` takes it out again.")
    return 0


def _print(plan: promote.Plan) -> None:
    for name, reason in plan.left_out:
        write_line(f"{name}: left out, {reason}.")
    if plan.before == plan.after:
        write_line(f"{plan.path}: nothing changes.")
        return
    before, after = (text.encode("utf-8", "replace").decode().splitlines() for text in (plan.before, plan.after or ""))
    for line in difflib.unified_diff(before, after, str(plan.path), str(plan.path), lineterm="", n=2):
        write_line(styled(visible(line), _COLORS.get(line[:1], "")) if line[:1] in _COLORS else visible(line))
