"""Secrets that are known by their own shape, and by their place in a text."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from itertools import accumulate
from typing import Final, NamedTuple

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security import secret_values as values
from mcp_reflect.security.secret_phrases import is_glue
from mcp_reflect.security.secret_tables import rows_of, standing_in
from mcp_reflect.security.secret_values import Secret, Span, compiled

_ALPHABETS: Final = {
    "word": "[0-9A-Za-z]",
    "url": "[0-9A-Za-z_-]",
    "b64": "[0-9A-Za-z+/=_-]",
    "parts": "(?:[0-9A-Za-z+/=_.-]|%[0-9A-F]{2})",
}


_PEM: Final = lazy_compile(
    r"-{4,5} ?BEGIN (?:[A-Z0-9]{2,10} ){0,3}(?:PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1) ?-{4,5}"
    r"(?P<body>(?:(?!-{4,5} ?END)[\s\S]){0,20000})(?:-{4,5} ?END [A-Za-z0-9 ]{0,40}-{4,5})?"
)
_PEM_BODY: Final = lazy_compile(
    r"(?=[A-Za-z0-9+/=]{0,24}[0-9])[A-Za-z0-9+/=]{24}|[0-9a-f]{32}"
)  # examples have dots
_PEM_HEADERS: Final = 400  # characters before the key


def private_keys(text: str) -> list[Secret]:
    """Return the private keys in armor (PEM)."""
    if "PRIVATE KEY" not in text and "OpenVPN Static key" not in text:
        return []
    keys = (key for key in _PEM.finditer(text) if _PEM_BODY.search(key["body"], 0, _PEM_HEADERS))
    return [(*key.span(), "private_key") for key in keys]


_LONG: Final = lazy_compile(r"\S{20,}")  # no shape has fewer characters
_RUN: Final = lazy_compile(r"[A-Za-z0-9_+/=~-]{16}")
_LETTERS_OR_DIGITS: Final = lazy_compile("[0-9A-Za-z]+")
_PARTS: Final = lazy_compile(r"[\w-]+")
_LOOKUP: Final = 3  # characters of a beginning by which the table is asked


def shaped_secrets(text: str) -> list[Secret]:
    """Return the secrets that have a provider's shape; all of them stand in long words of mixed characters."""
    words = long_words(text)
    if not words:
        return []
    joined = "\n".join(word[0] for word in words)
    starts = [0, *accumulate(len(word[0]) + 1 for word in words)]

    def place(at: int) -> int:
        number = bisect_right(starts, at) - 1
        return words[number].start() + at - starts[number]

    return [
        (place(start), place(end - 1) + 1, kind)
        for start, end, kind in (*_of_providers(joined), *_of_shapes(joined))
    ]


@lru_cache(maxsize=4)
def long_words(text: str) -> list[re.Match[str]]:
    """Return the words in which a key could be."""
    return [word for word in _LONG.finditer(text) if _is_mixed(word[0])]


def _is_mixed(word: str) -> bool:
    rule = word.count(word[0]) > len(word) // 2
    return not rule and not (word.islower() and word.isalpha()) and bool(_RUN.search(word))


@cache
def _beginnings() -> dict[str, list[tuple[str, str, str]]]:
    """Return the kinds, beginnings and patterns of keys by their first letters, the longest beginning first.

    A row of the file has the kind of key, the alphabet and the least length of what follows, and the beginnings.
    """
    table: dict[str, list[tuple[str, str, str]]] = {}
    for (row,) in rows_of("secret_prefixes.txt"):
        kind, alphabet, least, *beginnings = row.split()
        rest = (
            rf"(?P<rest>{_ALPHABETS[alphabet]}{{{least},2000}})(?![0-9A-Za-z])"
            r"(?:[_-][0-9A-Za-z]{4,200}){0,4}"
        )
        for beginning in beginnings:
            table.setdefault(beginning[:_LOOKUP], []).append(
                (kind, beginning, re.escape(beginning) + rest)
            )
    for rows in table.values():
        rows.sort(key=lambda row: -len(row[1]))
    return table


