"""Why a search came back empty, in words for developers, for the person who waits, and for the caller, who may write.

Weights order the strategies by plausibility; they are not measured rates. What the call itself shows weighs .8 or more.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final, NamedTuple

from mcp_reflect.models.search import EmptyCause, Query, SearchRequest, Strategy
from mcp_reflect.replan.attempts import is_empty
from mcp_reflect.replan.catalog import Catalog, breadth, closing_filters
from mcp_reflect.replan.moves import MARGIN, ranked_suggestions
from mcp_reflect.replan.syntax import LITERAL, Tool, tool_of, without_operators
from mcp_reflect.replan.words import Vocabulary, content, is_quoted, tokens

_HIGH_THRESHOLD: Final = (
    0.5  # similarity scores of good hits lie between .3 and .6 with common embeddings
)
_READ_WORDS: Final = 12  # the plan asks for no more either
_MANY_WORDS: Final = 4  # a search that asks for all of four words finds nothing for most questions
_QUOTES: Final = '"“”„«»'
_LISTED: Final = 15  # entries of a vocabulary that a note to the caller lists


class Finding(NamedTuple):
    """One explanation of one empty table, of a weight in 0..1; `cause` where the call's own data proves `detail`."""

    strategy: Strategy
    weight: float
    detail: str
    cause: EmptyCause | None = None


def diagnose(request: SearchRequest, places: Catalog) -> tuple[Finding, ...]:
    """Return all findings for the empty tables, the heaviest first; ties keep the order of the queries."""
    empty = [query for query in request.queries if is_empty(request, query.table)]
    parts = (_words, _place, _conditions)
    findings = [
        finding for query in empty for part in parts for finding in part(query, request, places)
    ]
    return tuple(sorted(dict.fromkeys(findings), key=lambda finding: -finding.weight))


def choose(findings: Sequence[Finding]) -> tuple[Strategy, ...]:
    """Return all strategies, that of the heaviest finding first."""
    weights = {finding.strategy: finding.weight for finding in reversed(findings)}
    return tuple(sorted(Strategy, key=lambda strategy: (-weights.get(strategy, 0.0), strategy)))


def explain(findings: Sequence[Finding]) -> str:
    """Return the diagnosis in two sentences at most: what is shown first, and what was not tested as a guess."""
    shown = list(dict.fromkeys(finding.detail for finding in findings if finding.cause))[:2]
    guessed = list(dict.fromkeys(finding.detail for finding in findings if not finding.cause))[
        : 2 - len(shown)
    ]
    sentences = [f"{detail[0].upper()}{detail[1:]}." for detail in shown]
    sentences += [f"Not tested: whether {', or whether '.join(guessed)}."] if guessed else []
    return " ".join(sentences) or "The call shows no reason why nothing was found."


def _words(query: Query, request: SearchRequest, places: Catalog) -> Iterator[Finding]:
    """Does the search tool know other words, and does the data write or use these words otherwise?"""
    if offered := ranked_suggestions(request.suggestions, query.query_text, request.user_message)[
        :3
    ]:
        detail = f"the search tool suggests other words: {'; '.join(offered)}"
        yield Finding(Strategy.REWRITE, 0.9, detail, EmptyCause.UNKNOWN_WORDS)
    known = places.words_of(query.table)
    if tool_of(query) in LITERAL:
        detail = "other capitals or signs hide it, since the tool compares letter by letter"
        if tool_of(query) is Tool.SQL and re.search(r"\band\b|\d", query.query_text, re.IGNORECASE):
            detail = "a value is written otherwise, or no row meets all conditions (words, dates, numbers) at once"
        yield Finding(Strategy.REWRITE, 0.92, detail)
        return
    plain = without_operators(query.query_text)
    words = content(plain)[:_READ_WORDS]
    matches = known.matches(words) if known.words else {}
    if other := {term: found for term, found in matches.items() if found and found != tokens(term)}:
        written = known.written(word for found in other.values() for word in found)
        detail = f'the vocabulary of {query.table} has "{written}" for "{" ".join(other)}"'
        yield Finding(Strategy.REWRITE, 0.85, detail, EmptyCause.UNKNOWN_WORDS)
    if lacking := ", ".join(
        f'"{term.strip(_QUOTES)}"' for term, found in matches.items() if not found
    ):
        weight = 0.6 if any(matches.values()) else 0.2
        detail = f"the vocabulary of {query.table} does not have {lacking:.200}, so that may not be there"
        yield Finding(Strategy.REWRITE, weight, detail, EmptyCause.UNKNOWN_WORDS)


