"""Look after the bank: `mcp-reflect doctor | projects | dream | embed`."""

import os
import platform
import stat
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from mcp_reflect import __version__, services
from mcp_reflect.cli.commands import CliParser, add_actions
from mcp_reflect.cli.files import read_text
from mcp_reflect.cli.host_state import hooks_switched_off, hosts_with_our_hooks, registrations
from mcp_reflect.cli.output import (
    GREEN,
    RED,
    counted,
    styled,
    table,
    write_json,
    write_line,
    write_result,
)
from mcp_reflect.cli.place import ask_as, with_engine
from mcp_reflect.cli.reports import report_text, vector_summary
from mcp_reflect.config import ServerUrl
from mcp_reflect.errors import BankError, InputError
from mcp_reflect.models.common import plain
from mcp_reflect.models.lesson import Dream, GuardMode, Undone
from mcp_reflect.projects import folder_is_gone, stored_name
from mcp_reflect.security.redact import clean
from mcp_reflect.services.engine import Engine
from mcp_reflect.sessions.text import clip
from mcp_reflect.speaker import Speaker, refuse_agent, refuse_in_host, speaker_of_process
from mcp_reflect.storage.projects import ProjectCounts
from mcp_reflect.storage.sqlite import backup, files

_MOST_NAMED: Final = 10  # records with damaged texts
_MOST_WAITING: Final = 1000  # records in quarantine that are counted
_PROBE_SECONDS: Final = 10.0


def run_doctor(options: Namespace) -> int:
    """Print what is wrong first, with what to do about it, then where everything is.

    The exit status is 1 if something is wrong.
    """
    if options.url:
        report = {"version": __version__, "service": options.url, **ask_as(options, "whoami", {})}
        write_result(
            options, report, f"{styled('the service answers', GREEN)}\n{report_text(report)}"
        )
        return 0
    report: dict[str, Any] = clean(
        with_engine(examine, opens=False)
    )  # a setting may hold a key by mistake
    lines = [styled(f"problem: {problem}", RED) for problem in report["degraded"]]
    lines = lines or [styled("everything works", GREEN)]
    values = {name: value for name, value in report.items() if name not in ("notes", "degraded")}
    if "embeddings" in values:
        values["embeddings"] = vector_summary(values["embeddings"])
    lines.append(report_text(values))
    lines += [f"note: {note}" for note in report["notes"]]
    write_result(options, report, "\n".join(lines))
    return 1 if report["degraded"] else 0


async def examine(engine: Engine) -> dict[str, Any]:
    """Return the report: paths, schema, mode and more.

    `degraded` has a sentence for each thing that is wrong, `notes` one for each that could be better but does no harm.
    """
    degraded = [*engine.settings.misspelled(), *engine.context.runner.problems()]
    degraded += [told for host in hosts_with_our_hooks() for told in hooks_switched_off(host)]
    report: dict[str, Any] = {
        "version": __version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "bank": engine.bank.place,
        "scope": str(engine.scopes.own),
        "projects_allowed": list(engine.scopes.others),
        "bank_works": True,
        "registered_in": registrations(),
        "language_models": engine.context.runner.bound(),
        "prompt_overrides": engine.context.runner.overridden(),
        "notes": engine.settings.fading(),
    }
    try:
        opened = await engine.bank.open()
        report["scope"] = str((await engine.open()).scopes.own)
        await engine.get_stats()
        projects = await engine.bank.lessons.projects(engine.scopes.own.tenant)
        waiting = await engine.bank.lessons.latest(
            engine.scopes.own, kind=None, limit=_MOST_WAITING, held=True
        )
    except BankError as error:
        return {**report, "bank_works": False, "degraded": [*degraded, str(error)]}
    report["in_quarantine"] = dict(Counter(lesson.held or "" for lesson in waiting))
    if waiting:
        report["notes"].append(
            f"{len(waiting)} in quarantine: you decide. Run: mcp-reflect lessons review"
        )
    if note := (await services.shared.shared_here(engine.context)).note:
        report["notes"].append(note)
    report["projects_in_bank"] = {
        project or "(global)": count for project, count in projects.items()
    }
    for name in gone_folders(engine, await engine.bank.projects.list(engine.scopes.own.tenant)):
        fault = f"The folder of the project {name} is gone. If it moved, run in the new place"
        report["notes"].append(
            f"{fault}: mcp-reflect projects rename {name} {engine.scopes.own.project or 'NEW'}"
        )
    report |= {
        "engine": opened.engine,
        "schema": opened.schema,
        "read_only": bool(opened.read_only),
    }
    if isinstance(opened, files.OpenedFile):
        degraded += _examine_file(engine.bank.path, report)
        degraded += _open_to_others(engine.bank.path)
    embeddings = engine.bank.embeddings
    if embeddings is not None and await embeddings.embedder.embed(["?"], _PROBE_SECONDS) is None:
        degraded.append(f"Recall compares word vectors only. {embeddings.embedder.problem}")
    report["embeddings"] = await engine.bank.recalls.embedding_state(engine.scopes.own)
    if opened.read_only:
        degraded.append(
            f"The bank can only be read: {opened.read_only}. Lessons are recalled, none are stored."
        )
    if not engine.scopes.own.project:
        fault = "This directory belongs to no project, so lessons are global."
        report["notes"].append(f"{fault} Set MCP_REFLECT_PROJECT to a name.")
    return {**report, "degraded": degraded}


