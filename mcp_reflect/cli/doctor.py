"""Say where everything is and what is wrong, or recover a damaged bank: `mcp-reflect doctor`."""

import platform
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from mcp_reflect import __version__
from mcp_reflect.cli.commands import CliParser
from mcp_reflect.cli.engine import with_engine
from mcp_reflect.cli.output import GREEN, RED, styled, write_result
from mcp_reflect.cli.reports import report_text, vector_summary
from mcp_reflect.errors import BankError
from mcp_reflect.security.redact import clean
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.sqlite import backup
from mcp_reflect.storage.sqlite.files import Opened as OpenedFile

_MOST_NAMED: Final = 10  # records with damaged texts
_MOST_WAITING: Final = 1000  # records in quarantine that are counted
_PROBE_SECONDS: Final = 10.0


def add_doctor_arguments(parser: CliParser) -> None:
    parser.add_argument(
        "--rescue",
        nargs="?",
        const="",
        metavar="FILE",
        help="recover what can be read of a damaged bank: of FILE, or of those that were set aside",
    )


def run_doctor(options: Namespace) -> int:
    """Print what is wrong first, with what to do about it, then where everything is; or recover a damaged bank.

    The exit status is 1 if something is wrong.
    """
    if options.rescue is not None:
        _rescue(options)
        return 0
    report: dict[str, Any] = clean(with_engine(examine))  # a setting may hold a key by mistake
    lines = [styled(f"wrong: {problem}", RED) for problem in report["degraded"]] or [styled("all is well", GREEN)]
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
    degraded = [*engine.settings.misspelt(), *engine.context.runner.problems()]
    report: dict[str, Any] = {
        "version": __version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "bank": engine.bank.place,
        "scope": str(engine.scopes.own),
        "other_projects": list(engine.scopes.others),
        "bank_works": True,
        "language_models": engine.context.runner.bound(),
        "prompt_overrides": engine.context.runner.overridden(),
        "notes": [],
    }
    try:
        opened = await engine.bank.open()
        await engine.get_stats()
        projects = await engine.bank.lessons.projects(engine.scopes.own.tenant)
        waiting = await engine.bank.lessons.latest(engine.scopes.own, kind=None, limit=_MOST_WAITING, held=True)
    except BankError as error:
        return {**report, "bank_works": False, "degraded": [*degraded, str(error)]}
    report["in_quarantine"] = dict(Counter(lesson.held or "" for lesson in waiting))
    if waiting:
        report["notes"].append(f"{len(waiting)} in quarantine: you decide. Run: mcp-reflect lessons review")
    report["projects_in_bank"] = {project or "(global)": count for project, count in projects.items()}
    report |= {"engine": opened.engine, "schema": opened.schema, "read_only": bool(opened.read_only)}
    if isinstance(opened, OpenedFile):
        degraded += _examine_file(engine.bank.path, opened, report)
    embeddings = engine.bank.embeddings
    if embeddings is not None and await embeddings.patient.embed(["?"], _PROBE_SECONDS) is None:
        degraded.append(f"Recall compares word vectors only. {embeddings.patient.problem}")
    report["embeddings"] = await engine.bank.recalls.embedding_state(engine.scopes.own)
    if opened.read_only:
        degraded.append(f"The bank can only be read: {opened.read_only}. Lessons are recalled, none are stored.")
    if not engine.scopes.own.project:
        fault = "This directory belongs to no project, so lessons are global."
        report["notes"].append(f"{fault} Set MCP_REFLECT_PROJECT to a name.")
    return {**report, "degraded": degraded}


def _examine_file(path: Path, opened: OpenedFile, report: dict[str, Any]) -> Iterator[str]:
    """Add what is known about a bank's file to the report; yield a sentence for each thing that is wrong with it."""
    file, health = path.stat(), backup.health(path)
    report |= {
        "journal_mode": opened.journal_mode,
        "mode": oct(file.st_mode & 0o777),
        "bytes": file.st_size,
        "sound": health.sound and not health.unreadable,
        "set_aside": [str(file) for file in health.aside],
        "copies": [str(file) for file in health.copies],
    }
    if opened.journal_mode != "wal" and not opened.frozen:
        fault = f"The file system cannot share memory, so the journal is '{opened.journal_mode}'"
        report["notes"].append(f"{fault}: readers wait for writers.")
    if file.st_mode & 0o077 and sys.platform != "win32":
        yield f"Others may read the bank. Run: chmod 600 {path}"
    yield from _damage(health)


def _damage(health: backup.Health) -> Iterator[str]:
    """Yield a sentence for each damage of the bank's file."""
    if not health.sound:
        restore = ", or: mcp-reflect restore --latest" if health.copies else ""
        yield f"The bank is damaged. Run: mcp-reflect doctor --rescue{restore}"
    if health.unreadable:
        names = ", ".join(health.unreadable[:_MOST_NAMED])
        yield f"These records have damaged texts: {names}. Run: mcp-reflect doctor --rescue"
    if health.aside:
        fault = f"{health.aside[-1]} was set aside because it is damaged."
        yield f"{fault} To recover what can be read of it, run: mcp-reflect doctor --rescue"


def _rescue(options: Namespace) -> None:
    """Recover what can be read, and print the number of rows by file and table."""
    file = Path(options.rescue).absolute() if options.rescue else None
    recovered = with_engine(lambda engine: engine.bank.maintenance.rescue(file))
    lines: list[str] = []
    for source in recovered:
        counts = ", ".join(f"{count} {name}" for name, count in source.rows.items() if count)
        lines.append(f"Recovered from {source.file}: {counts or 'nothing that the bank does not have'}.")
    text = "\n".join(lines) or "Nothing is damaged, and nothing was set aside."
    write_result(options, [{"file": str(source.file), "rows": source.rows} for source in recovered], text)
