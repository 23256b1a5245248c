"""What a command prints in the place of words: `env $(cat .env | xargs) npm start` sets variables for `npm start`."""

import re
from typing import Final

_PRINTING_FILES: Final = frozenset("cat grep egrep sed cut tr sort xargs".split())
_QUOTED: Final = re.compile(r"'[^']*'|\"[^\"]*\"")
_INPUT: Final = re.compile(r"<\s*[\w./~-]+|2>\s*/dev/null")
_MORE_THAN_A_PIPE: Final = frozenset(";&()`\n<>")


def prints_settings(word: str) -> bool:
    """Return whether a word is what a file of settings has, by programs that do no more than print it.

    | the word                                           | prints settings                  |
    |----------------------------------------------------|----------------------------------|
    | `$(cat .env)`, `$(grep -v '^#' .env)`              | yes                              |
    | `$(echo rm)`, `$(cat .env; echo rm)`               | no: nobody knows what it prints  |
    | `$(xargs echo < .env)`                             | no: `xargs` starts a program     |
    | `$X`, `a`                                          | no                               |
    """
    inner = _inner_of(word)
    plain = _INPUT.sub("", _QUOTED.sub("", inner))
    if not plain.strip() or not _MORE_THAN_A_PIPE.isdisjoint(plain):
        return False
    return all(map(_prints_file, plain.split("|")))


def _inner_of(word: str) -> str:
    """Return what stands in a word that is all `$(…)` or `` `…` ``, empty for another word."""
    if word.startswith("$(") and word.endswith(")"):
        return word[2:-1]
    if len(word) > 1 and word.startswith("`") and word.endswith("`"):
        return word[1:-1]
    return ""


def _prints_file(command: str) -> bool:
    """Return whether a command prints its file or its input, and starts no program."""
    program, *words = command.split() or [""]
    if program == "xargs":
        return not any(word[:1].isalpha() for word in words)
    return program in _PRINTING_FILES
