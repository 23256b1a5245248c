"""Say where everything is and what is wrong, or recover a damaged bank: `mcp-reflect doctor`."""

import platform
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

from mcp_reflect import __version__
from mcp_reflect.cli.commands import CliParser
from mcp_reflect.cli.engine import with_engine
from mcp_reflect.cli.output import GREEN, RED, styled, write_json, write_line
from mcp_reflect.cli.reports import vector_summary
from mcp_reflect.errors import BankError
from mcp_reflect.security.redact import clean
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.sqlite import backup

_MOST_NAMED: Final = 10  # records with damaged texts
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
        return _rescue(options.rescue, as_json=options.json)
    report: dict[str, Any] = clean(with_engine(examine))  # a setting may hold a key by mistake
    if options.json:
        write_json(report)
    else:
        _print(report)
    return 1 if report["degraded"] else 0


def _print(report: dict[str, Any]) -> None:
    for problem in report["degraded"]:
        write_line(styled(f"wrong: {problem}", RED))
    if not report["degraded"]:
        write_line(styled("all is well", GREEN))
    for name, value in report.items():
        if name not in ("notes", "degraded"):
            write_line(f"{name.replace('_', ' ')}: {_text(value)}")
    for note in report["notes"]:
        write_line(f"note: {note}")


async def examine(engine: Engine) -> dict[str, Any]:
    """Return the report: paths, schema, mode and more.

    `degraded` has a sentence for each thing that is wrong, `notes` one for each that could be better but does no harm.
    """
    degraded = [*engine.settings.misspelt(), *engine.context.runner.problems()]
    report: dict[str, Any] = {
        "version": __version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "bank": str(engine.bank.path),
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
    except BankError as error:
        return {**report, "bank_works": False, "degraded": [*degraded, str(error)]}
    report["projects_in_bank"] = {project or "(global)": count for project, count in projects.items()}
    file = engine.bank.path.stat()
    report |= {
        "schema": opened.schema,
        "journal_mode": opened.journal_mode,
        "read_only": bool(opened.read_only),
        "mode": oct(file.st_mode & 0o777),
        "bytes": file.st_size,
    }
    health = backup.health(engine.bank.path)
    report |= {
        "sound": health.sound and not health.unreadable,
        "set_aside": [str(file) for file in health.aside],
        "copies": [str(file) for file in health.copies],
        "sqlite": health.sqlite,
    }
    degraded += _damage(health)
    embeddings = engine.bank.embeddings
    if embeddings is not None and await embeddings.patient.embed(["?"], _PROBE_SECONDS) is None:
        degraded.append(f"Recall compares word vectors only. {embeddings.patient.problem}")
    report["embeddings"] = await engine.bank.recalls.embedding_state(engine.scopes.own)
    if opened.read_only:
        degraded.append(f"The bank can only be read: {opened.read_only}. Lessons are recalled, none are stored.")
    if opened.journal_mode != "wal" and not opened.frozen:
        report["notes"].append(
            f"The file system cannot share memory, so the journal is '{opened.journal_mode}': readers wait for writers."
        )
    if file.st_mode & 0o077 and sys.platform != "win32":
        degraded.append(f"Others may read the bank. Run: chmod 600 {engine.bank.path}")
    if not engine.scopes.own.project:
        report["notes"].append(
            "This directory belongs to no project, so lessons are global. Set MCP_REFLECT_PROJECT to a name."
        )
    return {**report, "degraded": degraded}


def _damage(health: backup.Health) -> Iterator[str]:
    """Yield a sentence for each damage of the bank's file."""
    if not health.sound:
        restore = ", or: mcp-reflect restore --latest" if health.copies else ""
        yield f"The bank is damaged. Run: mcp-reflect doctor --rescue{restore}"
    if health.unreadable:
        names = ", ".join(health.unreadable[:_MOST_NAMED])
        yield f"These records have damaged texts: {names}. Run: mcp-reflect doctor --rescue"
    if health.aside:
        yield (
            f"{health.aside[-1]} was set aside because it is damaged. To recover what can be read of it, run: "
            "mcp-reflect doctor --rescue"
        )


def _rescue(file: str, *, as_json: bool) -> int:
    """Recover what can be read, and print the number of rows by file and table."""
    recovered = with_engine(lambda engine: engine.bank.maintenance.rescue(Path(file).absolute() if file else None))
    if as_json:
        write_json([{"file": str(source.file), "rows": source.rows} for source in recovered])
        return 0
    for source in recovered:
        counts = ", ".join(f"{count} {name}" for name, count in source.rows.items() if count)
        write_line(f"Recovered from {source.file}: {counts or 'nothing that the bank does not have'}.")
    if not recovered:
        write_line("Nothing is damaged, and nothing was set aside.")
    return 0


def _text(value: Any) -> str:
    """Format a value for a person: roles with the same language model are grouped."""
    if isinstance(value, dict) and "with_vector" in value:
        return vector_summary(cast("dict[str, Any]", value))
    if isinstance(value, dict) and all(isinstance(count, int) for count in cast("dict[str, Any]", value).values()):
        counts = cast("dict[str, int]", value)
        return ", ".join(f"{name} ({count} lessons)" for name, count in counts.items()) or "none"
    if isinstance(value, dict):
        roles: dict[str, list[str]] = {}
        for role, llm in cast("dict[str, str]", value).items():
            roles.setdefault(llm, []).append(role)
        return "; ".join(llm if len(roles) == 1 else f"{', '.join(names)} {llm}" for llm, names in roles.items())
    if isinstance(value, list):
        return ", ".join(map(str, cast("list[object]", value))) or "none"
    return str(value)
