"""Where the sentences of a line end.

A stop ends a sentence where the next one begins as sentences do. One that begins in lower case is told from the words
behind an abbreviation: by a program or a name at its start, or by the words before the stop.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import Final

from mcp_reflect.evidence.word_lists import read_word_list

_LEAST_WORDS: Final = 3
"""Of a sentence before another one in lower case, so that "approx. five" is none where the list does not know it."""

_MOST_BEFORE: Final = 200  # characters before a stop that are looked at
_LONGEST_LAST_WORD: Final = 50  # characters of what `_LAST_WORD` finds, without blanks
_STOP: Final = re.compile(r"[.!?][\"')\]*_]{0,3}\s+|[。！？]\s*")
_LAST_WORD: Final = re.compile(r"([^\s(\"'`]{1,40}[`)]?)\.[\"')\]*_]{0,3}\s*$")
_UPPER: Final = re.compile(r"[A-Z0-9`\"'(\[*_~✓✔✅❌•À-Þ]")
_MONTH: Final = re.compile(
    r"(?:Jan|Feb|M[aä]r|Apr|Ma[iy]|Jun|Jul|Aug|Sep|O[ck]t|Nov|De[cz])[a-z]*\b"
)
_NAME: Final = re.compile(r"\w{1,60}[._]\w[\w./-]{0,80}|[a-z]{1,40}[A-Z]\w{0,40}")
_FIRST_WORD: Final = re.compile(r"[\w.-]{1,80}")


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a line, in their order."""
    sentences: list[str] = []
    start = 0
    for end in _ends(text):
        sentences.append(text[start:end])
        start = end
    return [*sentences, text[start:]]


def _ends(text: str) -> Iterator[int]:
    """Yield where each sentence ends, by the few characters around a stop, so that long texts are read in one pass."""
    start = 0
    for stop in _STOP.finditer(text):
        before = text[max(start, stop.end() - _MOST_BEFORE) : stop.end()]
        if _is_end(before, text[stop.end() : stop.end() + _MOST_BEFORE]):
            yield stop.end()
            start = stop.end()


def _is_end(before: str, after: str) -> bool:
    """Return whether a sentence ends with `before`, its stop and blanks included; the first row that fits decides.

    | before the stop, and after it                    | ends                                          | example                 |
    |--------------------------------------------------|-----------------------------------------------|-------------------------|
    | nothing comes after it; a Chinese stop           | yes                                           |                         |
    | `!` or `?`                                       | where the next one begins as sentences do     | "Done! It works."       |
    | an abbreviation                                  | no                                            | "e.g. this", "no. 5"    |
    | a number, and a month after it                   | no                                            | "3. March"              |
    | any other word, and a capital after it           | yes                                           | "It works. The tests …" |
    | any other word, and a small letter after it      | where `_begins_in_lower_case` says so         | "It works. npm test …"  |
    """
    if not after or before.rstrip()[-1] in "。！？":
        return True
    word = _LAST_WORD.search(before.rstrip()[-_LONGEST_LAST_WORD:])
    if word is None:  # it ends in `!` or `?`
        return _UPPER.match(after) is not None
    last = word[1].lower()
    if last in _abbreviations("abbreviations"):
        return False
    if after[0].isdigit() and last in _abbreviations("abbreviations before numbers"):
        return False
    if last[-1].isdigit() and _MONTH.match(after):
        return False
    if _UPPER.match(after):
        return True
    return _begins_in_lower_case(before, last, after)


def _begins_in_lower_case(before: str, last: str, after: str) -> bool:
    """Return whether a sentence begins in lower case behind a stop, `last` being the word before it.

    A program or a name may begin one (`npm`, `parseTree`); any other word does behind a sentence that is surely finished:
    a long one that ends in a whole word or a name, and is no quotation.
    """
    if last in _abbreviations("abbreviations at an end") or last.endswith("."):
        return False
    first = _FIRST_WORD.match(after)
    if first is None:
        return False
    name = first[0].rstrip(".")
    is_named = name in _programs() or _NAME.fullmatch(name) is not None
    ends_in_word = len(last) > 1 and last[-1].isalpha() and "." not in last
    ends_in_name = last[-1] in "`)"
    if is_named:
        return ends_in_word or ends_in_name or last.isdigit()
    is_quoted = before.rstrip()[-1] in "\"'"
    is_long = len(before.split()) >= _LEAST_WORDS
    return is_long and not is_quoted and (ends_in_word or ends_in_name)


@cache
def _abbreviations(heading: str) -> frozenset[str]:
    """Return the abbreviations under a heading of words/forms.txt."""
    return frozenset(read_word_list("forms")[heading])


@cache
def _programs() -> frozenset[str]:
    """The first words of all commands that are known to show something."""
    lists = read_word_list("programs").values()
    return frozenset(entry.split()[0] for entry in chain.from_iterable(lists)) | {"git", "gh"}
