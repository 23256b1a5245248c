"""The folder in which a session worked, as its host wrote it down: a record names it, or a file beside the session."""

import os
import re
from pathlib import Path, PureWindowsPath
from typing import Final
from urllib.parse import unquote

from mcp_reflect.sessions.records import Record, as_record, as_text, parsed
from mcp_reflect.sessions.session_lines import open_session
from mcp_reflect.whole_files import open_regular

HEAD: Final = 400_000  # the same of one JSON value
_CWD: Final = re.compile(rb'"cwd": ?("(?:[^"\\]|\\.){1,4000}")')
_MOST_ROOT: Final = 4_096  # bytes of the name of a folder
_DRIVE: Final = re.compile(r"([A-Za-z]):[\\/]")
_IN_WSL: Final = re.compile(r"\\\\wsl(?:\$|\.localhost)\\[^\\]+(?=\\)", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"(?:file|vscode-remote)://[^/]*(?=/)")


def folder_of_record(record: Record) -> str | None:
    """Return the folder that a record names as the session's; `cwd` among the arguments of a call is another one."""
    started = as_record(record.get("data"))  # of Copilot CLI
    records = (record, as_record(record.get("payload")), as_record(started.get("context")))
    for part in records:
        folder = as_text(part.get("cwd"))
        if folder:
            return absolute_folder(folder)
    return None


def folder_in(head: bytes) -> str | None:
    """Return the folder in which a session ran, as its host wrote it down near the beginning; None if it did not."""
    for line in head.split(b"\n"):
        if b'"cwd"' not in line:
            continue
        folder = folder_of_record(parsed(line))
        if folder:
            return folder
    # The beginning may be a part of one value, which cannot be parsed.
    match = _CWD.search(head)
    if match is None:
        return None
    record = as_record(parsed(b'{"cwd": ' + match[1] + b"}"))
    return absolute_folder(as_text(record.get("cwd")))


def absolute_folder(folder: str) -> str | None:
    """Return a folder as this machine names it: "/src" for "file:///src", "/mnt/c/src" for the same on drive C in WSL.

    None for a folder that is not absolute.
    """
    address = _ADDRESS.match(folder)
    if address is not None:
        folder = unquote(folder[address.end() :])
    if Path(folder).is_absolute():
        return folder
    if PureWindowsPath(folder).is_absolute():
        return local_path(folder)
    return None


def local_path(folder: str) -> str:
    r"""Return a folder of Windows as this machine names it, if it is there.

    In WSL drives are under /mnt, and Windows names the folders of WSL `\\wsl$\NAME\...`.
    """
    if os.name == "nt":
        return folder
    drive = _DRIVE.match(folder)
    inside_wsl = _IN_WSL.match(folder)
    if drive is not None:
        local = f"/mnt/{drive[1].lower()}/{folder[3:]}"
    elif inside_wsl is not None:
        local = folder[inside_wsl.end() :]
    else:
        return folder
    local = local.replace("\\", "/")
    if local and Path(local).is_dir():
        return local
    return folder


def gemini_folder(path: Path) -> str | None:
    """Return the folder of a session of Gemini CLI: as it wrote it down, else by its hash ("sha256:…"), else None."""
    base = next((parent.parent for parent in path.parents if parent.name == "chats"), path.parent)
    try:
        with open_regular(base / ".project_root") as file:
            return file.read(_MOST_ROOT).decode("utf-8").strip() or None
    except (OSError, UnicodeDecodeError):
        return f"sha256:{base.name}" if re.fullmatch(r"[0-9a-f]{64}", base.name) else None


def cline_folder(path: Path) -> str | None:
    """Return the folder of a session of Cline, which the file beside its messages names."""
    about = path.with_name(path.name.replace(".messages.json", ".json"))
    try:
        with open_session(about) as file:
            return folder_in(file.read(HEAD))
    except OSError:
        return None
