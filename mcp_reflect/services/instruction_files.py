"""The instruction files of a project, which hosts give to their models: `CLAUDE.md`, `AGENTS.md` and others.

A newcomer finds here where these files lie, which of them import each other, and which may be written.
"""

import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from mcp_reflect.errors import InputError
from mcp_reflect.services.context import Context
from mcp_reflect.services.lesson_blocks import START
from mcp_reflect.whole_files import open_regular, replace_whole

_PATH_BY_NAME: Final = {
    "CLAUDE.md": "CLAUDE.md",
    "AGENTS.md": "AGENTS.md",  # Codex, opencode, Copilot CLI, Cline, pi, Droid and others
    "GEMINI.md": "GEMINI.md",
    "QWEN.md": "QWEN.md",
    "copilot-instructions.md": ".github/copilot-instructions.md",
    ".clinerules": ".clinerules/mcp-reflect.md",
    ".cursor/rules": ".cursor/rules/mcp-reflect.mdc",
}
FILES: Final = tuple(_PATH_BY_NAME)
"""The names of files that hosts give to their models. Of a folder of rules one file is ours."""

_MAX_FILE_BYTES: Final = 2_000_000  # of a file that is read
_NEW_FILE_MODE: Final = 0o644  # a team's file, which everybody may read
_CODE_OR_COMMENT: Final = re.compile(
    r"^ {0,3}(```+|~~~+).*?(?:^ {0,3}\1|\Z)|<!--.*?(?:-->|\Z)", re.DOTALL | re.MULTILINE
)
_IMPORT: Final = re.compile(r"(?:^|(?<=\s))@([^\s`]{1,300})")
"""`@AGENTS.md`: another file that Claude Code reads in the place of these words."""


def root_of(context: Context) -> Path:
    """Return the folder of the project: the working tree of its repository, else the working folder."""
    working_folder = (context.settings.folder or Path.cwd()).resolve()
    for folder in (working_folder, *working_folder.parents):
        if (folder / ".git").exists():
            return folder
    return working_folder


def path_of(root: Path, name: str, subject: str | None = None) -> Path:
    """Return the path of a name in FILES; with a subject, that of the skill of Claude Code about it.

    ("CLAUDE.md") -> ROOT/CLAUDE.md; subject "Data base" -> ROOT/.claude/skills/data-base/SKILL.md
    """
    if subject:
        slug = re.sub(r"[^a-z0-9]+", "-", subject.lower()).strip("-") or "lessons"
        return root / ".claude" / "skills" / slug / "SKILL.md"
    if name == ".clinerules" and (root / name).is_file():  # it may be one file
        return root / name
    return root / _PATH_BY_NAME[name]


def files_there(root: Path) -> list[str]:
    """Return the names in FILES of the files that the project has, for lessons to be written once into what a host reads.

    A file that imports another one of them is left out, since the other's lessons are read with it. A file that several
    names lead to by links counts once.
    """
    name_by_file: dict[Path, str] = {}
    for name in FILES:
        path = path_of(root, name)
        if path.exists():
            name_by_file[path.resolve()] = name
    names: list[str] = []
    for file, name in name_by_file.items():
        other_files = name_by_file.keys() - {file}
        imports_another = not _imported_files(file).isdisjoint(other_files)
        if not imports_another:
            names.append(name)
    return names


def _imported_files(path: Path) -> set[Path]:
    """Return the files that an instruction file imports: `@AGENTS.md` in its text, as Claude Code reads it.

    An `@` name in a block of code or in a comment imports nothing. A file that cannot be read imports none.
    """
    with suppress(InputError, OSError):
        text = _CODE_OR_COMMENT.sub("", text_of(path))
        names = {match[1].rstrip(".,;:)") for match in _IMPORT.finditer(text)}
        return {(path.parent / Path(name).expanduser()).resolve() for name in names}
    return set()


def refuse_second_block(root: Path, path: Path) -> None:
    """Raise InputError if a file that `path` imports, or that imports `path`, has our block.

    A host would give the lessons to its model twice.
    """
    for name in FILES:
        other = path_of(root, name).resolve()
        if other == path or not other.is_file() or not START.search(text_of(other)):
            continue
        if other in _imported_files(path):
            fault = f"{path.name} imports {name}, which has the lessons already"
            raise InputError("file", fault, f"Promote into {name} alone.")
        if path in _imported_files(other):
            fault = f"{name} imports {path.name}, and has the lessons already"
            raise InputError(
                "file", fault, f"Take them out first: mcp-reflect promote {name} --undo"
            )


def writable_path(root: Path, path: Path) -> Path:
    """Return the file that `path` leads to, links followed; the file need not exist yet.

    InputError if it lies outside of the project, is no file, or cannot be written.
    """
    name = path.name
    target = Path(os.path.realpath(path))
    if not target.is_relative_to(root.resolve()):
        fault = f"{name} is, or is reached by, a link out of the project, to {target}"
        raise InputError("file", fault, "Put a file in its place, or promote into another one.")
    if target.exists() and not target.is_file():
        raise InputError("file", f"{name} is not a file", "Name another one.")
    existing_path = target  # the file, or else the nearest of its folders that exists
    while not existing_path.exists():
        existing_path = existing_path.parent
    # An administrator may write everything, so that a file which its owner may not write counts as read-only, too.
    owner_may_write = existing_path.stat().st_mode & stat.S_IWUSR
    if not owner_may_write or not os.access(existing_path, os.W_OK):
        fix = "Make it writable, or promote into another file."
        raise InputError("file", f"{existing_path} is read-only", fix)
    return target


def text_of(path: Path) -> str:
    """Return the text of a file, from which every byte of it can be written again; an empty text for no file.

    InputError for a file that is too long or not UTF-8, a pipe or a device.
    """
    if not path.exists():
        return ""
    try:
        with open_regular(path) as file:
            content = file.read(_MAX_FILE_BYTES + 1)
    except OSError as error:
        fault = f"{path.name} cannot be read: {error.strerror}"
        raise InputError("file", fault, "Put a file in its place.") from None
    if len(content) > _MAX_FILE_BYTES:
        fault = f"{path.name} has more than {_MAX_FILE_BYTES} bytes"
        raise InputError("file", fault, "Promote into another file.")
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in content:
        fix = "Save it as UTF-8, or promote into another file."
        raise InputError("file", f"{path} is not UTF-8 (it looks like UTF-16)", fix)
    return content.decode("utf-8", "surrogateescape")


def write_file(path: Path, text: str | None) -> None:
    """Replace a file as a whole; a reader sees the old text or the new one. None removes it."""
    if text is None:
        path.unlink(missing_ok=True)
        with suppress(OSError):
            path.parent.rmdir()  # the folder of a skill, if nothing else is in it
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = _NEW_FILE_MODE
    if path.exists():
        mode = path.stat().st_mode & 0o777
    replace_whole(str(path), text.encode("utf-8", "surrogateescape"), mode)
