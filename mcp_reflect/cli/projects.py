"""The projects of a bank, listed and changed: `mcp-reflect projects`."""

from argparse import Namespace
from collections.abc import Sequence

from mcp_reflect.bank_address import ServerUrl
from mcp_reflect.cli.commands import CliParser, add_actions
from mcp_reflect.cli.output import counted, table, write_result
from mcp_reflect.cli.running import with_engine
from mcp_reflect.errors import InputError
from mcp_reflect.models.lesson import GuardMode
from mcp_reflect.projects import folder_is_gone, stored_name
from mcp_reflect.services.engine import Engine
from mcp_reflect.speaker import Speaker, refuse_agent, speaker_of_process
from mcp_reflect.storage.projects import ProjectCounts


def add_projects_arguments(parser: CliParser) -> None:
    """Add the actions of `mcp-reflect projects`."""
    add = add_actions(parser)
    add("list", "the projects of the bank, with their lessons and other names", "")
    for name, about, example in (
        (
            "rename",
            "give a project another name; the old one still finds it",
            "/home/ada/shop shop",
        ),
        (
            "merge",
            "give all that project OLD learned to project NEW",
            "shop-old github.com/acme/shop",
        ),
    ):
        action = add(name, about, example)
        action.add_argument("old", metavar="OLD")
        action.add_argument("new", metavar="NEW")
    guards = add("guards", "say what a call against a lesson of this project meets", "hold")
    meaning = (
        "refuse the call once, tell the agent, or nothing; default: as MCP_REFLECT_GUARDS says"
    )
    guards.add_argument("mode", choices=("hold", "tell", "off", "default"), help=meaning)


def run_projects(options: Namespace) -> None:
    """List the projects of the bank with their lessons and other names, or rename or merge them.

    A project is its repository: clones and worktrees share it, and its folder may move. Stop running servers before a
    change: they keep the name that they started with. Only a person moves lessons that a person keeps, or lets another
    project's folders see them.
    """
    actions = {
        "list": _list_projects,
        "guards": _set_guards,
        "rename": _rename_or_merge,
        "merge": _rename_or_merge,
    }
    with_engine(lambda engine: actions[options.action](engine, options))


async def _set_guards(engine: Engine, options: Namespace) -> None:
    """Set what guards do in the project: a mode, or (`default`) what the setting says."""
    refuse_agent(speaker_of_process(), "guards", "say what guards do in a project")
    mode: GuardMode | None = None
    if options.mode != "default":
        mode = GuardMode(options.mode)
    await engine.bank.guards.set_mode(engine.scopes.own, mode, by=Speaker.PERSON)
    text = f"Guards in {engine.scopes.own}: {mode or engine.settings.guards}."
    write_result(options, {"project": engine.scopes.own.project, "guards": mode}, text)


async def _list_projects(engine: Engine, options: Namespace) -> None:
    """Print the projects of the bank."""
    projects = await engine.bank.projects.list(engine.scopes.own.tenant)
    gone = gone_folders(engine, projects)
    text = "No project has records."
    if projects:
        rows = [_row_of_project(project, is_gone=project.name in gone) for project in projects]
        text = table(rows, ("project", "lessons", "failing calls", "other names"), 3)
    own = engine.scopes.own.project
    report = [
        {**project._asdict(), "own": project.name == own, "folder_gone": project.name in gone}
        for project in projects
    ]
    write_result(options, report, text)


def _row_of_project(project: ProjectCounts, *, is_gone: bool) -> tuple[str, ...]:
    """Return the row of a project in the table."""
    name, lessons, failures, other_names = project
    title = name or "(global)"
    if is_gone:
        title += " (folder gone)"
    return (title, str(lessons), str(failures), ", ".join(other_names))


def gone_folders(engine: Engine, projects: Sequence[ProjectCounts]) -> list[str]:
    """Return the projects that are named by a folder of this machine that is not there."""
    if isinstance(engine.settings.bank, ServerUrl):  # other machines have other folders
        return []
    return [project.name for project in projects if folder_is_gone(project.name)]


async def _rename_or_merge(engine: Engine, options: Namespace) -> None:
    """Give the records of project OLD to NEW: `rename` where NEW has none yet, `merge` where it has some.

    The other action is an InputError that names the one that was meant, so that nobody merges two projects by a slip.
    """
    tenant, repository = engine.scopes.own.tenant, engine.bank.projects
    names_with_records = {project.name for project in await repository.list(tenant)}
    old = stored_name(options.old.strip())
    new = stored_name(options.new.strip())
    if not old or old not in names_with_records:
        raise InputError("OLD", f"'{old}' has no records", "List them: mcp-reflect projects.")
    if not new or new == old:
        raise InputError("NEW", "it is empty or the same", "Give another name.")
    if options.action == "rename" and new in names_with_records:
        raise _other_action(options, "it has records", "merge")
    if options.action == "merge" and new not in names_with_records:
        raise _other_action(options, "it has no records", "rename")
    count = await repository.merge(tenant, old, new, by=speaker_of_process())
    text = f"{counted(count, 'record')} of {old} moved to {new}. Servers that run keep the old name: restart them."
    write_result(options, {"project": new, "records": count}, text)


def _other_action(options: Namespace, fault: str, action: str) -> InputError:
    """Return the error of a new name that has records, or has none, with the action that was meant."""
    old, new = stored_name(options.old.strip()), stored_name(options.new.strip())
    fix = f"Did you mean: mcp-reflect projects {action} {old} {new}"
    return InputError("NEW", fault, fix)
