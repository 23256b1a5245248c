"""The forms of commands in which a word is a secret, as a row of `secret_commands.txt` writes them.

A form is a row of words: `-u *:_` stands for `-u ada:X`. A word may have a slot: `_` is the secret, `NAME` a name that
says whether the value is one, `*` any text.
"""

import re
from functools import cache
from itertools import pairwise
from typing import Final, NamedTuple

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security.secret_command_words import MOST_WORDS

_SLOT: Final = lazy_compile(r"(NAME|\*\?|\*|(?<![A-Za-z0-9])_(?=$|@)|(?<=-[A-Za-z])_$|(?<=-hp)_$)")
_ANY: Final = r".{0,300}?"
_PATTERN_OF_SLOT: Final = {
    "_": r"(?P<secret>.+)",
    "NAME": r"(?P<name>[\w./:-]{2,80})",
    "*": _ANY,
    "*?": r".{1,300}?",
}


class FormWord(NamedTuple):
    """A word of a form: as the table writes it, and the text before its first slot: `-u` and `*:_` have the prefixes `-u` and ""."""

    written: str
    prefix: str

    @property
    def is_plain(self) -> bool:
        """Whether it has no slot, so that a word of a command has to be the same. Flags of Windows (`/p`) have no case."""
        return self.prefix == self.written and not self.written.startswith("/")

    def match(self, word: str) -> re.Match[str] | None:
        """Return how a word of a command fits this word of a form, None where it does not.

        Making a pattern takes long, so that it is made only for a word that begins like the form's.
        """
        if not word.lower().startswith(self.prefix.lower()):
            return None
        return _pattern_of_word(self.written).fullmatch(word)


class CommandForm(NamedTuple):
    """A row of words of which one holds the secret."""

    words: tuple[FormWord, ...]
    most_starts: int
    """The number of arguments at which the form may begin: 1 for the first one alone, else any."""


@cache
def forms_in(written: str) -> tuple[CommandForm, ...]:
    """Return the forms in a cell of the table: two for `-p _ | ^password _`, of which the second begins at the start.

    A form with `--flag _` stands for one with `--flag=_` as well.
    """
    forms: list[CommandForm] = []
    for form in written.split(" | "):
        most_starts = 1 if form.startswith("^") else MOST_WORDS
        words = form.removeprefix("^").split()
        forms.append(CommandForm(tuple(map(_form_word, words)), most_starts))
        for flag, value in pairwise(words):
            if value == "_" and flag.startswith("--"):
                in_one_word = form.replace(f"{flag} _", f"{flag}=_").split()
                forms.append(CommandForm(tuple(map(_form_word, in_one_word)), most_starts))
    return tuple(forms)


@cache
def _form_word(written: str) -> FormWord:
    """Return a word of a form, with the text before its first slot: "-p" for `-p_`, "key=" for `key=NAME`."""
    prefix = written
    for slot in ("*", "NAME", "_@"):
        prefix = prefix.partition(slot)[0]
    if prefix == written and _ends_in_slot(written):
        prefix = written[:-1]
    return FormWord(written, prefix)


def _ends_in_slot(written: str) -> bool:
    """Return whether a word ends in `_` as a slot: behind a sign, or stuck to a flag of one letter.

    It does in `--user=_` and `-p_`, and not in `name_`. 7-Zip has a flag of two letters (`-hp_`).
    """
    before = written[:-1]
    if not written.endswith("_"):
        return False
    is_flag = before[-2:-1] == "-" and before[-1:].isalpha()
    return is_flag or before.endswith("-hp") or not before[-1:].isalnum()


@cache
def _pattern_of_word(word: str) -> re.Pattern[str]:
    """Return the pattern of a word of a form; flags of Windows have no case."""
    parts = _SLOT.split(word)
    pattern = "".join(_PATTERN_OF_SLOT.get(part) or re.escape(part) for part in parts)
    if word.startswith("/"):
        return re.compile(pattern, re.DOTALL | re.IGNORECASE)
    return re.compile(pattern, re.DOTALL)