def _place(query: Query, request: SearchRequest, places: Catalog) -> Iterator[Finding]:
    """Is it the right table and mode?"""
    entry, table = places.entry(query.table), query.table
    if entry is None:
        near = places.nearest(table)
        detail = f"the catalog has no table {table}" + (
            f"; the nearest name is {near.table}" if near else ""
        )
        yield Finding(Strategy.PIVOT, 1.0, detail, EmptyCause.WRONG_TABLE)
        return
    if query.search_mode and query.search_mode not in entry.search_modes:
        modes = ", ".join(entry.search_modes) or "none"
        detail = f"{table} has no mode {query.search_mode} (its modes: {modes})"
        yield Finding(Strategy.PIVOT, 0.9, detail, EmptyCause.WRONG_MODE)
    if table == query.tool or not places.described:
        return
    if not places.is_described(table):
        yield Finding(
            Strategy.PIVOT, 0.5, f"the catalog has no table {table}", EmptyCause.WRONG_TABLE
        )
        return
    need = f"{request.user_message} {query.query_text}"
    best, other = max((places.fit(other, need), other.table) for other in places.described)
    if (better := best - places.fit(entry, need)) > MARGIN:
        detail = f"{other} fits the question better by its description than {table}"
        yield Finding(Strategy.PIVOT, min(0.95, 0.45 + 0.2 * better), detail)


def _conditions(query: Query, _: SearchRequest, places: Catalog) -> Iterator[Finding]:
    """Does it ask for too much at once?"""
    entry = places.entry(query.table)
    closing = closing_filters(query, entry)
    matches = places.words_of(query.table).matches(content(query.query_text)[:_READ_WORDS]).values()
    is_partly_known = any(matches) and not all(matches)
    for name, meant in closing.items():
        values = ", ".join(map(str, entry.fields[name][:4])) if entry else ""
        detail = f"{name} has no value {query.filters[name]}; the catalog lists {meant or values}"
        strategy, weight = (
            (Strategy.REWRITE, 0.9) if meant or is_partly_known else (Strategy.RELAX, 0.84)
        )
        yield Finding(strategy, weight, detail, EmptyCause.TOO_MANY_CONDITIONS)
    if query.filters and not closing:
        detail = f"the filter on {' and '.join(query.filters)} shuts everything out"
        yield Finding(Strategy.RELAX, min(0.8, 0.45 + 0.15 * len(query.filters)), detail)
    if query.score_threshold:
        weight = 0.75 if query.score_threshold > _HIGH_THRESHOLD else 0.25
        yield Finding(
            Strategy.RELAX, weight, f"the threshold of {query.score_threshold:g} is too high"
        )
    if is_quoted(query.query_text) or (query.search_mode and breadth(query.search_mode) == 0):
        yield Finding(Strategy.REWRITE, 0.7, "the data has other wording than the exact phrase")
    count = len(content(without_operators(query.query_text)))
    is_lexical = breadth(f"{query.search_mode} {query.tool}") < breadth("vector")
    if count > 1 and is_lexical and tool_of(query) not in LITERAL:
        weight = 0.6 if count >= _MANY_WORDS else 0.2 + 0.1 * count
        yield Finding(Strategy.REWRITE, weight, f"the tool asks for all {count} words at once")


# What is said to the person who waits


