"""Secrets of several words, which are known by the cue before them: seed phrases, pass phrases, passwords in groups."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import takewhile
from typing import Final

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security import secret_values as values
from mcp_reflect.security.reading_allowance import allowance_of_text
from mcp_reflect.security.secret_tables import rows_of, standing_in
from mcp_reflect.security.secret_values import START, Secret

_WINDOW: Final = (
    400  # characters behind a cue; 24 words of a seed phrase with their numbers have some 250
)
_MOST_CUES: Final = 100  # of a kind in a text: more of them are there to stall
_LEAST_SEED: Final = 12  # words of a seed phrase
_MOST_SEED: Final = 27  # with a little room for "and" forgotten between two words
_MOST_BEFORE: Final = 60  # characters between a cue and the first word
_LEAST_PHRASE: Final = 3
_MOST_PHRASE: Final = 10  # words of a pass phrase


def phrased_secrets(text: str, folded: str, words: str) -> list[Secret]:
    """Return the secrets of several words; the arguments are those of `placed_secrets`."""
    secrets: list[Secret] = []
    for kind in _FINDERS:
        places = _places_of(kind, folded, words)
        if places:
            secrets += _secrets_behind(places, kind, text)
    return secrets


def _secrets_behind(places: Iterable[int], kind: str, text: str) -> Iterator[Secret]:
    """Yield the secrets behind the cues of a kind, of which so many are read in a text, and in a call.

    Behind those of a call all that stands behind a cue is cut unread. A cue that is a part of a secret is passed over.
    """
    allowance = allowance_of_text()
    find = _FINDERS[kind]
    read = done = 0
    for at in places:
        if at < done:
            continue
        if read == _MOST_CUES:
            return
        read += 1
        reader = find if allowance.may_read_cue() else _all_in
        secret = reader(text[at : at + _WINDOW], at)
        if secret is not None:
            yield secret
            done = secret[1]


def _all_in(window: str, at: int) -> Secret | None:
    """Return all that stands behind a cue, up to a mark of ours; None where there is nothing."""
    unread = window.partition(START)[0]
    if not unread.strip(_AROUND):
        return None
    return (at, at + len(unread), "secret")


_AROUND: Final = " \t\r\n:=\"'`"
"""What stands between a cue and the first word."""


def _places_of(kind: str, folded: str, words: str) -> list[int]:
    """Return where each cue of a kind ends, in the order of the text."""
    places: set[int] = set()
    for cue in standing_in(_rows_of(kind, "|"), folded, words):
        at = folded.find(cue)
        while at >= 0:
            places.add(at + len(cue))
            at = folded.find(cue, at + len(cue))
    return sorted(places)


@cache
def _rows_of(kind: str, sign: str) -> frozenset[str]:
    """Return the entries of a kind in the file of cues, which `sign` parts."""
    entries: set[str] = set()
    for row in rows_of("secret_cues.txt"):
        if row[0] == kind:
            entries.update(row[1].split(sign))
    return frozenset(entries)


# Seed phrases: twelve words and more in one row, all parted in one way.

_SEED_WORD: Final = r"[^\W\d_]{3,10}"
_SEED_ROWS: Final = tuple(
    lazy_compile(
        rf"(?s:.{{0,{_MOST_BEFORE}}}?)"
        rf"(?P<row>(?<![\w\\-]){first}{_SEED_WORD}(?:{between}{_SEED_WORD}){{11,40}}(?![\w-]))"
    )
    for first, between in (
        ("", r"[ \t]{1,3}"),
        ("", r",[ \t]{0,2}"),
        ("", r"[ \t]{0,3}\r?\n[ \t]{0,8}"),
        (r"1[.):]?[ \t]{1,2}", r"[,;]?[ \t\r\n]{1,4}\d{1,2}[.):]?[ \t]{1,2}"),
    )
)
_LETTERS: Final = lazy_compile(r"[^\W\d_]+")


def _seed_phrase(window: str, at: int) -> Secret | None:
    """Find twelve words or more in a row, none of which holds a sentence together.

    Prose has an article or a verb of state among any twelve words, and the word lists of wallets have none.
    """
    for row in _SEED_ROWS:
        found = row.match(window)
        if found is None:
            continue
        start = _end_of_glue(window, found)
        words = [*takewhile(_is_no_glue, _LETTERS.finditer(window, start, found.end()))]
        if start <= _MOST_BEFORE and _LEAST_SEED <= len(words) <= _MOST_SEED:
            return (at + start, at + words[-1].end(), "seed_phrase")
    return None


def _end_of_glue(window: str, found: re.Match[str]) -> int:
    """Return where the first word stands behind the last word of a sentence near the cue: `is`, `was`."""
    start = found.start("row")
    for word in _LETTERS.finditer(window, start, min(found.end(), 2 * _MOST_BEFORE)):
        if word.start() >= _MOST_BEFORE:
            break
        if is_glue(word[0]):
            start = word.end() + 1
    return start


def _is_no_glue(word: re.Match[str]) -> bool:
    return not is_glue(word[0])


def is_glue(word: str) -> bool:
    """True for a word that holds a sentence together, and stands in no phrase that is a secret."""
    return word.lower() in _glue()


@cache
def _glue() -> frozenset[str]:
    return _rows_of("glue", " ")


# Pass phrases: in quotes, or the words up to the end of their clause.

_PHRASE_SIGN: Final = lazy_compile(
    r"[^\n:=\"'«“„.;]{0,40}?(?:(?:\b(?:is|ist|est|es))?[:=：]|\b(?:is now|is|was|lautet|ist|war|est|était|es|era|é|è|to|auf|это)\b|(?=[ \t][\"'«“„]))"
    r"[ \t\xa0]{0,3}"
)
_PHRASE_QUOTED: Final = lazy_compile(
    r"[\"'«“„][ \xa0]?(?P<secret>[^\n\"'»”“]{8,100}?)[ \xa0]?[\"'»”“]"
)
_PHRASE_BARE: Final = lazy_compile(
    r"(?P<secret>[^\W_][\w'-]{1,24}(?: [\w'-]{2,24}){2,9})(?=[.,;!)]|\s|$)"
)
_PHRASE_WORD: Final = lazy_compile(r"[^\s]+")


def _pass_phrase(window: str, at: int) -> Secret | None:
    sign = _PHRASE_SIGN.match(window)
    if sign is None:
        return None
    quoted = _PHRASE_QUOTED.match(window, sign.end())
    if quoted is not None:
        words = quoted["secret"].split()
        if 2 <= len(words) <= _MOST_PHRASE and _is_phrase(words):
            return (at + quoted.start("secret"), at + quoted.end("secret"), "password")
        return None
    bare = _PHRASE_BARE.match(window, sign.end())
    if bare is None:
        return None
    words = [*takewhile(_is_no_glue, _PHRASE_WORD.finditer(window, *bare.span("secret")))]
    if len(words) < _LEAST_PHRASE or not _is_phrase([word[0] for word in words]):
        return None
    return (at + words[0].start(), at + words[-1].end(), "password")


def _is_phrase(words: list[str]) -> bool:
    """Return whether words are a pass phrase and no remark about one: `correct horse battery staple`, not `wrong again`.

    One word about secrets may stand in a phrase of four; a short one has none.
    """
    about = sum(values.is_said(word) or values.is_state(word) for word in words)
    return about <= (1 if len(words) > _LEAST_PHRASE else 0) and not values.is_placeholder(
        " ".join(words)
    )


# Passwords of an app: groups of four signs, as a provider shows them.

_GROUPS: Final = lazy_compile(
    r"(?<![\w-])(?P<secret>[A-Za-z0-9]{4}(?:(?P<sign>[ -])[A-Za-z0-9]{4})(?:(?P=sign)[A-Za-z0-9]{4}){2,6})(?![\w-])"
)
_ODD: Final = lazy_compile(r"(?i)[^aeiouy\d]{3}|\d")


def _app_password(window: str, at: int) -> Secret | None:
    """Find groups of four signs of which one at least is no word: three consonants in a row, or a digit."""
    line = window.partition("\n")[0]
    for groups in _GROUPS.finditer(line[: _MOST_BEFORE + 40]):
        if _ODD.search(groups["secret"].replace("-", " ")):
            return (at + groups.start("secret"), at + groups.end("secret"), "password")
    return None


_FINDERS: Final[dict[str, Callable[[str, int], Secret | None]]] = {
    "seed": _seed_phrase,
    "phrase": _pass_phrase,
    "app": _app_password,
}
