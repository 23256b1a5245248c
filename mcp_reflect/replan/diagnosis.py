"""Why a search came back empty: what the call itself shows, and what may be and was not tested.

Weights order the strategies by plausibility; they are not measured rates. What the catalog shows weighs .8 and more.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from mcp_reflect.models.search import EmptyCause, Query, SearchRequest, Strategy
from mcp_reflect.replan.attempts import is_empty
from mcp_reflect.replan.catalog import Catalog, breadth, closing_filters
from mcp_reflect.replan.moves import MARGIN, ranked_suggestions
from mcp_reflect.replan.syntax import LITERAL, Tool, is_identifier, read_operators, tool_of
from mcp_reflect.replan.words import content, is_quoted, tokens

_HIGH_THRESHOLD: Final = 0.5  # similarity scores of good hits lie between .3 and .6 with common embeddings
_READ_WORDS: Final = 12  # the plan asks for no more either
_MANY_WORDS: Final = 4  # a search that asks for all of four words finds nothing for most questions
_FAILED: Final = 0.5  # weight of a strategy that just failed in this search


class Finding(NamedTuple):
    """One explanation of one empty table, of a weight in 0..1. `is_shown`: the call's own data proves `detail`."""

    table: str
    kind: EmptyCause
    strategy: Strategy
    weight: float
    detail: str
    is_shown: bool = False


def diagnose(request: SearchRequest, places: Catalog) -> tuple[Finding, ...]:
    """Return all findings for the empty tables, the heaviest first; ties keep the order of the queries."""
    findings = [
        Finding(query.table, *finding)
        for query in request.queries
        if is_empty(request, query.table)
        for source in (_words(query, request, places), _place(query, request, places), _conditions(query, places))
        for finding in source
    ]
    return tuple(sorted(dict.fromkeys(findings), key=lambda finding: (-finding.weight, finding.table)))


def choose(findings: Sequence[Finding], failed: Strategy | None = None) -> tuple[Strategy, ...]:
    """Return all strategies, the best first; `failed` is the one that was tried last."""

    def value(strategy: Strategy) -> float:
        weight = max((finding.weight for finding in findings if finding.strategy is strategy), default=0.05)
        return weight * (_FAILED if strategy is failed else 1.0)

    return tuple(sorted(Strategy, key=lambda strategy: (-value(strategy), strategy)))


def explain(findings: Sequence[Finding]) -> str:
    """Return the diagnosis in two sentences at most: what is shown first, and what was not tested as a guess."""
    shown = list(dict.fromkeys(finding.detail for finding in findings if finding.is_shown))[:2]
    guessed = list(dict.fromkeys(finding.detail for finding in findings if not finding.is_shown))[: 2 - len(shown)]
    sentences = [f"{detail[0].upper()}{detail[1:]}." for detail in shown]
    sentences += [f"Not tested: whether {', or whether '.join(guessed)}."] if guessed else []
    return " ".join(sentences) or "The call shows no reason why nothing was found."


_Found = tuple[EmptyCause, Strategy, float, str, bool]


def _words(query: Query, request: SearchRequest, places: Catalog) -> Iterator[_Found]:
    """Does the search tool know other words, and does the data write or use these words otherwise?"""
    offered = ranked_suggestions(request.suggestions, query.query_text, request.user_message)[:3]
    if offered:  # in recorded searches, taking them is what worked
        detail = f"the search tool suggests other words: {'; '.join(offered)}"
        yield EmptyCause.UNKNOWN_WORDS, Strategy.REWRITE, 0.9, detail, True
    tool, known = tool_of(query), places.words_of(query.table)
    reading = read_operators(query.query_text)
    words = content(reading.plain)[:_READ_WORDS]
    if tool in LITERAL:
        name = {Tool.SQL: "the statement", Tool.COMMAND: "the command"}.get(tool, "grep")
        detail = f"{name}, which compares letter by letter, misses other capitals or separators"
        yield EmptyCause.EXACT_PHRASE, Strategy.REWRITE, 0.92, detail, False
        return
    if reading.has_operators:
        yield EmptyCause.OPERATOR, Strategy.REWRITE, 0.88, "the tool reads the operators in the text otherwise", False
    matches = known.matches(words) if known.words else {}
    formed = [word for word in words if is_identifier(word) and word not in matches and tool is not Tool.WEB]
    formed = [word for word in formed if len(words) == 1 or not any(map(str.isdigit, word))]
    if formed:
        detail = f"the data writes {', '.join(formed[:3])} in another form"
        yield EmptyCause.WRITTEN_FORM, Strategy.REWRITE, 0.86, detail, False
    other = {word: match for word, match in matches.items() if match.kind and match.words}
    lacking = ", ".join(f'"{word}"' for word, match in matches.items() if not match.words)
    if other:
        written = known.written(dict.fromkeys(word for match in other.values() for word in match.words))
        kind = min(match.kind or EmptyCause.UNKNOWN_WORDS for match in other.values())
        detail = f'the vocabulary of {query.table} has "{written}" for "{" ".join(other)}"'
        yield kind, Strategy.REWRITE, 0.85, detail, True
    if lacking:
        weight = 0.6 if any(match.words for match in matches.values()) or known.near(" ".join(words)) else 0.2
        detail = f"the vocabulary of {query.table} does not have {lacking:.200}"
        yield EmptyCause.UNKNOWN_WORDS, Strategy.REWRITE, weight, detail, True


