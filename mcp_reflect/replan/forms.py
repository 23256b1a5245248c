"""Other ways to write a term: separators, case, number, compounds, accents, numbers and suffixes."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from mcp_reflect.replan.words import CAMEL, STOP_WORDS, fold, other_number
from mcp_reflect.stemmer import stem

_SEPARATORS: Final = re.compile(r"[-_./:\\]+|(?<=\d) (?=\d)")
_OUTSIDE: Final = "\"'“”„«»`.,;:!?()[]{}<>"
_TICKET: Final = re.compile(r"([A-Za-z]{1,10})[-_ #]?0*(\d+)")
_VERSION: Final = re.compile(r"v?(\d+(?:\.\d+)+)", re.IGNORECASE)
_UMLAUTS: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss"})
_ANY_SEPARATOR: Final = "[-_. ]*"

_TAILS: Final = frozenset(
    """
    back bank bar base board book box boy break card check code coin date day down fall field file fit force guard head
    hold hook house key lane less line link list load lock log loop man mark mate name net note off order out over pack
    page pass path phone place plan play point pool port post print proof quake road room route runner set share sheet
    shop shot side sign site slot space spot stamp stand start stock stone stop storm sync table tag through time token
    tool track tracker type wall ware watch way wear weight wide word work worker yard zone
    """.split()
)
"""Second parts of English compounds that are also written as two words or with a hyphen."""


def terms(text: str) -> tuple[str, ...]:
    """Return the parts of a text between blanks as they are written, without the punctuation around them."""
    return tuple(term for raw in text.split() if (term := raw.strip(_OUTSIDE)))


def parts(term: str) -> tuple[str, ...]:
    """Return the words of `calculateShippingCost`, `pay-out` or `CONN_MAX_AGE`, as they are written."""
    return tuple(CAMEL.sub(" ", _SEPARATORS.sub(" ", term)).split())


def has_form(term: str) -> bool:
    """True if a term can be written otherwise: it has separators, humps, accents, or letters beside digits."""
    words = parts(term)
    if (len(words) > 1 and any(len(word) > 1 for word in words)) or fold(term) != term.lower():
        return True
    digits = sum(letter.isdigit() for letter in term)
    return 0 < digits < len(term) or term.startswith("0") or digits >= 7


def variants(term: str) -> tuple[str, ...]:
    """Return other ways to write a term that has a form, the likeliest first. Numbers keep their digits."""
    separated = tuple(_separated(term))
    likely = (*_numbers(term), *separated[:1])
    return _others(term, (*likely, *_unaccented(term), *separated[1:]))


def plain_variants(text: str) -> tuple[str, ...]:
    """Return other ways to write words without a form: parted, joined or hyphenated, in the other number, bare."""
    words = text.split()
    if len(words) == 1:
        split = _compound(words[0])
        return _others(text, (*(sign.join(split) for sign in " -_"), other_number(words[0])))
    numbers = [word if word.endswith("ed") else other_number(word) for word in words]
    plural_first = sorted(range(len(words)), key=lambda place: (not words[place].endswith("s"), -place))
    changed = [" ".join((*words[:place], numbers[place], *words[place + 1 :])) for place in plural_first]
    joined = [sign.join(words) for sign in ("-", "", "_")] if len(words) == 2 else []
    has_plural = any(word.endswith("s") for word in words)
    return _others(text, (*(changed + joined if has_plural else joined + changed), " ".join(numbers)))


def loose_pattern(text: str) -> str:
    """Return a pattern that finds the words of a text in any case, number and with any separators between them.

    Only bracket expressions and `*` are used, so basic, extended and Perl expressions read it alike.
    """
    pieces: list[str] = []
    for term in terms(text):
        for word in (half for part in parts(term) for half in _halves(part)):
            bare = word if has_form(term) else _bare(word)
            pieces.append("".join(map(_any_case, bare)) + ("[a-z]*" if bare != word else ""))
    return _ANY_SEPARATOR.join(pieces).removesuffix("[a-z]*")


def sql_pattern(value: str) -> str:
    """Return a LIKE pattern that finds a value in any case, number and with any separators."""
    words = [_bare(word.lower()) for term in terms(re.sub(r"[%*]", " ", value)) for word in parts(term)]
    return "%" + "%".join(word.replace("'", "''") for word in words) + "%"


def _numbers(term: str) -> Iterator[str]:
    """Tickets, versions, numbers without the zeros or the sign before them, and files without their folder."""
    if ticket := _TICKET.fullmatch(term):
        prefix, number = ticket.groups()
        yield from (f"{prefix}-{number}", f"{prefix}{number}", f"{prefix} {number}", term[term.index(number[0]) :])
        yield number
    elif version := _VERSION.fullmatch(term):
        yield from (version[1], f"v{version[1]}")
    elif term.lstrip("#0").isdigit():
        yield term.lstrip("#0")
    elif "/" in term:  # a file without its folder
        yield term.rsplit("/", 1)[1]


def _separated(term: str) -> Iterator[str]:
    """The words of a term in the other conventions."""
    words = [word.lower() for word in parts(term)]
    if len(words) < 2 or _VERSION.fullmatch(term):
        return
    snake, kebab, joined, spaced = (sign.join(words) for sign in ("_", "-", "", " "))
    camel = _camel(words)
    if all(word.isdigit() for word in words):
        yield from (joined, spaced, kebab)
        return
    if "_" in term:
        yield from (camel, snake if term.isupper() else snake.upper())
    else:
        yield from (snake, joined, spaced, camel)
    if len(words) > 2:  # without the first word
        yield from (_camel(words[1:]), " ".join(words[1:]))
    yield from (spaced, kebab, camel, snake, camel[:1].upper() + camel[1:], snake.upper(), joined)


def _unaccented(term: str) -> Iterator[str]:
    """`Größl` as `Groessl` and `Grossl`."""
    if not term.isascii():
        yield term.translate(_UMLAUTS)
        yield "".join(fold(letter).upper() if letter.isupper() else fold(letter) for letter in term)


def _compound(word: str) -> tuple[str, ...]:
    """The two words that a compound is made of, by a usual second part; else ()."""
    singular = other_number(word) if word.endswith("s") else word
    for cut in range(len(singular) - 2, 2, -1):
        if singular[cut:] in _TAILS and singular[:cut] not in STOP_WORDS:
            return singular[:cut], word[cut:]
    return ()


def _halves(word: str) -> tuple[str, ...]:
    """A word of one case as the two parts of a compound, else as it is."""
    compound = _compound(word.lower()) if word.isalpha() else ()
    return (word[: len(compound[0])], word[len(compound[0]) :]) if compound else (word,)


def _camel(words: list[str]) -> str:
    return words[0] + "".join(map(str.capitalize, words[1:]))


def _bare(word: str) -> str:
    """A word without its plural ending, or its `-ing`: the beginning that its forms share."""
    if len(word) < 4 or not word.isalpha():
        return word
    start = stem(word)
    return word[: len(start)] if word.lower().startswith(start) and len(start) > 2 else word.removesuffix("s")


def _any_case(letter: str) -> str:
    if letter.isalpha() and letter.lower() != letter.upper() and len(letter.upper()) == 1:
        return f"[{letter.lower()}{letter.upper()}]"
    return letter if letter.isalnum() or letter in "_-/: ," else f"[{letter}]" if letter not in "^\\]" else "."


def _others(text: str, forms: Iterable[str]) -> tuple[str, ...]:
    """The forms that differ from the text, each once."""
    return tuple(dict.fromkeys(form for form in forms if form.strip() and form != text))