def _examine_file(path: Path, report: dict[str, Any]) -> Iterator[str]:
    """Add what is known about a bank's file to the report; yield a sentence for each thing that is wrong with it."""
    file, (sound, unreadable) = path.stat(), backup.check(path)
    aside, copies = files.all_aside(path), files.all_copies(path)
    report |= {
        "mode": oct(file.st_mode & 0o777),
        "bytes": file.st_size,
        "sound": sound and not unreadable,
        "set_aside": [str(file) for file in aside],
        "copies": [str(file) for file in copies],
    }
    if not sound:
        fix = "restore --latest" if copies else "export"
        yield f"The bank is damaged. Run: mcp-reflect {fix}"
    if unreadable:
        names = ", ".join(unreadable[:_MOST_NAMED])
        yield f"These records have damaged texts: {names}. Run: mcp-reflect restore --latest"
    if aside:
        fault = f"{aside[-1]} was set aside because it is damaged."
        yield f"{fault} docs/operations.md says how SQLite reads what was written since the last copy. Then delete it."


def _open_to_others(path: Path) -> Iterator[str]:
    """Yield a sentence for each folder in which somebody else could put another file in the bank's place."""
    if os.name != "posix":
        return
    for folder in path.parents:
        found = folder.stat()
        is_sticky = folder != path.parent and found.st_mode & stat.S_ISVTX
        if not is_sticky and (found.st_mode & stat.S_IWOTH or _is_shared_by_group(found)):
            yield f"Others can write into {folder}, and so replace the bank. Run: chmod go-w {folder}"


def _is_shared_by_group(folder: os.stat_result) -> bool:
    """Return whether a group of more than the person may write into a folder."""
    import grp  # noqa: PLC0415 - not on Windows
    import pwd  # noqa: PLC0415 - same

    if not folder.st_mode & stat.S_IWGRP or folder.st_gid == 0:
        return False
    try:
        person, group = pwd.getpwuid(os.getuid()), grp.getgrgid(folder.st_gid)
    except KeyError:
        return True
    return bool({*group.gr_mem} - {person.pw_name}) or person.pw_gid != folder.st_gid


