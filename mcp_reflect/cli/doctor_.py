"""`mcp-reflect doctor`."""

import platform
import sys
from typing import Any, cast

from mcp_reflect import __version__
from mcp_reflect.cli.running import parser, say, say_json, with_engine
from mcp_reflect.engine import Engine
from mcp_reflect.errors import BankError


def run(arguments: list[str]) -> int:
    """Say where everything is, and what does not work as it should. Returns 1 where the bank cannot be used."""
    given = parser("doctor", "Where everything is, and what does not work as it should.").parse_args(arguments)
    report = with_engine(examine)
    if given.json:
        say_json(report)
    else:
        for name, value in report.items():
            if name != "degraded":
                say(f"{name.replace('_', ' ')}: {_text(value)}")
        for line in report["degraded"] or ["all as it should be"]:
            say(f"- {line}")
    return 0 if report["bank_works"] else 1


async def examine(engine: Engine) -> dict[str, Any]:
    """What doctor tells: paths, schema, mode, and `degraded`, a sentence for each thing that is not as it should be."""
    degraded = [*engine.settings.misspelt(), *engine.thinking.problems()]
    report: dict[str, Any] = {
        "version": __version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "bank": str(engine.bank.path),
        "scope": str(engine.scopes.own),
        "other_projects": list(engine.scopes.others),
        "bank_works": True,
        "language_models": engine.thinking.bound(),
        "prompt_overrides": engine.thinking.overridden(),
    }
    try:
        opened = await engine.bank.opened()
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
    if opened.read_only:
        degraded.append(f"The bank can only be read: {opened.read_only}. Lessons are recalled, none are stored.")
    if opened.journal_mode != "wal":
        degraded.append(
            f"The file system cannot share memory, so the journal is '{opened.journal_mode}': readers wait for writers."
        )
    if engine.bank.path.stat().st_mode & 0o077 and sys.platform != "win32":
        degraded.append(f"Others may read the bank. Run: chmod 600 {engine.bank.path}")
    if not engine.scopes.own.project:
        degraded.append("This directory is nobody's project, so lessons are global. Set MCP_REFLECT_PROJECT to a name.")
    return {**report, "degraded": degraded}


def _text(value: Any) -> str:
    """A value for a person: roles with the same language model stand together."""
    if isinstance(value, dict):
        roles: dict[str, list[str]] = {}
        for role, llm in cast("dict[str, str]", value).items():
            roles.setdefault(llm, []).append(role)
        return "; ".join(f"{llm}" if len(roles) == 1 else f"{', '.join(names)} {llm}" for llm, names in roles.items())
    if isinstance(value, list):
        return ", ".join(map(str, cast("list[object]", value))) or "none"
    return str(value)
