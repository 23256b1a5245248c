"""What is wrong with an installation, and where everything is: `mcp-reflect doctor`."""

import os
import platform
import stat
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from mcp_reflect import __version__, services
from mcp_reflect.cli.host_state import hooks_switched_off, hosts_with_our_hooks, registrations
from mcp_reflect.cli.host_table import HOSTS
from mcp_reflect.cli.leftovers import leftovers
from mcp_reflect.cli.output import (
    GREEN,
    RED,
    styled,
    write_result,
)
from mcp_reflect.cli.projects import gone_folders
from mcp_reflect.cli.running import with_engine
from mcp_reflect.cli.service_client import ask_as
from mcp_reflect.cli.stats import report_text, vector_summary
from mcp_reflect.errors import BankError
from mcp_reflect.security.redact import clean
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.sqlite import backup, damaged, file_access

_MOST_NAMED: Final = 10  # records with damaged texts
_MOST_WAITING: Final = 1000  # records in quarantine that are counted
_PROBE_SECONDS: Final = 10.0  # that the embedding model may take for one word


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
    # A setting may hold a key by mistake.
    report: dict[str, Any] = clean(with_engine(examine, opens=False))
    lines = [styled(f"problem: {problem}", RED) for problem in report["degraded"]]
    if not lines:
        lines = [styled("everything works", GREEN)]
    values = {name: value for name, value in report.items() if name not in ("notes", "degraded")}
    if "embeddings" in values:
        values["embeddings"] = vector_summary(values["embeddings"])
    lines.append(report_text(values))
    lines += [f"note: {note}" for note in report["notes"]]
    write_result(options, report, "\n".join(lines))
    return int(bool(report["degraded"]))


async def examine(engine: Engine) -> dict[str, Any]:
    """Return the report on an installation by the names of its parts: `bank`, `schema`, `mode` and more.

    `degraded` has a sentence for each thing that is wrong, `notes` one for each that could be better but does no harm.
    """
    degraded = [*engine.settings.misspelled(), *engine.context.runner.problems()]
    for host in hosts_with_our_hooks():
        degraded += hooks_switched_off(host)
    report = _report_without_bank(engine)
    try:
        opened = await engine.bank.open()
        await engine.open()
        report["scope"] = str(engine.scopes.own)
        await engine.get_stats()
        await _examine_lessons(engine, report)
    except BankError as error:
        return {**report, "bank_works": False, "degraded": [*degraded, str(error)]}
    report["engine"] = opened.engine
    report["schema"] = opened.schema
    report["read_only"] = bool(opened.read_only)
    if isinstance(opened, file_access.OpenedFile):
        degraded += _examine_file(engine.bank.path, report)
        degraded += _open_to_others(engine.bank.path)
    degraded += await _examine_embeddings(engine, report)
    if opened.read_only:
        degraded.append(
            f"The bank can only be read: {opened.read_only}. Lessons are recalled, none are stored."
        )
    if not engine.scopes.own.project:
        fault = "This directory belongs to no project, so lessons are global."
        report["notes"].append(f"{fault} Set MCP_REFLECT_PROJECT to a name.")
    return {**report, "degraded": degraded}


def _report_without_bank(engine: Engine) -> dict[str, Any]:
    """Return the part of the report for which the bank is not opened; `bank_works` is True until it is."""
    notes = engine.settings.fading()
    for host in HOSTS:
        notes += leftovers(host)
    return {
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
        "notes": notes,
    }


async def _examine_lessons(engine: Engine, report: dict[str, Any]) -> None:
    """Add to the report which projects have lessons, and what waits for a person."""
    own, bank, notes = engine.scopes.own, engine.bank, report["notes"]
    projects = await bank.lessons.projects(own.tenant)
    waiting = await bank.lessons.latest(own, kind=None, limit=_MOST_WAITING, held=True)
    report["in_quarantine"] = dict(Counter(lesson.held or "" for lesson in waiting))
    if waiting:
        notes.append(f"{len(waiting)} in quarantine: you decide. Run: mcp-reflect lessons review")
    shared = await services.shared.shared_here(engine.context)
    if shared.note:
        notes.append(shared.note)
    report["projects_in_bank"] = {
        project or "(global)": count for project, count in projects.items()
    }
    for name in gone_folders(engine, await bank.projects.list(own.tenant)):
        fault = f"The folder of the project {name} is gone. If it moved, run in the new place"
        notes.append(f"{fault}: mcp-reflect projects rename {name} {own.project or 'NEW'}")


async def _examine_embeddings(engine: Engine, report: dict[str, Any]) -> list[str]:
    """Add to the report how many lessons have a vector; return a sentence where the embedding model does not answer."""
    report["embeddings"] = await engine.bank.recalls.embedding_state(engine.scopes.own)
    embeddings = engine.bank.embeddings
    if embeddings is None:
        return []
    if await embeddings.embedder.embed(["?"], _PROBE_SECONDS) is not None:
        return []
    return [f"Recall compares word vectors only. {embeddings.embedder.problem}"]


def _examine_file(path: Path, report: dict[str, Any]) -> Iterator[str]:
    """Add what is known about a bank's file to the report; yield a sentence for each thing that is wrong with it."""
    status = path.stat()
    sound, unreadable = backup.check(path)
    aside = damaged.all_aside(path)
    copies = damaged.all_copies(path)
    report |= {
        "mode": oct(status.st_mode & 0o777),
        "bytes": status.st_size,
        "sound": sound and not unreadable,
        "set_aside": [str(file) for file in aside],
        "copies": [str(file) for file in copies],
    }
    if not sound:
        fix = "export"
        if copies:
            fix = "restore --latest"
        yield f"The bank is damaged. Run: mcp-reflect {fix}"
    if unreadable:
        names = ", ".join(unreadable[:_MOST_NAMED])
        yield f"These records have damaged texts: {names}. Run: mcp-reflect restore --latest"
    if aside:
        fault = f"{aside[-1]} was set aside because it is damaged."
        yield f"{fault} docs/operations.md says how SQLite reads what was written since the last copy. Then delete it."


def _open_to_others(path: Path) -> Iterator[str]:
    """Yield a sentence for each folder above the bank in which others could put another file in its place."""
    if os.name != "posix":
        return
    for folder in path.parents:
        status = folder.stat()
        # In a sticky folder nobody can replace what is another's; the bank's own folder may get new files, such as a log.
        is_sticky = folder != path.parent and status.st_mode & stat.S_ISVTX
        if not is_sticky and (status.st_mode & stat.S_IWOTH or _is_shared_by_group(status)):
            yield f"Others can write into {folder}, and so replace the bank. Run: chmod go-w {folder}"


def _is_shared_by_group(folder: os.stat_result) -> bool:
    """Return whether a group of more than the person may write into a folder."""
    import grp  # noqa: PLC0415 - not on Windows
    import pwd  # noqa: PLC0415 - same

    if not folder.st_mode & stat.S_IWGRP or folder.st_gid == 0:
        return False
    try:
        person = pwd.getpwuid(os.getuid())
        group = grp.getgrgid(folder.st_gid)
    except KeyError:  # nobody knows who is in it
        return True
    has_other_members = any(member != person.pw_name for member in group.gr_mem)
    is_group_of_person = person.pw_gid == folder.st_gid
    return has_other_members or not is_group_of_person
