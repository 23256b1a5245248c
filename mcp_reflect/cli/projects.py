"""List, rename and merge the projects of the bank: `mcp-reflect projects`."""

from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from mcp_reflect.cli.commands import CliParser
from mcp_reflect.cli.output import table, write_line, write_result
from mcp_reflect.cli.place import with_engine
from mcp_reflect.config import ServerUrl
from mcp_reflect.errors import InputError
from mcp_reflect.models.lesson import GuardMode
from mcp_reflect.projects import folder_is_gone, stored_name
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.projects import ProjectCounts


def add_projects_arguments(parser: CliParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    for name, first, second, purpose in (
        ("rename", "OLD", "NEW", "give a project another name; the old one still finds it"),
        ("merge", "A", "B", "give all that project A learned to project B"),
    ):
        action = actions.add_parser(name, help=purpose, allow_abbrev=False)
        action.add_argument("old", metavar=first)
        action.add_argument("new", metavar=second)
    guards = actions.add_parser("guards", help="what a call against a lesson of this project meets", allow_abbrev=False)
    meaning = "refuse the call once, tell the agent, or nothing; default: as MCP_REFLECT_GUARDS says"
    guards.add_argument("mode", choices=("hold", "tell", "off", "default"), help=meaning)


def run_projects(options: Namespace) -> None:
    """List the projects of the bank with their lessons and other names, or rename or merge them.

    A project is its repository: clones and worktrees share it, and its folder may move. End running servers before a
    change: they keep the name that they started with.
    """
    actions = {None: _list, "guards": _set_guards}
    with_engine(lambda engine: actions.get(options.action, _change)(engine, options))


async def _set_guards(engine: Engine, options: Namespace) -> None:
    mode = None if options.mode == "default" else GuardMode(options.mode)
    await engine.bank.guards.set_mode(engine.scopes.own, mode)
    said = f"Guards in {engine.scopes.own}: {mode or engine.settings.guards}."
    write_result(options, {"project": engine.scopes.own.project, "guards": mode}, said)


async def _list(engine: Engine, options: Namespace) -> None:
    projects = await engine.bank.projects.list(engine.scopes.own.tenant)
    gone = gone_folders(engine, projects)
    report: list[dict[str, Any]] = [
        {**project._asdict(), "own": project.name == engine.scopes.own.project, "folder_gone": project.name in gone}
        for project in projects
    ]
    rows = [
        (
            f"{'* ' if one['own'] else ''}{one['name'] or '(global)'}{' (folder gone)' if one['folder_gone'] else ''}",
            str(one["lessons"]), str(one["failures"]), ", ".join(one["other_names"]),
        )
        for one in report
    ]  # fmt: skip
    text = table(rows, ("project", "lessons", "failing calls", "other names"), 3) if rows else "No project has records."
    write_result(options, report, text)


def gone_folders(engine: Engine, projects: Sequence[ProjectCounts]) -> list[str]:
    """Return the projects that are named by a folder of this machine that is not there."""
    if isinstance(engine.settings.bank, ServerUrl):  # other machines have other folders
        return []
    return [project.name for project in projects if folder_is_gone(project.name)]


async def _change(engine: Engine, options: Namespace) -> None:
    tenant, repository = engine.scopes.own.tenant, engine.bank.projects
    known = {project.name for project in await repository.list(tenant)}
    old, new = (stored_name(name.strip()) for name in (options.old, options.new))
    if not old or old not in known:
        raise InputError("OLD" if options.action == "rename" else "A", f"'{old}' has no records", "See: projects")
    if not new or new == old:
        raise InputError("NEW" if options.action == "rename" else "B", "it is empty or the same", "Give another name.")
    if options.action == "rename" and new in known:
        raise InputError("NEW", f"'{new}' has records", f"To put them together: projects merge {old} {new}")
    if options.action == "merge" and new not in known:
        raise InputError("B", f"'{new}' has no records", f"To rename it: projects rename {old} {new}")
    count = await repository.merge(tenant, old, new)
    write_result(options, {"project": new, "records": count}, f"{count} records of {old} are in {new} now.")
    if not options.json:
        write_line("Servers that run keep the old name: restart them.")
