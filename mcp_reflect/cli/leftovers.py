"""What is left of ours on a machine after a removal: folders of the plugin, and copies of hosts' files."""

import os
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mcp_reflect.cli.file_changes import backup_of
from mcp_reflect.cli.host_state import is_registered
from mcp_reflect.cli.host_table import HOSTS
from mcp_reflect.cli.hosts import person_file
from mcp_reflect.cli.output import size_text
from mcp_reflect.whole_files import open_regular

_MOST_FILES: Final = 50_000  # whose sizes are added
_MOST_BYTES: Final = 10_000_000  # of a file that says which plugins there are
_CACHE: Final = "mcp-reflect/plugin"
"""The folder of the plugin's environment below the person's caches, where a host has none for a plugin's data."""


@dataclass(frozen=True, slots=True)
class PluginTraces:
    """Where a host keeps our plugin: the folders that it leaves, and the files by which it is installed.

    Both are patterns of names below the home directory. The plugin is installed while one of the files contains
    `needle`; where `needle` is empty, while one of them is there. With `in_caches` it also leaves its folder in the
    person's caches.
    """

    folders: tuple[str, ...]
    installed: tuple[str, ...]
    needle: str = ""
    in_caches: bool = False

    def is_installed(self) -> bool:
        """True while the host has the plugin."""
        for name in self.installed:
            for path in _matches(name):
                if not self.needle or self.needle in _text(path):
                    return True
        return False

    def remaining_folders(self) -> Iterator[Path]:
        """Yield the plugin's folders that are there."""
        for name in self.folders:
            yield from _matches(name)
        if self.in_caches and (caches() / _CACHE).is_dir():
            yield caches() / _CACHE


_EXTENSIONS: Final = (
    ".gemini/extensions/mcp-reflect",
    ".qwen/extensions/mcp-reflect",
    ".copilot/installed-plugins/*/mcp-reflect",
)
PLUGINS: Final = {
    "claude-code": PluginTraces(
        (".claude/plugins/cache/*/mcp-reflect", ".claude/plugins/data/mcp-reflect-*"),
        (".claude/plugins/installed_plugins.json",),
        "mcp-reflect@",
    ),
    "codex": PluginTraces(
        (".codex/plugins/cache/*/mcp-reflect", ".codex/plugins/data/mcp-reflect-*"),
        (".codex/config.toml",),
        "mcp-reflect@",
    ),
    "gemini": PluginTraces((), _EXTENSIONS, in_caches=True),
}
"""The hosts in which a removed plugin leaves folders."""


def leftovers(host: str) -> list[str]:
    """Return a sentence for each thing of ours that a host does not use any more, with the way to remove it."""
    title = HOSTS[host].title
    traces = PLUGINS.get(host)
    paths: list[Path] = []
    if traces is not None and not traces.is_installed():
        paths += traces.remaining_folders()
    sentences = [
        f"{title} has kept {path} ({size_text(_size(path))}) of the plugin, which is not installed. "
        f"{_removal(path, of_folder=True)}"
        for path in paths
    ]
    copy = backup_of(HOSTS[host].file())
    if copy.is_file() and not is_registered(host):
        sentences.append(
            f"{copy} is {title}'s file as it was before the first installation. "
            f"{_removal(copy, of_folder=False)}"
        )
    return sentences


def caches() -> Path:
    """Return the folder of a person's caches, as the plugin's launcher finds it."""
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    if sys.platform == "darwin":
        return home / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")


def _matches(pattern: str) -> list[Path]:
    """Return what matches a pattern below the home directory; its first folder (`.codex`) may be moved by a variable."""
    host_folder, _, pattern_in_it = pattern.partition("/")
    folder = person_file(f"{host_folder}/-").parent
    if not folder.is_dir():
        return []
    return sorted(folder.glob(pattern_in_it))


def _text(path: Path) -> str:
    """Return the text of a file, empty where it cannot be read."""
    try:
        with open_regular(path) as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _size(folder: Path) -> int:
    """Return the bytes of the files in a folder, no link followed; of a very large one, of the first files."""
    total, count = 0, 0
    for parent, _, names in os.walk(folder):
        for name in names:
            count += 1
            if count > _MOST_FILES:
                return total
            path = Path(parent, name)
            if not path.is_symlink() and path.exists():
                total += path.stat().st_size
    return total


def _removal(path: Path, *, of_folder: bool) -> str:
    """Return how to remove a file or a folder: "To remove it: rm -r ~/.codex/…", on Windows "Delete it."."""
    if os.name == "nt":
        return "Delete it."
    command = "rm -r" if of_folder else "rm"
    return f"To remove it: {command} {shlex.quote(str(path))}"
