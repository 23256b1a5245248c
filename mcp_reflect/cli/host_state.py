"""What stands in the way of an installation: hooks that a host has switched off, and a host that runs meanwhile."""

import os
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, cast

from mcp_reflect.children import output_of
from mcp_reflect.cli.files import Language, Table, parse
from mcp_reflect.cli.host_hooks import HookSettings, is_our_hook, is_our_script
from mcp_reflect.cli.host_table import HOOK_SETTINGS, HOSTS, ROWS
from mcp_reflect.cli.hosts import SERVER_NAME, person_file
from mcp_reflect.errors import InputError

_MOST_BYTES: Final = 10_000_000


def hooks_switched_off(host: str) -> list[str]:
    """Return a sentence for each of a host's files that switches all hooks off: then none of ours runs."""
    off = ROWS[host].off
    told: list[str] = []
    for name in off.files if off else ():
        path = Path.cwd() / name[2:] if name.startswith("./") else person_file(name)
        values = _values(path)
        for entry, value in off.entries if off else ():
            if _entry(values, entry) is value:
                said = f"{'.'.join(entry)} = {str(value).lower()}"
                told.append(f"Hooks are switched off in {path} ({said}), so none will run.")
    return told


def hosts_with_our_hooks() -> Iterator[str]:
    """Yield the hosts for which `install --hooks` has written hooks, for the person or in this project."""
    for host, settings in HOOK_SETTINGS.items():
        here = Path.cwd() / (settings.project_file or settings.file)
        if _has_our_hooks(settings, person_file(settings.file)) or _has_our_hooks(settings, here):
            yield host


def _has_our_hooks(settings: HookSettings, path: Path) -> bool:
    if settings.script is not None:
        return is_our_script(_text(path))
    hooks: Any = _values(path).get("hooks")
    lists = cast("dict[str, Any]", hooks).values() if isinstance(hooks, dict) else ()
    return any(
        is_our_hook(entry)
        for one in lists
        if isinstance(one, list)
        for entry in cast("list[Any]", one)
    )


def is_registered(host: str, *, here: bool = False) -> bool:
    """Return whether a host's file has our server: the person's, or that of this project."""
    config = HOSTS[host]
    if here and config.project is None:
        return False
    path = Path.cwd() / config.project if here and config.project else config.file()
    return isinstance(_entry(_values(path), (config.block, SERVER_NAME)), MutableMapping)


def registrations() -> list[str]:
    """Return a sentence for each host in which the server is registered: by which way, and whether its hooks run."""
    hooked = set(hosts_with_our_hooks())
    told: list[str] = []
    for host, config in HOSTS.items():
        ways = ["for you"] if is_registered(host) else []
        ways += ["in this project"] if is_registered(host, here=True) else []
        if ways:
            told.append(f"{config.title} ({', '.join(ways)}; {_hooks_text(host, hooked)})")
    return told


def _hooks_text(host: str, hooked: set[str]) -> str:
    if host not in HOOK_SETTINGS:
        return "it has no hooks"
    if host not in hooked:
        return f"without hooks: mcp-reflect install {host} --hooks"
    return "hooks are switched off" if hooks_switched_off(host) else "hooks run"


def running(host: str) -> str | None:
    """Return a sentence if a host seems to run now: it may write its file as it knows it over ours."""
    pattern = ROWS[host].processes
    if pattern is None or not any(pattern.fullmatch(name) for name in _program_names()):
        return None
    return f"{HOSTS[host].title} runs now: restart it. If it wrote its file over this one meanwhile, run this command again."


def _entry(values: dict[str, Any], names: tuple[str, ...]) -> Any:
    value: Any = values
    for name in names:
        value = cast("Table", value).get(name) if isinstance(value, MutableMapping) else None
    return value


def _values(path: Path) -> dict[str, Any]:
    """Return what a file of settings says; nothing if it is not there or cannot be read."""
    languages: dict[str, Language] = {".toml": "toml", ".yaml": "yaml"}
    with suppress(InputError):
        return dict(parse(languages.get(path.suffix, "json"), _text(path)))
    return {}


def _text(path: Path) -> str:
    """Return the text of a file of settings; an empty one where there is none, or none that is read."""
    with suppress(OSError, ValueError):
        if path.is_file() and path.stat().st_size <= _MOST_BYTES:
            return path.read_text("utf-8")
    return ""


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