def _of_providers(text: str) -> list[Secret]:
    table = _beginnings()
    spans: list[Secret] = []
    done = 0
    starts = [run.start() for run in _LETTERS_OR_DIGITS.finditer(text)]
    for at in [start for start in starts if text[start : start + _LOOKUP] in table]:
        if at < done:
            continue
        for kind, beginning, pattern in table[text[at : at + _LOOKUP]]:
            if not text.startswith(beginning, at):
                continue
            key = compiled(pattern).match(text, at)
            if key and values.is_drawn(key["rest"]) and not values.is_example(key[0]):
                spans.append((at, key.end(), kind))
                done = key.end()
                break
    return spans


def _of_shapes(text: str) -> list[Secret]:
    """Return the secrets of other shapes.

    A pattern takes longer to compile than to use, so a row whose hint stands in many words also says how many letters,
    digits, underscores and hyphens its shape has in a row.
    """
    spans: list[Secret] = []
    longest = max(map(len, _PARTS.findall(text)), default=0)
    for kind, hints, pattern, *least in rows_of("secret_shapes.txt"):
        if not any(hint in text for hint in hints.split()):
            continue
        if least and longest < int(least[0]):
            continue
        keys = compiled(pattern).finditer(text)
        spans += [(*_secret_part(key), kind) for key in keys if _is_of_kind(kind, key)]
    return spans


def _secret_part(key: re.Match[str]) -> Span:
    """Return where the group `secret` stands where there is one, else the whole."""
    if "secret" in key.re.groupindex:
        return key.span("secret")
    return key.span()


def _is_of_kind(kind: str, key: re.Match[str]) -> bool:
    if values.is_example(key[0]):
        return False
    return kind != "token" or values.is_mixed(key["rest"])


class Place(NamedTuple):
    """A place of secrets: their kind, its pattern, and texts in lower case of which one stands in all that it matches.

    The group `secret` of the pattern goes where `fits` is true of it.
    """

    kind: str
    short: str
    fits: Callable[[str], bool]
    needs: tuple[str, ...]

    @property
    def pattern(self) -> str:
        """The pattern with its short forms written out, when a text has an anchor."""
        return _written_out(self.short)


@cache
def _written_out(short: str) -> str:
    return re.sub("%[A-Z]+%", lambda name: _FORMS[name[0]], short)


_FORMS: Final = {
    "%LINE%": r"[^\n]{0,200}?[ \t]",
    "%VALUE%": r"[\"'`]?(?P<secret>[^\s\"'`\\|;]{4,4000})",
    "%UUID%": r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "%TEXT%": r"b?[\"'`](?P<secret>[^\"'\n\\]{4,200})[\"'`]",
    "%ARGUMENT%": r"(?:[^,()\"'\n]{1,80}|\"[^\"\n]{0,200}\"|'[^'\n]{0,200}')",
    "%PRINTED%": (  # the only word of the next line, or of what is left of a quotation there
        r"[\"'`]{0,2}[ \t\r]{0,8}\n[ \t]{0,20}(?P<secret>[^\s$\"\\]{6,4000}(?<![\"'`)»”]))"
        r"(?:[\"'`)»”][^\n]{0,200}|[ \t\r]{0,8}(?:\n|$))"
    ),
    "%END%": r"(?=[.`\"',;:)*]{0,3}(?:\s|$))",
}
"""What the patterns of secret_places.txt have in common, by the names that stand there."""


def _braced(value: str) -> bool:
    """True for a value in the braces of a connection string, and no name of a template's field."""
    return not value.strip("{}").replace("_", "").replace(".", "").isalpha()


def _has_sign(value: str) -> bool:
    return values.credential(value) and ("=" in value or any(map(str.isdigit, value)))


def _has_digits(value: str) -> bool:
    return all(re.search(r"\d", code) for code in re.split(r"[\s,]+", value.strip()))


