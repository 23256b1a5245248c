"""The instruction files of a project, which hosts give to their models (`CLAUDE.md`, `AGENTS.md` and others).

It says where they lie, which of them import each other, and which may be written.
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

_PATHS: Final = {
    "CLAUDE.md": "CLAUDE.md",
    "AGENTS.md": "AGENTS.md",  # Codex, opencode, Copilot CLI, Cline, pi, Droid and others
    "GEMINI.md": "GEMINI.md",
    "QWEN.md": "QWEN.md",
    "copilot-instructions.md": ".github/copilot-instructions.md",
    ".clinerules": ".clinerules/mcp-reflect.md",
    ".cursor/rules": ".cursor/rules/mcp-reflect.mdc",
}
FILES: Final = tuple(_PATHS)
"""The names of files that hosts give to their models. Of a folder of rules one file is ours."""

_MOST_FILE: Final = 2_000_000  # bytes of a file that is read
_NEW_FILE_MODE: Final = 0o644  # a team's file, which everybody may read
_BLOCK_OR_COMMENT: Final = re.compile(
    r"^ {0,3}(```+|~~~+).*?(?:^ {0,3}\1|\Z)|<!--.*?(?:-->|\Z)", re.DOTALL | re.MULTILINE
)
_IMPORT: Final = re.compile(r"(?:^|(?<=\s))@([^\s`]{1,300})")


def root_of(context: Context) -> Path:
    """Return the folder of the project: the working tree of its repository, else the working folder."""
    here = (context.settings.folder or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / ".git").exists():
            return folder
    return here


def path_of(root: Path, name: str, subject: str | None = None) -> Path:
    """Return the path of a name in FILES; with a subject, that of the skill of Claude Code about it.

    ("CLAUDE.md") -> ROOT/CLAUDE.md; subject "Data base" -> ROOT/.claude/skills/data-base/SKILL.md
    """
    if subject:
        slug = re.sub(r"[^a-z0-9]+", "-", subject.lower()).strip("-") or "lessons"
        return root / ".claude" / "skills" / slug / "SKILL.md"
    if name == ".clinerules" and (root / name).is_file():  # it may be one file
        return root / name
    return root / _PATHS[name]


def files_there(root: Path) -> list[str]:
    """Return the names in FILES of files that are there, each once, without those that import another one of them."""
    names_by_file: dict[Path, str] = {}  # a file that several names lead to by links is there once
    for name in FILES:
        path = path_of(root, name)
        if path.exists():
            names_by_file[path.resolve()] = name
    names: list[str] = []
    for file, name in names_by_file.items():
        others = names_by_file.keys() - {file}
        imports_another = not _imported(file).isdisjoint(others)
        if not imports_another:
            names.append(name)
    return names


def _imported(path: Path) -> set[Path]:
    """Return the files that an instruction file imports: `@AGENTS.md` in its text, as Claude Code reads it.

    What stands in a block of code or in a comment imports nothing.
    """
    with suppress(InputError, OSError):
        text = _BLOCK_OR_COMMENT.sub("", text_of(path))
        names = {imported[1].rstrip(".,;:)") for imported in _IMPORT.finditer(text)}
        return {(path.parent / Path(name).expanduser()).resolve() for name in names}
    return set()


def refuse_second_block(root: Path, path: Path) -> None:
    """Raise InputError if a file that `path` imports, or that imports it, has our block: it would be loaded twice."""
    for name in FILES:
        other = path_of(root, name).resolve()
        if other == path or not other.is_file() or not START.search(text_of(other)):
            continue
        if other in _imported(path):
            fault = f"{path.name} imports {name}, which has the lessons already"
            raise InputError("file", fault, f"Promote into {name} alone.")
        if path in _imported(other):
            fault = f"{name} imports {path.name}, and has the lessons already"
            raise InputError(
                "file", fault, f"Take them out first: mcp-reflect promote {name} --undo"
            )


def writable_path(root: Path, path: Path) -> Path:
    """Return the file that `path` leads to, links followed.

    InputError if it lies outside of the project, is no file, or cannot be written; it need not be there yet.
    """
    name, target = path.name, Path(os.path.realpath(path))
    if not target.is_relative_to(root.resolve()):
        fault = f"{name} is, or is reached by, a link out of the project, to {target}"
        raise InputError("file", fault, "Put a file in its place, or promote into another one.")
    if target.exists() and not target.is_file():
        raise InputError("file", f"{name} is not a file", "Name another one.")
    file_or_folder = target  # the file, or else the nearest of its folders that is there
    while not file_or_folder.exists():
        file_or_folder = file_or_folder.parent
    # Everything is writable for an administrator: what its owner may not write counts as read-only, too.
    is_writable = file_or_folder.stat().st_mode & stat.S_IWUSR and os.access(
        file_or_folder, os.W_OK
    )
    if not is_writable:
        fix = "Make it writable, or promote into another file."
        raise InputError("file", f"{file_or_folder} is read-only", fix)
    return target


def text_of(path: Path) -> str:
    """Return the text of a file with every byte of it; an empty one for no file. InputError for a pipe or a device."""
    if not path.exists():
        return ""
    try:
        with open_regular(path) as file:
            content = file.read(_MOST_FILE + 1)
    except OSError as error:
        fault = f"{path.name} cannot be read: {error.strerror}"
        raise InputError("file", fault, "Put a file in its place.") from None
    if len(content) > _MOST_FILE:
        raise InputError(
            "file", f"{path.name} has more than {_MOST_FILE} bytes", "Promote into another file."
        )
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
