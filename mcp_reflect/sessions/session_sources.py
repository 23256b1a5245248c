"""The sessions that hosts leave on this machine.

Each host writes them into a folder of its own. Here they are found, before any is read; a session that goes on from another
one begins with a copy of its records, which is found as well.
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from errno import EIO
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from mcp_reflect.sessions.hosts import form_of
from mcp_reflect.sessions.records import Record, as_record, as_text, parsed
from mcp_reflect.sessions.session_database import DATABASE, sessions_in
from mcp_reflect.sessions.session_folders import (
    HEAD,
    absolute_folder,
    cline_folder,
    folder_in,
    folder_of_record,
    gemini_folder,
)
from mcp_reflect.sessions.session_lines import COMPRESSED, MOST_LINE, is_value, open_session
from mcp_reflect.text.signature import digest

_ENDINGS: Final = (".jsonl", ".json", f".jsonl{COMPRESSED}")
_MOST_LOOKED_AT: Final = 40_000_000  # bytes of a file in which its folder is looked for


@dataclass(frozen=True, slots=True)
class HostFolder:
    """The folder of a host, in which its sessions lie.

    | field         | what it has                                                                                   |
    |---------------|-----------------------------------------------------------------------------------------------|
    | `variable`    | the environment variable that moves the folder                                                |
    | `name`        | its name in the person's home                                                                 |
    | `parts`       | the folders in it that have sessions                                                          |
    | `is_home`     | whether the variable names the home in which the host's folder lies, and not that folder      |
    | `within`      | the folder that has sessions alone, where others beside it have other files                   |
    | `file`        | the end of the names of sessions, where other files lie beside them                           |
    | `is_database` | whether the sessions lie in a database in each part                                           |
    """

    variable: str
    name: str
    parts: tuple[str, ...]
    is_home: bool = False
    within: str = ""
    file: str = ""
    is_database: bool = False

    def may_be_session(self, path: Path) -> bool:
        """Return whether a file may be a session, by its name and the folders above it."""
        is_inside = not self.within or self.within in path.parts
        return is_inside and path.name.endswith(self.file)

    def path(self) -> Path:
        """Return the folder: where the variable says, else in the home."""
        named = os.environ.get(self.variable, "").strip()
        if not named:
            return Path.home() / self.name
        moved = Path(named).expanduser()
        if self.is_home:
            return moved / self.name
        return moved


HOSTS: Final[Mapping[str, HostFolder]] = {
    "claude-code": HostFolder("CLAUDE_CONFIG_DIR", ".claude", ("projects",)),
    "codex": HostFolder("CODEX_HOME", ".codex", ("sessions", "archived_sessions")),
    "gemini": HostFolder("GEMINI_CLI_HOME", ".gemini", ("tmp",), is_home=True, within="chats"),
    "copilot": HostFolder("COPILOT_HOME", ".copilot", ("session-state",), file="events.jsonl"),
    "cline": HostFolder("CLINE_DATA_DIR", ".cline/data", ("sessions",), file=".messages.json"),
    "qwen": HostFolder("QWEN_HOME", ".qwen", ("projects",), within="chats"),
    "opencode": HostFolder("XDG_DATA_HOME", ".local/share", ("opencode",), is_database=True),
    "pi": HostFolder("PI_CODING_AGENT_DIR", ".pi/agent", ("sessions",)),
}
"""The folder of each host whose sessions are read."""


class _Beginning(NamedTuple):
    """What the first records of a session tell: the folder in which the agent worked, and how the session began."""

    folder: str | None
    origin: "Origin"


@dataclass(frozen=True, slots=True)
class Origin:
    """How a session began: by itself, or as a copy of another one that it goes on from.

    `own` is its own name, `first` that of the session or record with which it began: sessions that began as copies of one
    another have the same. Both are empty where the file does not tell them. `is_copy`: it says itself to be a copy.
    """

    own: str = ""
    first: str = ""
    is_copy: bool = False


@dataclass(frozen=True, slots=True)
class SessionSource:
    """Where a session lies, and what is known of it before it is read.

    `path` is that of its file, `size` is in bytes, and `changed` in seconds since 1970. `folder` is the one in which the
    agent worked, None where no record names it. `origin` tells of which session it may be a copy.
    """

    path: Path
    host: str
    size: int
    changed: float
    folder: str | None
    origin: Origin = Origin()

    @property
    def order(self) -> tuple[bool, str]:
        """The key by which sessions with the same records are sorted: an original comes before its copies."""
        return self.origin.is_copy, str(self.path)

    @property
    def key(self) -> str:
        """The 32 hex digits by which the bank knows the file."""
        return digest(str(self.path), 32)


def sessions_of(host: str, faults: list[tuple[str, str]]) -> Iterator[SessionSource]:
    """Yield a host's sessions, the latest first.

    A file that cannot be read, or a link out of the host's folder, is added to `faults` as (path, reason).
    """
    host_folder = HOSTS[host]
    # XDG_DATA_HOME, by which a database is found, is for all programs: that it is set tells nothing of the host.
    is_moved = bool(os.environ.get(host_folder.variable)) and not host_folder.is_database
    if is_moved and not host_folder.path().is_dir():
        faults.append(
            (
                str(host_folder.path()),
                f"there is no such folder, which {host_folder.variable} names",
            )
        )
    sources = _session_files(host, host_folder, faults)
    if host_folder.is_database:
        sources = _stored_sessions(host, host_folder, faults)
    yield from sorted(sources, key=lambda source: -source.changed)


def _session_files(
    host: str, host_folder: HostFolder, faults: list[tuple[str, str]]
) -> Iterator[SessionSource]:
    """Yield the sessions that lie in files of their own; one that cannot be read is added to `faults`."""
    for part in host_folder.parts:
        for path in _files(host_folder.path() / part, faults):
            if not host_folder.may_be_session(path):
                continue
            try:
                yield _source_of(path, host)
            except OSError as error:
                faults.append((str(path), error.strerror or "it cannot be read"))
            except ModuleNotFoundError:
                faults.append(
                    (str(path), "it is compressed, and the library backports.zstd is not here")
                )


def _stored_sessions(
    host: str, host_folder: HostFolder, faults: list[tuple[str, str]]
) -> Iterator[SessionSource]:
    """Yield the sessions that lie in the host's database; one that cannot be read is added to `faults`."""
    for part in host_folder.parts:
        database = host_folder.path() / part / DATABASE
        if not database.exists():
            continue
        try:
            for stored in sessions_in(database):
                folder = absolute_folder(stored.folder)
                yield SessionSource(stored.path, host, stored.size, stored.changed, folder)
        except OSError as error:
            faults.append((str(database), error.strerror or "it cannot be read"))


