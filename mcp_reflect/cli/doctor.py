"""Say where everything is and what is wrong: `mcp-reflect doctor`."""

import platform
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from mcp_reflect import __version__
from mcp_reflect.cli.commands import CliParser, add_service_arguments
from mcp_reflect.cli.output import GREEN, RED, styled, write_result
from mcp_reflect.cli.place import ask_as, with_engine
from mcp_reflect.cli.projects import gone_folders
from mcp_reflect.cli.reports import report_text, vector_summary
from mcp_reflect.errors import BankError
from mcp_reflect.security.redact import clean
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.sqlite import backup
from mcp_reflect.storage.sqlite.files import OpenedFile

_MOST_NAMED: Final = 10  # records with damaged texts
_MOST_WAITING: Final = 1000  # records in quarantine that are counted
_PROBE_SECONDS: Final = 10.0


def add_doctor_arguments(parser: CliParser) -> None:
    add_service_arguments(parser)


def run_doctor(options: Namespace) -> int:
    """Print what is wrong first, with what to do about it, then where everything is.

    The exit status is 1 if something is wrong.
    """
    if options.url:
        report = {"version": __version__, "service": options.url, **ask_as(options, "whoami", {})}
        write_result(options, report, f"{styled('the service answers', GREEN)}\n{report_text(report)}")
        return 0
    report: dict[str, Any] = clean(with_engine(examine, opens=False))  # a setting may hold a key by mistake
    lines = [styled(f"problem: {problem}", RED) for problem in report["degraded"]] or [
        styled("everything works", GREEN)
    ]
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
    report: dict[str, Any] = {
        "version": __version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "bank": engine.bank.place,
        "scope": str(engine.scopes.own),
        "projects_allowed": list(engine.scopes.others),
        "bank_works": True,
        "language_models": engine.context.runner.bound(),
        "prompt_overrides": engine.context.runner.overridden(),
        "notes": [],
    }
    try:
        opened = await engine.bank.open()
        report["scope"] = str((await engine.open()).scopes.own)
        await engine.get_stats()
        projects = await engine.bank.lessons.projects(engine.scopes.own.tenant)
        waiting = await engine.bank.lessons.latest(engine.scopes.own, kind=None, limit=_MOST_WAITING, held=True)
    except BankError as error:
        return {**report, "bank_works": False, "degraded": [*degraded, str(error)]}
    report["in_quarantine"] = dict(Counter(lesson.held or "" for lesson in waiting))
    if waiting:
        report["notes"].append(f"{len(waiting)} in quarantine: you decide. Run: mcp-reflect lessons review")
    report["projects_in_bank"] = {project or "(global)": count for project, count in projects.items()}
    for name in gone_folders(engine, await engine.bank.projects.list(engine.scopes.own.tenant)):
        fault = f"The folder of the project {name} is gone. If it moved, run in the new place"
        report["notes"].append(f"{fault}: mcp-reflect projects rename {name} {engine.scopes.own.project or 'NEW'}")
    report |= {"engine": opened.engine, "schema": opened.schema, "read_only": bool(opened.read_only)}
    if isinstance(opened, OpenedFile):
        degraded += _examine_file(engine.bank.path, report)
    embeddings = engine.bank.embeddings
    if embeddings is not None and await embeddings.embedder.embed(["?"], _PROBE_SECONDS) is None:
        degraded.append(f"Recall compares word vectors only. {embeddings.embedder.problem}")
    report["embeddings"] = await engine.bank.recalls.embedding_state(engine.scopes.own)
    if opened.read_only:
        degraded.append(f"The bank can only be read: {opened.read_only}. Lessons are recalled, none are stored.")
    if not engine.scopes.own.project:
        fault = "This directory belongs to no project, so lessons are global."
        report["notes"].append(f"{fault} Set MCP_REFLECT_PROJECT to a name.")
    return {**report, "degraded": degraded}


def _examine_file(path: Path, report: dict[str, Any]) -> Iterator[str]:
    """Add what is known about a bank's file to the report; yield a sentence for each thing that is wrong with it."""
    file, health = path.stat(), backup.health(path)
    report |= {
        "mode": oct(file.st_mode & 0o777),
        "bytes": file.st_size,
        "sound": health.sound and not health.unreadable,
        "set_aside": [str(file) for file in health.aside],
        "copies": [str(file) for file in health.copies],
    }
    if file.st_mode & 0o077 and sys.platform != "win32":
        yield f"Others may read the bank. Run: chmod 600 {path}"
    yield from _damage(health)


def _damage(health: backup.Health) -> Iterator[str]:
    """Yield a sentence for each damage of the bank's file."""
    if not health.sound:
        fix = "restore --latest" if health.copies else "export"
        yield f"The bank is damaged. Run: mcp-reflect {fix}"
    if health.unreadable:
        names = ", ".join(health.unreadable[:_MOST_NAMED])
        yield f"These records have damaged texts: {names}. Run: mcp-reflect restore --latest"
    if health.aside:
        fault = f"{health.aside[-1]} was set aside because it is damaged."
        yield f"{fault} docs/operations.md says how SQLite reads what was written since the last copy. Then delete it."
