"""The options of a program's words, from `options.txt`: which words are options, and which are their values."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from mcp_reflect.shell import Option, read_option

_LONGEST_HEAD: Final = 3  # a program with its subcommands
_NONE: Final = frozenset[str]()


@dataclass(frozen=True, slots=True)
class OptionWord:
    """A word with an option, the word behind it ("" for none), and the option in it that takes a value.

    `valued` has no name if the option takes no value. Of `-rfo FILE`, where `-o` takes one, the option is `-o`.
    """

    word: str
    next_word: str
    valued: Option


@lru_cache(maxsize=1)
def _tables() -> dict[str, dict[str, frozenset[str]]]:
    """Return the sections of the file: of each, the options by program, or by it and its subcommands."""
    tables: dict[str, dict[str, frozenset[str]]] = {}
    entries: dict[str, frozenset[str]] = {}
    text = Path(__file__).with_name("options.txt").read_text(encoding="utf-8")
    for line in filter(None, text.splitlines()):
        if line.startswith("["):
            entries = tables.setdefault(line[1:-1], {})
        elif "|" in line and line[0] != "#":
            head, _, options = line.partition("|")
            entries[head.strip()] = frozenset(options.split())
        elif line[0] != "#":
            entries.update(dict.fromkeys(line.split(), _NONE))
    return tables


def valued_options(head: Sequence[str]) -> frozenset[str]:
    """Return the options that take a value behind a program and its subcommands.

    Of `git push` they are those of git, such as `-C`, and those of its `push`, such as `-o`.
    """
    options_by_head = _tables()["with a value"]
    options = _NONE
    if head[0] in options_by_head:
        for length in range(1, len(head) + 1):
            options |= options_by_head.get(" ".join(head[:length]), _NONE)
    return options


def only_tells(program: str, word: str) -> bool:
    """Return whether a program with this option before its subcommand only tells about itself: `git --version`."""
    return word in _tables()["only tells"].get(program, _NONE)


def _completed(beginning: str, names: frozenset[str]) -> str:
    """Return the only name that begins so; the text itself if it is a name, or if none or several names begin so."""
    if beginning in names:
        return beginning
    completions = [name for name in names if name.startswith(beginning)]
    if len(completions) != 1:
        return beginning
    return completions[0]


def whole_option(name: str, head: Sequence[str]) -> str:
    """Return a long option of which the beginning is written: `rm --rec` is `--recursive`."""
    if name[:2] != "--" or len(name) == 2:
        return name
    options_by_head = _tables()["long options"]
    options_of_program = options_by_head.get(head[0], _NONE)
    return _completed(name, options_by_head.get(" ".join(head[:2]), options_of_program))


def whole_subcommand(word: str, program: str) -> str:
    """Return a subcommand by its usual name: `npm publi` is `npm publish`, and `npm i` is `npm install`.

    Another name that the file knows counts first, then a beginning, which only npm takes for the whole.
    """
    usual_names = _usual_subcommands().get(program, {})
    if word in usual_names:
        return usual_names[word]
    return _completed(word, _tables()["npm shortens"].get(program, _NONE))


@lru_cache(maxsize=1)
def _usual_subcommands() -> dict[str, dict[str, str]]:
    """Return, by program, the usual name of each subcommand that has another: `install` for the `i` of npm."""
    return {
        program: dict(entry.split("=") for entry in entries)
        for program, entries in _tables()["other subcommands"].items()
    }


def _option_with_attached_value(word: str, head: Sequence[str]) -> Option:
    """Return the option of a word whose value stands in it and never behind it; one without a name for none.

    For `-uno` of `git commit` it is `-u` with the value `no`.
    """
    options = _tables()["with an attached value"].get(" ".join(head[:2]), _NONE)
    if word[:2] == "--":
        return Option()
    for index, letter in enumerate(word[1:], start=1):
        if f"-{letter}" in options:
            return Option(f"-{letter}", word[index + 1 :])
    return Option()


def _ends_options(head: Sequence[str]) -> bool:
    """Return whether the options of a program end at its first operand, as those of `docker run`."""
    return ":".join(head) in _tables()["options before the first operand"]


def option_words(program: str, words: Sequence[str]) -> Iterator[OptionWord]:
    """Yield the words that are options, each with the word behind it.

    Of `git -C web push -f -- -x` they are `-C` and `-f`: `web` is the value of `-C`, and behind `--` nothing is an
    option, unless the program hands its words on to another one (`npm run x -- --watch`).
    """
    head = [program]
    valued = valued_options(head)
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if word == "--" and program not in _tables()["hands on"]:
            return
        if word[:1] != "-" and _ends_options(head):
            return
        if word[:1] != "-" and len(head) < _LONGEST_HEAD:
            head.append(word)
            valued = valued_options(head)
        if word[:1] != "-" or word in ("-", "--"):
            continue
        option = _option_with_attached_value(word, head)
        if not option.name:
            option = read_option(word, valued)
        yield OptionWord(word, "".join(words[index : index + 1]), option)
        if option.takes_next:
            index += 1