def _files(root: Path, faults: list[tuple[str, str]]) -> Iterator[Path]:
    """Yield the files that may be sessions; no link is followed out of the folder."""
    inside = os.path.realpath(root)

    def refused(error: OSError) -> None:
        """Note a folder that cannot be read; one that is not there has no sessions."""
        if not isinstance(error, FileNotFoundError):
            faults.append((str(error.filename), error.strerror or "it cannot be read"))

    for folder, folders, files in os.walk(root, onerror=refused):
        for name in folders:
            path = Path(folder, name)
            if path.is_symlink():
                faults.append((str(path), "a link, which is not followed"))
        for file in files:
            path = Path(folder, file)
            if not file.endswith(_ENDINGS) or file.endswith(".meta.json"):
                continue
            if os.path.realpath(path).startswith(inside + os.sep):
                yield path
            else:
                faults.append((str(path), "a link out of the folder, which is not followed"))


def _source_of(path: Path, host: str) -> SessionSource:
    """Return a session's file with its folder of work and how it began."""
    facts = path.stat()
    with open_session(path) as file:
        folder, origin = _beginning_of(file, one_value=is_value(path))
    if host == "gemini":
        folder = folder or gemini_folder(path)
    if host == "cline":
        folder = cline_folder(path)
    return SessionSource(path, host, facts.st_size, facts.st_mtime, folder, origin)


def _beginning_of(file: BinaryIO, *, one_value: bool) -> _Beginning:
    """Return the folder of a session and how it began, from the first records that tell either.

    Only lines that may tell it are parsed, since some lines are very long.
    """
    if one_value:
        return _Beginning(folder_in(file.read(HEAD)), Origin())
    folder: str | None = None
    origin = Origin()
    looked_at = 0
    while looked_at < _MOST_LOOKED_AT and folder is None:
        try:
            line = file.readline(MOST_LINE)
        except OSError:
            raise
        except Exception as error:  # noqa: BLE001 - a library has errors of its own for what is damaged
            raise OSError(EIO, f"it cannot be unpacked: {type(error).__name__}") from None
        if not line:
            break
        looked_at += len(line)
        may_tell_folder = b'"cwd"' in line
        may_tell_origin = not origin.first and b'"uuid"' in line
        if not (may_tell_folder or may_tell_origin):
            continue
        record = parsed(line)
        folder = folder_of_record(record)
        if not origin.first:
            origin = _origin_of(record)
    return _Beginning(folder, origin)


def _origin_of(record: Record) -> Origin:
    """Return how a session began, as far as one of its first records tells.

    Codex names the session that it copied (`forked_from_id`). Other hosts copy the records with their keys, so that the
    key of the first one tells.
    """
    if record.get("type") == "session_meta":
        facts = as_record(record.get("payload"))
        own_id, forked_id = as_text(facts.get("id")), as_text(facts.get("forked_from_id"))
        return Origin(own=own_id, first=forked_id or own_id, is_copy=bool(forked_id))
    form = form_of(record)
    first_key = "" if form is None else form.key(record)
    return Origin(own="", first=first_key, is_copy="forkedFrom" in record)


def copies_in(sources: Iterable[SessionSource]) -> dict[Path, tuple[Path, ...]]:
    """Return the files whose records a session may have copied, by the session's own file; most sessions have none.

    `{copy.jsonl: (original.jsonl,)}`: a record that is in both is read in the original alone. Which of two files counts as
    the original is the same at every reading, so that no record is read twice.
    """
    by_origin: dict[tuple[str, str], list[SessionSource]] = defaultdict(list)
    for source in sources:
        for name in {source.origin.own, source.origin.first} - {""}:
            by_origin[source.host, name].append(source)
    earlier_of: dict[Path, tuple[Path, ...]] = {}
    for (_, name), of_one_origin in by_origin.items():
        # The session of that name comes first, then originals before copies.
        ordered = sorted(
            of_one_origin, key=lambda source: (source.origin.own != name, source.order)
        )
        for number, source in enumerate(ordered):
            earlier = [other.path for other in ordered[:number]]
            earlier_of[source.path] = (*earlier_of.get(source.path, ()), *earlier)
    return {path: tuple(dict.fromkeys(earlier)) for path, earlier in earlier_of.items() if earlier}
