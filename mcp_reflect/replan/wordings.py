"""Other words for a search, for each kind of tool, the likeliest first."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from mcp_reflect.replan.catalog import Vocabulary
from mcp_reflect.replan.forms import has_form, loose_pattern, parts, plain_variants, terms, variants
from mcp_reflect.replan.syntax import Reading, Tool, has_regex, literals, read_operators
from mcp_reflect.replan.words import OTHER_STOP_WORDS, STOP_WORDS, content, fold, telling, tokens, unquoted
from mcp_reflect.stemmer import stem

_PLACE: Final = 0.05  # cost of a place further down the tool's list: a tool orders by likeness
_LENGTH: Final = 0.03  # cost of a word more: a short text finds the longer ones as well
_FOUND: Final = 0.3  # cost of having all words of an earlier suggestion, which finds it too
_READ: Final = 50  # suggestions read; tools propose ten or so
"""The first three were set on the development episodes, in the middle of a flat stretch, not at its peak."""

_OFFERED: Final = 2  # suggestions before our own words: bad ones must not take all three places
_MOST_WORDS: Final = 12  # a text of more words is a document; search engines weigh the rest as noise
_SHORT: Final = 3  # words of a text in which the form of each word decides
_QUESTION: Final = re.compile(
    r"^(?:please\s+)?(?:(?:how|what|where|when|who|which|why|can|could|do|does|did|is|are|was|were|should|would|will)\b\s*)"
    r"(?:(?:do|does|did|can|could|should|would|is|are|was|were|i|we|you|one|the|there|an|a|my|our|your|of|to)\b\s*)*",
    re.IGNORECASE,
)


def wordings(
    text: str, message: str, known: Vocabulary, suggestions: tuple[str, ...] = (), tool: Tool = Tool.TEXT
) -> Iterator[str]:
    """Yield other wordings of a failed text that the tool can take, the likeliest first. Some may be empty or equal."""
    is_pattern = tool is Tool.PATTERN
    texts = _patterns(text, message, known) if is_pattern else _texts(text, message, known, suggestions, tool)
    accented = {fold(word): word for word in re.findall(r"[^\W_]+", f"{message} {text}") if not word.isascii()}
    for line in texts:
        yield " ".join(dict.fromkeys(accented.get(word, word) for word in line.split())) if accented else line


def ranked_suggestions(suggestions: tuple[str, ...], text: str, message: str) -> tuple[str, ...]:
    """Return the suggestions, best first: like the text that was searched, with words of the message that it lacks.

    A suggestion of the very words that failed is left out; of equal ones the first stays.
    """
    wanted, asked, failed = _stems(text), _stems(message), set(tokens(text))
    rest: dict[tuple[str, ...], tuple[float, str]] = {}
    for place, suggestion in enumerate(suggestions[:_READ]):
        own = _stems(suggestion)
        score = len(own & wanted) / max(1, len(own | wanted)) + len((own & asked) - wanted) / max(1, len(own))
        if set(tokens(suggestion)) not in (failed, set()):
            rest.setdefault(tokens(suggestion), (score - _PLACE * place - _LENGTH * len(own), suggestion.strip()))
    picked: list[str] = []
    while rest:
        covered = [_stems(suggestion) for suggestion in picked]
        best = max(rest, key=lambda key: rest[key][0] - _FOUND * any(c <= _stems(rest[key][1]) for c in covered))
        picked.append(rest.pop(best)[1])
    return tuple(picked)


def _patterns(text: str, message: str, known: Vocabulary) -> Iterator[str]:
    """A text for grep in other forms and without what grep does not read, then shorter parts of it."""
    reading = read_operators(text)
    if has_regex(text) and not reading.has_operators:
        yield from literals(text)
        return
    plain = reading.plain or message
    written = terms(plain)
    formed = [term for term in written if has_form(term)]
    if reading.has_operators:
        yield from reading.groups or (plain,)
    yield loose_pattern(plain)
    for term in formed:
        yield loose_pattern(term)
        yield term
    yield from _known_entries(written, known)
    words = [part for term in written for part in parts(term) if fold(part) not in STOP_WORDS and len(part) > 2]
    ranked = [loose_pattern(word) for word in sorted(words, key=lambda word: -len(word))]
    yield from ranked[:2]
    yield from map(loose_pattern, telling(content(message), message))


def _known_entries(words: Iterable[str], known: Vocabulary) -> Iterator[str]:
    """The entries of the vocabulary that hold the word put right, or are near it in meaning, as they are written."""
    for word in words:
        mended = known.mended(fold(word)).words
        yield from (entry for other in mended if other != fold(word) and (entry := known.entry_of(other)))
        if not mended:
            yield from known.near(word)


def _texts(text: str, message: str, known: Vocabulary, suggestions: tuple[str, ...], tool: Tool) -> Iterator[str]:
    """What the tool suggests, the text without its operators, its terms in other forms, more of it, less of it.

    A mode's name does not tell whether the engine takes any word or asks for all, so both get their share of
    the first three: the longer wording ranks better in the one, the shorter ones find more in the other.
    """
    reading = read_operators(text)
    plain = reading.plain or unquoted(text) or message
    offered = ranked_suggestions(suggestions, plain, message)
    words, asked = content(plain)[:_MOST_WORDS], content(message)[:_MOST_WORDS]
    mended = tuple(dict.fromkeys(part for word in words for part in known.mended(word).words)) or words
    more = tuple(part for word in asked for part in known.mended(word).words) if known.words else asked
    # A word of both stands twice: it is what the search is about, and most rankings weigh it so.
    longer = " ".join((plain, *more)) if set(more) - set(mended) else ""
    families = tuple(_families(plain, known))
    is_single = len(words) == 1 and len(more) <= _SHORT and not families
    if is_single:
        longer = " ".join(dict.fromkeys((*mended, *more))) if set(map(stem, more)) - set(map(stem, mended)) else ""
    rest = telling(tuple(word for word in asked if known.knows(word) or not known.words), message)[:3]
    yield from offered[:_OFFERED]
    if offered:
        yield longer
        yield from offered[_OFFERED:]
    yield from _without_operators(text, reading, tool)
    if tool is Tool.VECTOR:
        yield _QUESTION.sub("", plain).rstrip("?. ")
    if len(content(plain)) <= _SHORT:
        yield from families
    if known.words and not any(known.mended(word).words for word in words):
        yield from known.near(" ".join(words))
    if set(mended) - set(tokens(plain)):
        yield " ".join(mended)
    is_english = f"{text}{message}".isascii() and not OTHER_STOP_WORDS & set(tokens(f"{text} {message}"))
    is_short = len(plain.split()) <= _SHORT and plain.islower()
    short = plain_variants(plain) if is_short and is_english else ()
    if is_single and longer:
        yield from (longer, *rest)  # better than the same word in the other number
    yield from short[: 2 if len(words) == 1 else 1]
    yield longer
    yield from telling(mended, message)[:1]
    yield " ".join(mended)
    yield from short
    yield from families
    yield from rest


def _without_operators(text: str, reading: Reading, tool: Tool) -> Iterator[str]:
    """The text with operators that failed left out: phrases as words, alternatives each, scopes last."""
    if not reading.has_operators:
        alternatives = re.split(r"\s+or\s+", text)
        if len(alternatives) > 1 and len(text.split()) <= _SHORT + 1:
            yield " OR ".join(alternatives)
            yield from alternatives
    elif reading.plain != unquoted(text):
        if tool is Tool.WEB and reading.scopes:
            scope = " ".join(reading.scopes)
            yield f"{reading.plain} {scope}" if reading.plain not in text else ""
            yield " ".join((*telling(content(reading.plain))[:_SHORT], scope))
        yield reading.plain
        yield from reading.groups


def _families(plain: str, known: Vocabulary) -> Iterator[str]:
    """The terms of a text that have a form: one alone in its other forms, several each alone."""
    written = terms(plain)
    for term in written:
        if not has_form(term) or known.knows(fold(term)):
            continue
        forms = variants(term)
        yield from forms if len(written) == 1 else (*forms[:1], term)


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in content(text))
