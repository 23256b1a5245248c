"""The state of the hosts of this machine: which have our server and hooks, and which have switched their hooks off.

It is read from their files. That a host runs now matters too, for it may overwrite what an installation wrote.
"""

import os
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, cast

from mcp_reflect.children import output_of
from mcp_reflect.cli.host_documents import Language, Table, parse
from mcp_reflect.cli.host_hooks import HookSettings, is_our_hook, is_our_script
from mcp_reflect.cli.host_table import HOOK_SETTINGS, HOSTS, ROWS
from mcp_reflect.cli.hosts import SERVER_NAME, HostConfig, person_file
from mcp_reflect.errors import InputError

_MOST_BYTES: Final = 10_000_000  # of a file of settings that is read
_INTERPRETERS: Final = ("node", "bun", "deno")  # of the hosts that are scripts


def hooks_switched_off(host: str) -> list[str]:
    """Return a sentence for each of a host's files that keeps our hooks from running."""
    off = ROWS[host].off
    if off is None:
        return []
    sentences: list[str] = []
    for name in off.files:
        path = _path_of(name)
        settings = _values(path)
        for switch in off.switches:
            if _entry(settings, switch.keys) is switch.off:
                setting = f"{'.'.join(switch.keys)} = {str(switch.off).lower()}"
                sentences.append(f"Hooks are switched off in {path} ({setting}), so none will run.")
    if off.instead:
        sentences += _hooks_instead(host, _path_of(off.instead))
    return sentences


def _hooks_instead(host: str, path: Path) -> list[str]:
    """Return a sentence where a file has hooks for our events, which the host reads in the place of ours."""
    values = _values(path)
    events = [name for name in HOOK_SETTINGS[host].events if values.get(name)]
    if not events:
        return []
    replaced = f"{HOSTS[host].title} reads the hooks of {', '.join(events)} in {path}"
    return [f"{replaced} instead of ours: write ours there too (--print)."]


def _path_of(name: str) -> Path:
    """Return a host's file by its name: `./` is the project, everything else the person's home directory."""
    if name.startswith("./"):
        return Path.cwd() / name.removeprefix("./")
    return person_file(name)


def hosts_with_our_hooks() -> Iterator[str]:
    """Yield the hosts for which `install --hooks` has written hooks, for the person or in this project."""
    for host, settings in HOOK_SETTINGS.items():
        here = Path.cwd() / (settings.project_file or settings.file)
        if _has_our_hooks(settings, person_file(settings.file)) or _has_our_hooks(settings, here):
            yield host


def _has_our_hooks(settings: HookSettings, path: Path) -> bool:
    """Return whether a file has a hook of ours, or is our script."""
    if settings.script is not None:
        return is_our_script(_text(path))
    hooks: Any = _values(path).get("hooks")
    if not isinstance(hooks, dict):
        return False
    for entries in cast("dict[str, Any]", hooks).values():
        if isinstance(entries, list) and any(map(is_our_hook, cast("list[Any]", entries))):
            return True
    return False


def is_registered(host: str, *, here: bool = False) -> bool:
    """Return whether a host's file has our server: the person's, or that of this project."""
    config = HOSTS[host]
    if not here:
        return _has_our_entry(config, config.file())
    return config.project is not None and _has_our_entry(config, Path.cwd() / config.project)


def _has_our_entry(config: HostConfig, path: Path) -> bool:
    """Return whether a file has the entry of our server."""
    return isinstance(_entry(_values(path), (config.block, SERVER_NAME)), MutableMapping)


def registrations() -> list[str]:
    """Return a sentence for each host in which the server is registered: "Codex (for you; hooks run)"."""
    hosts_with_hooks = set(hosts_with_our_hooks())
    sentences: list[str] = []
    for host, config in HOSTS.items():
        ways: list[str] = []
        if is_registered(host):
            ways.append("for you")
        if is_registered(host, here=True):
            ways.append("in this project")
        if ways:
            hooks = _hooks_text(host, hosts_with_hooks)
            sentences.append(f"{config.title} ({', '.join(ways)}; {hooks})")
    return sentences


def _hooks_text(host: str, hosts_with_hooks: set[str]) -> str:
    """Return whether our hooks run in a host, as `doctor` says it; `hosts_with_hooks` have them in their files."""
    if host not in HOOK_SETTINGS:
        return "it has no hooks"
    if host not in hosts_with_hooks:
        return f"without hooks: mcp-reflect install {host} --hooks"
    if hooks_switched_off(host):
        return "hooks are switched off"
    return "hooks run"


def running(host: str) -> str | None:
    """Return a sentence if a host seems to run now, None if not.

    It may overwrite what was just changed in its file with what it read at its start.
    """
    pattern = ROWS[host].processes
    if pattern is None or not any(pattern.fullmatch(name) for name in _program_names()):
        return None
    return f"{HOSTS[host].title} runs now: restart it. If it wrote its file over this one meanwhile, run this command again."


def _entry(settings: dict[str, Any], names: tuple[str, ...]) -> Any:
    """Return the value under a path of names, `settings["a"]["b"]` for ("a", "b"); None where there is none."""
    value: Any = settings
    for name in names:
        if not isinstance(value, MutableMapping):
            return None
        value = cast("Table", value).get(name)
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
    """Return the names of the programs that run: of an interpreter also the script that it was given.

    `node /usr/bin/gemini` has node and gemini, since some hosts are scripts. On Windows nothing is known.
    """
    if sys.platform == "win32":
        return set()
    names: set[str] = set()
    for words in _command_lines():
        program = Path(words[0]).name
        names.add(program)
        if program.startswith(_INTERPRETERS) and len(words) > 1:
            names.add(Path(words[1]).name)
    return names


def _command_lines() -> Iterator[list[str]]:
    """Yield the words of each program that runs, without this one: by /proc where there is one, else by `ps`."""
    if not Path("/proc/self/cmdline").exists():
        listing = output_of("ps", "-A", "-o", "args=") or ""
        yield from (line.split() for line in listing.splitlines() if line.strip())
        return
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and folder.name != str(os.getpid()):
            with suppress(OSError):  # it may have ended meanwhile
                command_line = (folder / "cmdline").read_bytes().decode("utf-8", "replace")
                yield command_line.split("\0")