def _phrase(value: str) -> bool:
    """True for words in a password's place that make no sentence: `kelp dune forty`, not `Log in to continue`."""
    words = value.split()
    is_about = all(values.is_said(word) or values.is_state(word) for word in words)
    return not values.is_placeholder(value) and not is_about and not any(map(is_glue, words))


def _mixed(value: str) -> bool:
    return values.random(value) and values.is_mixed(value)


def _is_base32(value: str) -> bool:
    return (
        len(set(value)) >= 8
        and (any(map(str.isdigit, value)) or len(value) >= 26)
        and value != "JBSWY3DPEHPK3PXP"
    )


_CHECKS: Final[dict[str, Callable[[str], bool]]] = {
    "word": values.word,
    "own": values.is_own_word,
    "random": values.random,
    "drawn": values.drawn,
    "in_prose": values.in_prose,
    "strange": values.strange,
    "braced": _braced,
    "sign": _has_sign,
    "digits": _has_digits,
    "base32": _is_base32,
    "phrase": _phrase,
    "mixed": _mixed,
}
"""The checks of values by the names that stand in secret_places.txt."""


# A line of a .pgpass file, host:port:database:user:password
_PGPASS: Final = lazy_compile(
    r":(?:\d{2,5}|\*):[\w*.-]{1,60}:[\w*.-]{1,60}:(?P<secret>[^\s:\\\"'`]{4,200}?)(?=[ \t\"'`)\]},]{0,8}(?:$|\\|>|#|\"[\w:]))",
    re.MULTILINE,
)
_HOST: Final = lazy_compile(r"[\w.*-]{1,100}\Z")
_JWK: Final = lazy_compile(
    r"[\"'](?:dp?|d?q|p|qi|k)[\"'][ \t]{0,3}:[ \t]{0,3}[\"'](?P<secret>[A-Za-z0-9_-]{20,4000})"
)


@cache
def _places() -> dict[str, list[Place]]:
    """Return the places of secrets by the anchors that begin them.

    A pattern takes longer to compile than to use, so a row whose anchor is a common word says what else a text needs.
    """
    places: dict[str, list[Place]] = {}
    for kind, check, anchors, short, *needs in rows_of("secret_places.txt"):
        place = Place(kind, short, _CHECKS[check], tuple(" ".join(needs).split(" ")))
        for anchor in anchors.split("|"):
            places.setdefault(anchor, []).append(place)
    return places


def placed_secrets(text: str, folded: str, words: str) -> list[Secret]:
    """Return the secrets that their place tells.

    `folded` is the text in lower case, of the same length, and `words` has each run of letters of it once.
    """
    found: list[Secret] = []
    for anchor in standing_in(_places(), folded, words):
        for place in _places()[anchor]:
            if any(need in folded or need in text for need in place.needs):
                found += _at(text, folded, anchor, place)
    if ":" in text:
        lines = (line for line in _PGPASS.finditer(text) if _is_of_pgpass(text, line))
        found += [(*line.span("secret"), "password") for line in lines]
    if "kty" in words:
        numbers = (key for key in _JWK.finditer(text) if values.random(key["secret"]))
        found += [(*key.span("secret"), "private_key") for key in numbers]
    return found


def _is_of_pgpass(text: str, line: re.Match[str]) -> bool:
    """True for a password of such a line: any word behind a host, else one that looks drawn."""
    start = text.rfind("\n", 0, line.start()) + 1
    if _HOST.match(text, start, line.start()):
        return values.word(line["secret"])
    return values.drawn(line["secret"])


def _at(text: str, folded: str, anchor: str, place: Place) -> Iterator[Secret]:
    at = folded.find(anchor)
    pattern = compiled(place.pattern, re.IGNORECASE)
    while at >= 0:
        match = pattern.match(text, at)
        if match and place.fits(match["secret"]):
            yield (*match.span("secret"), place.kind)
        at = folded.find(anchor, at + len(anchor))
