"""`mcp-reflect doctor`."""

import platform
import sys
from pathlib import Path
from typing import Any, cast

from mcp_reflect import __version__
from mcp_reflect.cli.common import parser, say, say_json, vectors_said, with_engine
from mcp_reflect.errors import BankError
from mcp_reflect.security.redact import clean
from mcp_reflect.services.engine import Engine


def run(arguments: list[str]) -> int:
    """Say where everything is, and what does not work as it should. Returns 1 where the bank cannot be used."""
    words = parser("doctor", "Where everything is, and what does not work as it should.")
    words.add_argument(
        "--rescue",
        nargs="?",
        const="",
        metavar="FILE",
        help="bring over what can be read of a damaged bank: of FILE, or of those that were set aside",
    )
    given = words.parse_args(arguments)
    if given.rescue is not None:
        return _rescue(given.rescue, as_json=given.json)
    report: dict[str, Any] = clean(with_engine(examine))  # a setting may hold a key where none belongs
    if given.json:
        say_json(report)
    else:
        for name, value in report.items():
            if name not in ("notes", "degraded"):
                say(f"{name.replace('_', ' ')}: {_text(value)}")
        for line in (*report["notes"], *(report["degraded"] or ["all as it should be"])):
            say(f"- {line}")
    return 0 if report["bank_works"] else 1


async def examine(engine: Engine) -> dict[str, Any]:
    """What doctor tells: paths, schema, mode and more.

    `degraded` has a sentence for each thing that is not as it should be, `notes` one for each that could be better
    and harms nobody.
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
    except BankError as error:
        return {**report, "bank_works": False, "degraded": [*degraded, str(error)]}
    report |= {
        "schema": opened.schema,
        "journal_mode": opened.journal_mode,
        "read_only": bool(opened.read_only),
        "mode": oct(engine.bank.path.stat().st_mode & 0o777),
        "bytes": engine.bank.path.stat().st_size,
    }
    health = await engine.bank.maintenance.health()
    report |= {"sound": health.sound, "set_aside": [str(file) for file in health.aside], "sqlite": health.sqlite}
    if health.mended_in and opened.journal_mode == "wal":
        report["notes"].append(
            f"SQLite {health.sqlite} can, very rarely, lose pages where one connection moves the log into the file "
            "while another begins it anew. mcp-reflect holds the write lock for that, so it cannot happen here; "
            f"an SQLite from {health.mended_in} on does not have the fault."
        )
    if not health.sound:
        degraded.append("The bank is damaged. Run: mcp-reflect doctor --rescue")
    if health.aside:
        degraded.append(
            f"{health.aside[-1]} was set aside, for it is damaged. What can be read of it comes back with: "
            "mcp-reflect doctor --rescue"
        )
    meaning = engine.bank.vectors
    if meaning is not None and (problem := await meaning.probed()) is not None:
        degraded.append(f"Recall goes by words alone. {problem}")
    report["embeddings"] = await meaning.state(engine.scopes.own) if meaning else "off"
    if opened.read_only:
        degraded.append(f"The bank can only be read: {opened.read_only}. Lessons are recalled, none are stored.")
    if opened.journal_mode != "wal" and not opened.frozen:
        degraded.append(
            f"The file system cannot share memory, so the journal is '{opened.journal_mode}': readers wait for writers."
        )
    if engine.bank.path.stat().st_mode & 0o077 and sys.platform != "win32":
        degraded.append(f"Others may read the bank. Run: chmod 600 {engine.bank.path}")
    if not engine.scopes.own.project:
        degraded.append("This directory is nobody's project, so lessons are global. Set MCP_REFLECT_PROJECT to a name.")
    return {**report, "degraded": degraded}


def _rescue(file: str, *, as_json: bool) -> int:
    """Bring over what can be read, and print how many rows came of each file, by table."""

    async def work(engine: Engine) -> list[dict[str, Any]]:
        done = await engine.bank.maintenance.rescue(Path(file).absolute() if file else None)
        return [{"file": str(one.file), "rows": one.rows} for one in done]

    done = with_engine(work)
    if as_json:
        say_json(done)
        return 0
    for one in done:
        counts = ", ".join(f"{count} {table}" for table, count in one["rows"].items() if count)
        say(f"Rescued of {one['file']}: {counts or 'nothing that was not there'}.")
    if not done:
        say("Nothing is damaged, and nothing was set aside.")
    return 0


def _text(value: Any) -> str:
    """A value for a person: roles with the same language model stand together."""
    if isinstance(value, dict) and "with_vector" in value:
        return vectors_said(cast("dict[str, Any]", value))
    if isinstance(value, dict):
        roles: dict[str, list[str]] = {}
        for role, llm in cast("dict[str, str]", value).items():
            roles.setdefault(llm, []).append(role)
        return "; ".join(f"{llm}" if len(roles) == 1 else f"{', '.join(names)} {llm}" for llm, names in roles.items())
    if isinstance(value, list):
        return ", ".join(map(str, cast("list[object]", value))) or "none"
    return str(value)