def add_projects_arguments(parser: CliParser) -> None:
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
    change: they keep the name that they started with.
    """
    actions = {"list": _list_projects, "guards": _set_guards}
    with_engine(lambda engine: actions.get(options.action, _rename)(engine, options))


async def _set_guards(engine: Engine, options: Namespace) -> None:
    refuse_agent(speaker_of_process(), "guards", "say what guards do in a project")
    mode = None if options.mode == "default" else GuardMode(options.mode)
    await engine.bank.lessons.set_guard_mode(engine.scopes.own, mode, by=Speaker.PERSON)
    said = f"Guards in {engine.scopes.own}: {mode or engine.settings.guards}."
    write_result(options, {"project": engine.scopes.own.project, "guards": mode}, said)


async def _list_projects(engine: Engine, options: Namespace) -> None:
    projects = await engine.bank.projects.list(engine.scopes.own.tenant)
    gone = gone_folders(engine, projects)
    rows = [
        (
            f"{name or '(global)'}{' (folder gone)' * (name in gone)}",
            str(lessons),
            str(failures),
            ", ".join(others),
        )
        for name, lessons, failures, others in projects
    ]
    text = (
        table(rows, ("project", "lessons", "failing calls", "other names"), 3)
        if rows
        else "No project has records."
    )
    own = engine.scopes.own.project
    report = [
        {**one._asdict(), "own": one.name == own, "folder_gone": one.name in gone}
        for one in projects
    ]
    write_result(options, report, text)


def gone_folders(engine: Engine, projects: Sequence[ProjectCounts]) -> list[str]:
    """Return the projects that are named by a folder of this machine that is not there."""
    if isinstance(engine.settings.bank, ServerUrl):  # other machines have other folders
        return []
    return [project.name for project in projects if folder_is_gone(project.name)]


async def _rename(engine: Engine, options: Namespace) -> None:
    tenant, repository = engine.scopes.own.tenant, engine.bank.projects
    known = {project.name for project in await repository.list(tenant)}
    old, new = (stored_name(name.strip()) for name in (options.old, options.new))
    if not old or old not in known:
        raise InputError("OLD", f"'{old}' has no records", "List them: mcp-reflect projects.")
    if not new or new == old:
        raise InputError("NEW", "it is empty or the same", "Give another name.")
    if (options.action == "rename") == (new in known):
        fault, other = (
            ("it has records", "merge") if new in known else ("it has no records", "rename")
        )
        raise InputError("NEW", fault, f"Did you mean: mcp-reflect projects {other} {old} {new}")
    count = await repository.merge(tenant, old, new)
    said = f"{counted(count, 'record')} of {old} moved to {new}. Servers that run keep the old name: restart them."
    write_result(options, {"project": new, "records": count}, said)


def add_dream_arguments(parser: CliParser) -> None:
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
    if options.list:
        dreams = await engine.bank.consolidations.latest(engine.scopes.own)
        rows = [
            (
                dream["id"],
                dream["state"],
                plan["thinker"],
                str(len(plan["merges"])),
                str(dream["tokens"]),
            )
            for dream in dreams
            for plan in [dream["plan"]]
        ]
        listing = table(rows, ("id", "state", "thinker", "merged", "tokens"), 2)
        write_result(
            options, dreams, listing if dreams else f"No dreams in {engine.scopes.own} yet."
        )
    elif options.prompt:
        from mcp_reflect.services.consolidate import prompt  # noqa: PLC0415 - only here

        write_line(await prompt(engine.context))
    elif options.undo:
        refuse_in_host("--undo", "undo a dream")
        undone = await engine.undo_dream(options.undo, by=speaker_of_process())
        report_undone(undone, options)
    else:
        analysis = read_text(options.analysis, engine.settings) if options.analysis else None
        dream = await engine.dream(plan_only=options.plan, analysis=analysis)
        if options.json:
            write_json(plain(dream))
        else:
            await _print_dream(engine, dream)


def report_undone(undone: Undone, options: Namespace) -> None:
    """Print what the undo of a dream, or of a merge by hand, put back."""
    lines = [f"{undone.dream_id}: undone, {counted(len(undone.restored), 'record')} put back."]
    lines += [f"  {record_id} was changed since and stays as it is" for record_id in undone.skipped]
    write_result(options, plain(undone), "\n".join(lines))


async def _print_dream(engine: Engine, dream: Dream) -> None:
    plan = dream.plan
    write_line(
        f"Looked at by {plan.thinker}: {plan.looked_at} records, groups of similar ones: {len(plan.clusters)}."
    )
    if plan.note:
        write_line(f"Note: {plan.note}")
    for merge in plan.merges:
        write_line(f"merge into {merge.keep}: {', '.join(merge.gone)} ({merge.reason})")
        write_line(f"    {await _text(engine, merge.keep)}")
        if merge.wording:
            write_line(f"    now: {merge.wording.mistake} {merge.wording.correction}")
    for generalization in plan.generalizations:
        write_line(
            f"new lesson from {', '.join(generalization.sources)}:\n    {generalization.lesson.text}"
        )
    for archiving in plan.archivings:
        write_line(
            f"archive {archiving.id}: {archiving.reason}\n    {await _text(engine, archiving.id)}"
        )
    for reason in plan.refused:
        write_line(f"not taken: {reason}")
    done = f"Done: {dream.dream_id}. `mcp-reflect dream --undo {dream.dream_id}` puts it back."
    others = {
        "planned": "Nothing was changed. Without --plan it is done.",
        "nothing_to_do": "There is nothing to do.",
    }
    write_line(others.get(dream.status, done))


async def _text(engine: Engine, record_id: str) -> str:
    return clip((await engine.bank.lessons.get(engine.scopes.own, record_id)).text, 100)


def run_embed(options: Namespace) -> int:
    """Give every lesson of this project and every global one its vector now, not when the server is idle."""

    async def work(engine: Engine) -> tuple[int, Any]:
        embeddings = engine.bank.embeddings
        if embeddings is None:
            fault = "it names no embedder: every lesson got its word vector when it was stored"
            raise InputError(
                "MCP_REFLECT_EMBEDDINGS", fault, "Name one, as docs/embeddings.md says."
            )
        total = 0
        async for count in embeddings.embed_all():
            total += count
            if not options.json:
                write_line(f"{total} lessons embedded ...")
        return total, await engine.bank.recalls.embedding_state(engine.scopes.own)

    total, state = with_engine(work)
    text = f"{counted(total, 'lesson')} embedded: {vector_summary(state)}."
    write_result(
        options,
        {"embedded": total, **state},
        f"{text}\n{state['problem']}" if "problem" in state else text,
    )
    return 0 if state["with_vector"] == state["lessons"] else 1