def _place(query: Query, request: SearchRequest, places: Catalog) -> Iterator[_Found]:
    """Is it the right table and mode?"""
    entry = places.entry(query.table)
    if entry is None:
        near = places.nearest(query.table)
        detail = f"the catalog has no table {query.table}" + (f"; the nearest name is {near.table}" if near else "")
        yield EmptyCause.WRONG_TABLE, Strategy.PIVOT, 1.0, detail, True
        return
    if query.search_mode and query.search_mode not in entry.search_modes:
        modes = ", ".join(entry.search_modes) or "none"
        detail = f"{query.table} has no mode {query.search_mode} (its modes: {modes})"
        yield EmptyCause.WRONG_MODE, Strategy.PIVOT, 0.9, detail, True
    if query.table != query.tool and places.described and not places.is_described(query.table):
        yield EmptyCause.WRONG_TABLE, Strategy.PIVOT, 0.5, f"the catalog has no table {query.table}", True
    elif query.table != query.tool and places.described:
        need = f"{request.user_message} {query.query_text}"
        here = places.fit(entry, need)
        best, table = max((places.fit(other, need), other.table) for other in places.described)
        if best > here + MARGIN:
            detail = f"{table} fits the question better by its description than {query.table}"
            yield EmptyCause.WRONG_TABLE, Strategy.PIVOT, min(0.95, 0.45 + 0.2 * (best - here)), detail, False


def _conditions(query: Query, places: Catalog) -> Iterator[_Found]:
    """Does it ask for too much at once?"""
    entry = places.entry(query.table)
    closing = closing_filters(query, entry)
    for name, meant in closing.items():
        values = ", ".join(map(str, entry.fields[name][:4])) if entry else ""
        detail = f"{name} has no value {query.filters[name]}; the catalog lists {meant or values}"
        if meant:
            yield EmptyCause.SPELLING, Strategy.REWRITE, 0.9, detail, True
        else:
            yield EmptyCause.TOO_MANY_CONDITIONS, Strategy.RELAX, 0.84, detail, True
    if query.filters and not closing:
        weight, names = min(0.8, 0.45 + 0.15 * len(query.filters)), " and ".join(query.filters)
        detail = f"the filter on {names} shuts everything out"
        yield EmptyCause.TOO_MANY_CONDITIONS, Strategy.RELAX, weight, detail, False
    if query.score_threshold:
        weight = 0.75 if query.score_threshold > _HIGH_THRESHOLD else 0.25
        detail = f"the threshold of {query.score_threshold:g} is too high"
        yield EmptyCause.THRESHOLD, Strategy.RELAX, weight, detail, False
    if is_quoted(query.query_text) or (query.search_mode and breadth(query.search_mode) == 0):
        yield EmptyCause.EXACT_PHRASE, Strategy.REWRITE, 0.7, "the data has other wording than the exact phrase", False
    count = len(tokens(" ".join(content(query.query_text))))
    if count > 1 and tool_of(query) not in LITERAL | {Tool.VECTOR}:
        weight = 0.6 if count >= _MANY_WORDS else 0.2 + 0.1 * count
        detail = f"the tool asks for all {count} words at once"
        yield EmptyCause.TOO_MANY_CONDITIONS, Strategy.REWRITE, weight, detail, False
