"""Whether a call may change a guarded file that it does not name: by a folder, a pattern, a variable or a search.

The words of a call are compared with lists, so that a hook parses few calls. A wrong yes costs some time; a wrong no would
let a call pass that a guard meets. So the lists have each program of `shell/tables.txt` that changes files, which a test
compares.
"""

from enum import Enum
from typing import Any, Final

from mcp_reflect.patterns import lazy_compile

_REMOVING: Final = frozenset(
    (
        *("rm", "mv", "unlink", "rmdir", "rimraf", "trash", "trash-put", "shred", "srm", "rename"),
        *("del", "erase", "rd", "ri", "remove-item", "move-item", "rename-item"),
        *("xargs", "-delete", "-exec", "-execdir", "-ok", "-okdir"),
    )
)
"""Words with which all below a folder changes, or what a search finds."""

_RESTORING: Final = frozenset(("restore", "checkout", "stash"))  # of git
_IN_PLACE: Final = frozenset(("sed", "gsed", "perl", "ruby", "awk", "gawk", "yq", "sops"))
_WRITING: Final = frozenset(
    (
        *("tee", "touch", "truncate", "patch", "apply_patch", "ed", "ex", "dd", "tar", "unzip"),
        *("set-content", "add-content", "out-file", "clear-content", "copy-item"),
        *("cp", "install", "rsync", "scp", "ln", "sd", "rpl", "copyto"),
        *("black", "isort", "rustfmt", "dos2unix", "unix2dos", "sponge", "gzip", "gunzip"),
        *("bzip2", "bunzip2", "xz", "unxz", "prettier", "prettierd", "eslint", "stylelint"),
        *("standard", "gofmt", "goimports", "shfmt", "autopep8", "yapf", "clang-format", "ruff"),
        *("biome", "oxlint", "rubocop", "markdownlint", "ktlint", "taplo", "dprint"),
        *("curl", "wget", "sort", "gcc", "g++", "clang", "clang++", "cc", "ld", "pandoc"),
        *("openssl", "esbuild", "tsc", "dot", "gpg", "gpg2", "sops", "kustomize", "jsonnet"),
        *("iconv", "gomplate", "xmllint", "op", "vercel", "vc", "doppler", "dotenvx"),
    )
)
"""Programs that write the files that they are told, which a pattern or a variable may stand for."""

_WORD: Final = lazy_compile(r"[\w+-]+")
_OPTION_IN_PLACE: Final = lazy_compile(r"\s--?\w*i")
_REDIRECT: Final = lazy_compile(r">>?(?![>&]|\s*/dev/null)")
_PATTERN: Final = lazy_compile(r"[*?\[]")
_PATTERN_OR_DOTS: Final = lazy_compile(r"[*?\[]|(?<![\w.~-])(?:[.~]|\.\.(?:/\.\.)*)/?(?![\w./-])")
"""A pattern, or a folder that is named by dots alone: what is in it stands nowhere in the words."""

_EXPANDED: Final = lazy_compile(r'[*?\[$`]|\{[^\s{}"]*(?:,|\.\.)')
"""What a shell replaces by other words: a pattern, a variable, another command's output, braces."""

_REMOVING_TOOL: Final = lazy_compile(r"delete|remove|move|rename")
_NAME_IN_GUARD: Final = lazy_compile(r"[^\s`/\\:]{2,}")
_NO_NAMES: Final = ("or", "without")


class UnnamedChange(Enum):
    """How a call may change a file that it does not name."""

    REMOVES = "removes"
    """It removes or moves all in a folder, or changes what a search finds there."""

    WRITES = "writes"
    """It restores a folder, or writes a file for whose name a pattern or a variable stands."""


def unnamed_change(tool: str, arguments: Any, words: str) -> UnnamedChange | None:
    """Return how a call may change a file that its words do not name, None for a call that names what it changes.

    | the call                                    | may change a file by |
    |---------------------------------------------|----------------------|
    | `rm -r config`, `find config -delete`       | REMOVES              |
    | `delete_file`, `move_file` of an editor     | REMOVES              |
    | `git restore config`                        | WRITES               |
    | `for f in config/*; do tee $f; done`        | WRITES               |
    | `tee README.md`, `cat config/*`             | nothing: None        |
    """
    if not _has_command(arguments):
        return UnnamedChange.REMOVES if _REMOVING_TOOL.search(tool) else None
    programs = frozenset(_WORD.findall(words))
    if not programs.isdisjoint(_REMOVING):
        return UnnamedChange.REMOVES
    restores = "git" in programs and not programs.isdisjoint(_RESTORING)
    if restores or (_EXPANDED.search(words) and _may_write(programs, words)):
        return UnnamedChange.WRITES
    return None


def may_stand_for_files(change: UnnamedChange | None, words: str) -> bool:
    """Return whether something in the words of a call may stand for any file: a pattern, or the dots of a folder.

    Nothing below `.` is certain to change that is only restored.
    """
    if change is UnnamedChange.REMOVES:
        return _PATTERN_OR_DOTS.search(words) is not None
    return change is not None and _PATTERN.search(words) is not None


def _has_command(arguments: Any) -> bool:
    """Return whether the arguments of a call may be those of a shell."""
    if not isinstance(arguments, dict):
        return isinstance(arguments, str)
    return any(name in arguments for name in ("command", "cmd", "script", "input"))


def _may_write(programs: frozenset[str], words: str) -> bool:
    """Return whether a command may write a file: by a redirection, a program that writes, or an editor in place."""
    if not programs.isdisjoint(_WRITING) or _REDIRECT.search(words):
        return True
    return not programs.isdisjoint(_IN_PLACE) and _OPTION_IN_PLACE.search(words) is not None


def has_name_of(guard: str, words: str) -> bool:
    """Return whether a name in the path of a guard of files stands in some words: `config` of `config/prod.yaml`.

    Where the shell replaces words, the beginning of a name is enough: `prod` in `for e in prod; do tee $e.yaml; done`.
    """
    is_expanded = _EXPANDED.search(words) is not None
    for name in _NAME_IN_GUARD.findall(guard.lower().partition(":")[2]):
        if name in _NO_NAMES:
            continue
        plain = name.strip("*")
        if is_expanded:
            plain = name.strip("*.").partition(".")[0]
        if plain in words:
            return True
    return False