_TECHNICAL: Final = frozenset(
    """
    api boolean bm25 catalog catalogue config database dataset embedding embeddings endpoint faceted facet facets
    filter filters fts fuzzy id idx index json keyword keywords lexical limit llm master mode modes null parameter
    parameters pivot query queries regex relax replan retry retries rewrite row rows schema score semantic
    similarity sql sqlite string syntax tab table tables tbl threshold timeout token tokens tool vector vocabulary
    """.split()
)
GAVE_UP: Final = (
    "I looked in several ways and found nothing that fits. "
    "Could you tell me a bit more about what you need, or shall I look for something close to it?"
)
ASKS: Final = "I found nothing that fits. Could you tell me a bit more about what you need?"
FOUND: Final = "I found something for you; there is no need to look again."


def message_of(
    strategy: Strategy, new: Collection[Query], empty: Collection[str], cause: EmptyCause
) -> str:
    """Return the sentence for the person who waits while these queries run."""
    elsewhere = next((query.table for query in new if query.table not in empty), None)
    if strategy is Strategy.PIVOT and elsewhere is not None:
        return f"Nothing came up there, so let me look {place_in_words(elsewhere)} instead."
    if strategy is not Strategy.REWRITE:
        return "Let me broaden my search a little and look again."
    if cause is EmptyCause.UNKNOWN_WORDS:
        return "Nothing came up for that wording, so let me try the words that are more usual here."
    return "Nothing matched exactly, so let me look for it in broader words."


def is_friendly(message: str, asked: str = "") -> bool:
    """Return whether a text is one or two sentences, at most 300 characters, without names, markup and jargon.

    Words that the person used in `asked` are allowed: whoever asked for a dark mode may read "mode".
    """
    text = message.strip()
    sentences = [part for part in re.split(r"(?<=[.!?])\s+", text) if part]
    technical = set(tokens(text)) & _TECHNICAL - set(tokens(asked))
    return (
        0 < len(text) <= 300
        and len(sentences) <= 2
        and not technical
        and "_" not in text
        and "{" not in text
    )


def place_in_words(table: str) -> str:
    """Return a table's name as a place in a sentence; `in another place` for names that no person would use."""
    words = tokens(table.replace("_", " "))
    natural = 0 < len(words) <= 3 and all(word.isalpha() and len(word) > 2 for word in words)
    if not natural or not _TECHNICAL.isdisjoint(words):
        return "in another place"
    return (
        f"among the {' '.join(words)}"
        if words[-1].endswith("s")
        else f"in the {' '.join(words)} section"
    )


# What the caller can write where rules have no good words


_ADVICE: Final = {
    Tool.SQL: "the condition with a value that the column has; SELECT DISTINCT shows them",
    Tool.PATTERN: "another name that a programmer may have used, or a word of a message or comment near it",
    Tool.COMMAND: "a shorter pattern or another name for it, without the restrictions on files and folders",
    Tool.WEB: "the thing itself in two to four words, as a page about it would say it",
}


def to_write(query: Query, message: str, known: Vocabulary) -> str:
    """Return what the caller can write."""
    if not known.words:
        said = "the same in other words, as the data may say it; a catalog with a vocabulary would show them"
        return _ADVICE.get(tool_of(query), said)
    matches = known.matches(content(query.query_text or message))
    lacking = [f'"{term.strip(_QUOTES)}"' for term, found in matches.items() if not found][:3]
    wanted = f"another word for {', '.join(lacking)}" if lacking else "other words"
    listed = ", ".join(known.entries[:_LISTED])
    return f"{wanted} from the vocabulary of {query.table} and in its language: {listed:.400}"


def elsewhere(query: Query, message: str, places: Catalog) -> str:
    """Return what other tables have where the vocabulary of this one lacks words of the search; else nothing."""
    if all(
        places.words_of(query.table)
        .matches(content(query.query_text or message)[:_READ_WORDS])
        .values()
    ):
        return ""
    others = [
        entry for entry in places.described if entry.table != query.table and entry.vocabulary
    ][:3]
    return "; ".join(
        f"{entry.table} ({', '.join(entry.vocabulary[:_LISTED]):.200})" for entry in others
    )
