"""What stands in the way of an installation: hooks that a host has switched off, and a host that runs meanwhile."""

import json
import os
import re
import sys
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, cast

from mcp_reflect.children import output_of
from mcp_reflect.cli.hosts import HOOK_SETTINGS, HOSTS, is_our_hook, person_file

_MOST_BYTES: Final = 10_000_000

# Of each host: its files (`./` is the project's), and the entry that, with this value, switches all hooks off.
_SWITCHES: Final[dict[str, tuple[tuple[str, ...], tuple[tuple[tuple[str, ...], bool], ...]]]] = {
    "claude-code": (
        (".claude/settings.json", "./.claude/settings.json", "./.claude/settings.local.json"),
        ((("disableAllHooks",), True),),
    ),
    "codex": (
        (".codex/config.toml", "./.codex/config.toml"),
        ((("features", "hooks"), False), (("features", "codex_hooks"), False)),
    ),
    "gemini": (
        (".gemini/settings.json", "./.gemini/settings.json"),
        ((("hooksConfig", "enabled"), False), (("tools", "enableHooks"), False)),
    ),
}

_PROGRAMS: Final[dict[str, re.Pattern[str]]] = {
    "claude-code": re.compile(r"claude|claude\.exe"),
    "claude-desktop": re.compile(r"Claude|claude-desktop|Claude\.exe"),
    "codex": re.compile(r"codex|codex\.exe"),
    "gemini": re.compile(r"gemini"),
    "vscode": re.compile(r"code|Code|Code\.exe|Electron"),
    "cursor": re.compile(r"cursor|Cursor|Cursor\.exe"),
    "goose": re.compile(r"goose|goosed"),
    "windsurf": re.compile(r"windsurf|Windsurf"),
}


def hooks_switched_off(host: str) -> list[str]:
    """Return a sentence for each of a host's files that switches all hooks off: then none of ours runs."""
    files, switches = _SWITCHES.get(host, ((), ()))
    told: list[str] = []
    for name in files:
        path = Path.cwd() / name[2:] if name.startswith("./") else person_file(name)
        values = _values(path)
        for entry, off in switches:
            if _entry(values, entry) is off:
                said = f"{'.'.join(entry)} = {str(off).lower()}"
                told.append(f"Hooks are switched off in {path} ({said}), so none will run.")
    return told


def hosts_with_our_hooks() -> Iterator[str]:
    """Yield the hosts for which `install --hooks` has written hooks, for the person or in this project."""
    for host, settings in HOOK_SETTINGS.items():
        for path in (
            person_file(settings.file),
            Path.cwd() / (settings.project_file or settings.file),
        ):
            hooks: Any = _values(path).get("hooks")
            entries = cast("dict[str, Any]", hooks).values() if isinstance(hooks, dict) else ()
            listed = [
                entry
                for one in entries
                if isinstance(one, list)
                for entry in cast("list[Any]", one)
            ]
            if any(map(is_our_hook, listed)):
                yield host
                break


def running(host: str) -> str | None:
    """Return a sentence if a host seems to run now: it may write its file as it knows it over ours."""
    pattern = _PROGRAMS.get(host)
    if pattern is None or not any(pattern.fullmatch(name) for name in _program_names()):
        return None
    return f"{HOSTS[host].title} runs now: restart it. If it wrote its file over this one meanwhile, run this command again."


def _entry(values: dict[str, Any], names: tuple[str, ...]) -> Any:
    value: Any = values
    for name in names:
        value = cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None
    return value


def _values(path: Path) -> dict[str, Any]:
    """Return what a file of settings says; nothing if it is not there or cannot be read."""
    with suppress(OSError, ValueError, RecursionError):
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return {}
        text = path.read_text("utf-8-sig")
        read: Any = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
        return cast("dict[str, Any]", read) if isinstance(read, dict) else {}
    return {}


def _program_names() -> set[str]:
    """Return the names of the programs that run: of an interpreter also the script that it was given."""
    if sys.platform == "win32":
        return set()
    names: set[str] = set()
    if Path("/proc/self/cmdline").exists():
        lines: list[list[str]] = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit() and folder.name != str(os.getpid()):
                with suppress(OSError):
                    words = (folder / "cmdline").read_bytes().decode("utf-8", "replace")
                    lines.append(words.split("\0"))
    else:
        lines = [line.split() for line in (output_of("ps", "-A", "-o", "args=") or "").splitlines()]
    for words in lines:
        program = Path(words[0]).name if words else ""
        names.add(program)
        if program.startswith(("node", "bun", "deno")) and len(words) > 1:
            names.add(Path(words[1]).name)
    return names
