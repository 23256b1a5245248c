"""What a lesson names in its words: files, and words by which the lines that it is about are found in them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePosixPath
from typing import Final

from mcp_reflect.text.stemmer import STOP_WORDS

MOST_NAMED: Final = 40  # names of files, and words, of a lesson that are looked at
_MOST_TEXT: Final = 12_000  # characters of a lesson that are read
_LEAST_LETTERS: Final = 4  # of a plain word that finds a line

_PATH: Final = re.compile(r"(?:[A-Za-z]:)?[\w@.+~/\\-]+")
_EXTENSION: Final = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}\Z")
_NAMES_WITHOUT_EXTENSION: Final = frozenset(
    "Makefile Dockerfile Containerfile Gemfile Justfile justfile Procfile Rakefile Jenkinsfile Vagrantfile".split()
)
_QUOTED: Final = re.compile(r"`([^`\n]{1,200})`")
_TOKEN: Final = re.compile(r"[^\W\d_][\w.-]*\w|\d[\d.,]*\d")
_TELLING: Final = re.compile(r"[\d_]|\w[.-]\w|[a-z][A-Z]")


def files_named(text: str) -> list[str]:
    r"""Return what may be a file in a text, in order: a path, a name with an extension, a name such as Makefile.

    "See src\app.py and the Makefile." -> "src/app.py", "Makefile"
    """
    names: dict[str, None] = {}
    for match in _PATH.finditer(text[:_MOST_TEXT]):
        name = match[0].replace("\\", "/").rstrip("./-").removeprefix("./")
        last_part = PurePosixPath(name).name
        if "/" in name or _EXTENSION.search(last_part) or last_part in _NAMES_WITHOUT_EXTENSION:
            names.setdefault(name)
        if len(names) >= MOST_NAMED:
            break
    return list(names)


@dataclass(frozen=True, slots=True)
class NamingWords:
    """The words of a lesson by which lines of files are found."""

    telling: tuple[
        str, ...
    ]  # names, numbers and code: `max_retries`, `8080`, what stands in backquotes
    plain: tuple[str, ...]  # other words that mean something: "timeout"


def words_in(texts: Sequence[str], calls: Sequence[str]) -> NamingWords:
    """Return the words of a lesson's texts and calls, without those that are in every text."""
    telling: dict[str, None] = {}
    plain: dict[str, None] = {}
    for text in texts:
        quoted = set(chain.from_iterable(map(_tokens, _QUOTED.findall(text[:_MOST_TEXT]))))
        for token in _tokens(text):
            if token in quoted or _TELLING.search(token):
                telling.setdefault(token)
            elif len(token) >= _LEAST_LETTERS and token.casefold() not in STOP_WORDS:
                plain.setdefault(token)
    for call in calls:
        for token in _tokens(call):
            telling.setdefault(token)
    return NamingWords(tuple(telling)[:MOST_NAMED], tuple(plain)[:MOST_NAMED])


def _tokens(text: str) -> Iterator[str]:
    """Yield the words, names and numbers of a text, as they are written."""
    return (match[0] for match in _TOKEN.finditer(text[:_MOST_TEXT]))
