"""What is wrong with an installation, and where everything is: `mcp-reflect doctor`."""

import os
import platform
import stat
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
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
from mcp_reflect.repository_settings import settings_in
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


@dataclass(slots=True)
class _Examination:
    """What is known of an installation so far: `facts` by the names of its parts, and sentences about it.

    A problem is something that is wrong; a note says what could be better but does no harm.
    """

    facts: dict[str, Any]
    problems: list[str]
    notes: list[str]

    def report(self) -> dict[str, Any]:
        """Return all of it under the names that programs read."""
        return {**self.facts, "notes": self.notes, "degraded": self.problems}


async def examine(engine: Engine) -> dict[str, Any]:
    """Return the report on an installation by the names of its parts: `bank`, `schema`, `mode` and more.

    `degraded` has a sentence for each thing that is wrong, `notes` one for each that could be better but does no harm.
    Where the bank does not work, that is the last problem, and the report has what is known without it.
    """
    examination = _Examination(_facts_without_bank(engine), _problems_without_bank(engine), [])
    examination.notes += engine.settings.fading()
    for host in HOSTS:
        examination.notes += leftovers(host)
    for item in settings_in([str(Path.cwd())]):
        sentences = examination.problems if item.weakens_guards else examination.notes
        sentences.append(str(item))
    try:
        opened = await engine.bank.open()
        await engine.open()
        examination.facts["scope"] = str(engine.scopes.own)
        await engine.get_stats()
        await _examine_lessons(engine, examination)
    except BankError as error:
        examination.facts["bank_works"] = False
        examination.problems.append(str(error))
        return examination.report()
    examination.facts["engine"] = opened.engine
    examination.facts["schema"] = opened.schema
    examination.facts["read_only"] = bool(opened.read_only)
    if isinstance(opened, file_access.OpenedFile):
        _examine_file(engine.bank.path, examination)
        examination.problems += _open_to_others(engine.bank.path)
    await _examine_embeddings(engine, examination)
    if opened.read_only:
        examination.problems.append(
            f"The bank can only be read: {opened.read_only}. Lessons are recalled, none are stored."
        )
    if not engine.scopes.own.project:
        fault = "This directory belongs to no project, so lessons are global."
        examination.notes.append(f"{fault} Set MCP_REFLECT_PROJECT to a name.")
    return examination.report()


def _problems_without_bank(engine: Engine) -> list[str]:
    """Return a sentence for each thing that is wrong with the settings, the models, or the hooks of hosts."""
    problems = [*engine.settings.misspelled(), *engine.context.runner.problems()]
    for host in hosts_with_our_hooks():
        problems += hooks_switched_off(host)
    return problems


def _facts_without_bank(engine: Engine) -> dict[str, Any]:
    """Return the facts for which the bank is not opened; `bank_works` is True until it does not."""
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
    }


async def _examine_lessons(engine: Engine, examination: _Examination) -> None:
    """Note which projects have lessons, what waits for a person, and which projects' folders are gone."""
    own = engine.scopes.own
    bank = engine.bank
    projects = await bank.lessons.projects(own.tenant)
    waiting = await bank.lessons.latest(own, kind=None, limit=_MOST_WAITING, held=True)
    examination.facts["in_quarantine"] = dict(Counter(lesson.held or "" for lesson in waiting))
    if waiting:
        examination.notes.append(
            f"{len(waiting)} in quarantine: you decide. Run: mcp-reflect lessons review"
        )
    shared = await services.shared.shared_here(engine.context)
    if shared.note:
        examination.notes.append(shared.note)
    examination.facts["projects_in_bank"] = {
        project or "(global)": count for project, count in projects.items()
    }
    for name in gone_folders(engine, await bank.projects.list(own.tenant)):
        fault = f"The folder of the project {name} is gone. If it moved, run in the new place"
        fix = f"mcp-reflect projects rename {name} {own.project or 'NEW'}"
        examination.notes.append(f"{fault}: {fix}")


async def _examine_embeddings(engine: Engine, examination: _Examination) -> None:
    """Note how many lessons have a vector, and whether the embedding model answers."""
    state = await engine.bank.recalls.embedding_state(engine.scopes.own)
    examination.facts["embeddings"] = state
    embeddings = engine.bank.embeddings
    if embeddings is None:
        return
    if await embeddings.embedder.embed(["?"], _PROBE_SECONDS) is None:
        examination.problems.append(
            f"Recall compares word vectors only. {embeddings.embedder.problem}"
        )


def _examine_file(path: Path, examination: _Examination) -> None:
    """Note what is known about a bank's file, and whether it is damaged."""
    status = path.stat()
    is_sound, unreadable = backup.check(path)
    aside = damaged.all_aside(path)
    copies = damaged.all_copies(path)
    examination.facts |= {
        "mode": oct(status.st_mode & 0o777),
        "bytes": status.st_size,
        "sound": is_sound and not unreadable,
        "set_aside": [str(file) for file in aside],
        "copies": [str(file) for file in copies],
    }
    if not is_sound:
        fix = "export"
        if copies:
            fix = "restore --latest"
        examination.problems.append(f"The bank is damaged. Run: mcp-reflect {fix}")
    if unreadable:
        names = ", ".join(unreadable[:_MOST_NAMED])
        examination.problems.append(
            f"These records have damaged texts: {names}. Run: mcp-reflect restore --latest"
        )
    if aside:
        fault = f"{aside[-1]} was set aside because it is damaged."
        fix = "docs/operations.md says how SQLite reads what was written since the last copy. Then delete it."
        examination.problems.append(f"{fault} {fix}")


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
