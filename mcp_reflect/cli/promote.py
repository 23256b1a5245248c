"""Write proven lessons into a project's instruction file: `mcp-reflect promote`."""

from argparse import Namespace
from typing import Any

from mcp_reflect.cli.commands import CliParser
from mcp_reflect.cli.output import confirm, diff, write_json, write_line
from mcp_reflect.cli.running import with_engine
from mcp_reflect.services import promote
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.instruction_files import FILES, files_there, root_of
from mcp_reflect.services.promoted_file import Plan
from mcp_reflect.speaker import refuse_agent, speaker_of_process


def add_promote_arguments(parser: CliParser) -> None:
    """Add the options of `mcp-reflect promote`."""
    about = f"{', '.join(FILES)} (default: those that are there, else CLAUDE.md)"
    parser.add_argument("file", nargs="?", metavar="FILE", choices=FILES, help=about)
    about = "lessons of a task type or tag, three or more: .claude/skills/SUBJECT/SKILL.md"
    parser.add_argument("--skill", metavar="SUBJECT", help=about)
    parser.add_argument(
        "--lesson",
        action="append",
        default=[],
        metavar="ID",
        help="this lesson; may be given again",
    )
    parser.add_argument(
        "--undo", action="store_true", help="take the block out again: of the file, or of every one"
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run_promote(options: Namespace) -> int:
    """Write your lessons and proven ones into a block of the project's instruction file, after showing the change.

    The block follows its lessons, and hooks do not repeat what the file says. Nothing outside of it is changed.
    """
    return with_engine(lambda engine: _promote(engine, options))


async def _promote(engine: Engine, options: Namespace) -> int:
    """Show what would change, ask the person, and write it; return the exit status."""
    plans = await _plans(engine, options)
    changed = [plan for plan in plans if plan.before != plan.after]
    if not options.json:
        for plan in plans:
            _show_plan(plan)
    if changed:
        refuse_agent(speaker_of_process(), "promote", "write lessons into a project's files")
        if not options.yes and not confirm("Write this?", "it changes a file of the project"):
            write_line("Nothing was written.")
            return 1
    await _apply(engine, plans, changed, options)
    if options.json:
        for plan in plans:
            write_json(_record_of_plan(plan, is_changed=plan in changed))
    elif changed:
        write_line(_done_text(options))
    return 0


async def _plans(engine: Engine, options: Namespace) -> list[Plan]:
    """Return the changes of files that the options ask for."""
    context = engine.context
    if options.undo:
        return [*await promote.undo_plans(context, options.file, options.skill)]
    return [
        await promote.plan(context, name, subject=options.skill, ids=options.lesson)
        for name in _file_names(engine, options)
    ]


def _file_names(engine: Engine, options: Namespace) -> list[str]:
    """Return the instruction files to write.

    | the options name | the files                                                     |
    |------------------|---------------------------------------------------------------|
    | a file           | that one                                                      |
    | a skill alone    | one without a name: the subject of the skill says which it is |
    | neither          | those of the project that are there, else CLAUDE.md           |
    """
    if options.file or options.skill:
        return [options.file or ""]
    return [*files_there(root_of(engine.context))] or ["CLAUDE.md"]


async def _apply(
    engine: Engine, plans: list[Plan], changed: list[promote.Plan], options: Namespace
) -> None:
    """Carry out the plans that change a file; of an undo all plans, since the bank has to note each of them.

    After an undo the bank no longer counts the lessons as written into a file, even where a person had already removed
    the block by hand, and so no file changes.
    """
    plans_to_apply = changed
    if options.undo:
        plans_to_apply = plans
    for plan in plans_to_apply:
        await promote.apply(engine.context, plan)


def _record_of_plan(plan: Plan, *, is_changed: bool) -> dict[str, Any]:
    """Return a change of a file for a program."""
    lessons: list[str] = []
    if plan.promotion is not None:
        lessons = [*plan.promotion.lessons]
    return {
        "file": str(plan.path),
        "changed": is_changed,
        "lessons": lessons,
        "left_out": [{"id": name, "reason": reason} for name, reason in plan.left_out],
    }


def _done_text(options: Namespace) -> str:
    """Return what a person is told after the change."""
    if options.undo:
        return "Undone."
    return "Written. `mcp-reflect promote --undo` takes it out again."


def _show_plan(plan: Plan) -> None:
    """Print which lessons are left out, and the change of a file."""
    for name, reason in plan.left_out:
        write_line(f"{name}: left out, {reason}.")
    if plan.before == plan.after:
        write_line(f"{plan.path}: nothing changes.")
        return
    write_line(diff(plan.path, plan.before, plan.after).rstrip("\n"))
