"""The name of a program, without its folder, its version and the ending of Windows: `python` for `/usr/bin/python3.12`."""

import re
from functools import lru_cache
from typing import Final

from mcp_reflect.shell.tables import other_names, words_of_table

_LONGEST_NAME: Final = 300  # characters; a longer one is no name of a program
_VERSION: Final = re.compile(r"([A-Za-z+]+?(?:-config)?)-?\d[\d.]*$")


def base_name(path: str) -> str:
    """Return the last part of a path of any system."""
    return path.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]


def program_name(program: str) -> str:
    """Return a program's name without its folder, its version and the ending of Windows.

    `/usr/bin/python3.12` is `python`, `tsc@5` is `tsc`, and `git.exe` is `git`.
    """
    if len(program) > _LONGEST_NAME:
        return program
    return _program_name(program)


@lru_cache(maxsize=1_000)
def _program_name(program: str) -> str:
    """Return what `program_name` does, kept for the next time: few programs are asked for, and often.

    Only some programs have a version in their name: `python3.12` is python, and `mp3` is another program than `mp`.
    """
    name = base_name(program)
    name = name.partition("@")[0] or name
    for ending in (".exe", ".cmd", ".bat"):
        name = name.removesuffix(ending)
    if name in other_names():
        return other_names()[name]
    match = _VERSION.fullmatch(name)
    if match and match[1] in words_of_table("programs with a version in their name"):
        return match[1]
    return name or program
