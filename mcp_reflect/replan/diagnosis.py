"""Why a search came back empty, in words for developers.

The weights of explanations, 0 to 1, order the strategies by plausibility. They are chosen, not measured: what the call
itself shows weighs .8 or more, what is only likely .6, and what is a mere possibility less.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from mcp_reflect.models.search import CatalogEntry, EmptyCause, Query, SearchRequest, Strategy
from mcp_reflect.replan.attempts import is_empty
from mcp_reflect.replan.catalog import Catalog, breadth, impossible_filters
from mcp_reflect.replan.moves import MARGIN
from mcp_reflect.replan.syntax import LITERAL, Tool, tool_of, without_operators
from mcp_reflect.replan.wordings import ranked_suggestions
from mcp_reflect.replan.words import MOST_WORDS, content, is_quoted, tokens, without_quotes

_HIGH_THRESHOLD: Final = 0.5
"""A threshold above which few good hits lie: they have .3 to .6 with common embeddings."""

_MANY_WORDS: Final = 4
"""A search that asks for all of so many words finds nothing for most questions."""

_SHOWN_REASONS: Final = 2
_SHOWN_SUGGESTIONS: Final = 3
_SHOWN_VALUES: Final = 4
_LONGEST_LIST: Final = 200
"""Characters of a list of words."""


class Explanation(NamedTuple):
    """One explanation why a table is empty: what to do about it, how likely it is (`weight`, 0 to 1), and in words.

    `cause` is set where the call itself proves the explanation, None where it is only possible.
    """

    strategy: Strategy
    weight: float
    detail: str
    cause: EmptyCause | None = None


def diagnose(request: SearchRequest, catalog: Catalog) -> tuple[Explanation, ...]:
    """Return all findings for the empty tables, the heaviest first; ties keep the order of the queries."""
    findings: list[Explanation] = []
    for query in request.queries:
        if is_empty(request, query.table):
            findings += _about_words(query, request, catalog)
            findings += _about_table(query, request, catalog)
            findings += _about_conditions(query, catalog)
    return tuple(sorted(dict.fromkeys(findings), key=lambda finding: -finding.weight))


def choose(findings: Sequence[Explanation]) -> tuple[Strategy, ...]:
    """Return all strategies, that of the heaviest finding first; `findings` are sorted so."""
    # Reversed, so that the heaviest finding of a strategy is the last to set its weight.
    weights = {finding.strategy: finding.weight for finding in reversed(findings)}
    return tuple(sorted(Strategy, key=lambda strategy: (-weights.get(strategy, 0.0), strategy)))


def explain(findings: Sequence[Explanation]) -> str:
    """Return the diagnosis in two sentences at most: what the call shows, then what may be and was not tested.

    For example "The catalog has no table doc. Not tested: whether the threshold of 0.8 is too high."
    """
    shown = dict.fromkeys(finding.detail for finding in findings if finding.cause)
    guessed = dict.fromkeys(finding.detail for finding in findings if not finding.cause)
    reasons = list(shown)[:_SHOWN_REASONS]
    guesses = list(guessed)[: _SHOWN_REASONS - len(reasons)]
    sentences = [f"{detail[0].upper()}{detail[1:]}." for detail in reasons]
    if guesses:
        sentences.append(f"Not tested: whether {', or whether '.join(guesses)}.")
    return " ".join(sentences) or "The call shows no reason why nothing was found."


# Does the search tool know other words, and does the data write or use these words otherwise?


def _about_words(query: Query, request: SearchRequest, catalog: Catalog) -> Iterator[Explanation]:
    """Yield why the words of a query may find nothing: by what the tool suggests, how it compares, or the vocabulary."""
    suggestions = ranked_suggestions(request.suggestions, query.query_text, request.user_message)
    if suggestions:
        listed = "; ".join(suggestions[:_SHOWN_SUGGESTIONS])
        detail = f"the search tool suggests other words: {listed}"
        yield Explanation(Strategy.REWRITE, 0.9, detail, EmptyCause.UNKNOWN_WORDS)
    if tool_of(query) in LITERAL:
        yield Explanation(Strategy.REWRITE, 0.92, _why_literal(query))
    else:
        yield from _about_vocabulary(query, catalog)


def _why_literal(query: Query) -> str:
    """Return why a tool that compares letter by letter (SQL, grep) may find nothing."""
    is_statement = tool_of(query) is Tool.SQL
    if is_statement and re.search(r"\band\b|\d", query.query_text, re.IGNORECASE):
        return (
            "a value is written otherwise, "
            "or no row meets all conditions (words, dates, numbers) at once"
        )
    return "other capitals or signs hide it, since the tool compares letter by letter"


def _about_vocabulary(query: Query, catalog: Catalog) -> Iterator[Explanation]:
    """Yield what the vocabulary of a table shows: terms that it writes otherwise, and terms that it does not have.

    A vocabulary need not be whole: so a term that it does not have may be in the data all the same.
    """
    vocabulary = catalog.words_of(query.table)
    if not vocabulary.words:
        return
    searched = content(without_operators(query.query_text))[:MOST_WORDS]
    matches = vocabulary.matches(searched)
    terms_written_otherwise: list[str] = []
    words_of_the_data: list[str] = []
    for term, words in matches.items():
        if words and words != tokens(term):
            terms_written_otherwise.append(term)
            words_of_the_data += words
    if terms_written_otherwise:
        written = vocabulary.written(words_of_the_data)
        detail = f'the vocabulary of {query.table} has "{written}" for "{" ".join(terms_written_otherwise)}"'
        yield Explanation(Strategy.REWRITE, 0.85, detail, EmptyCause.UNKNOWN_WORDS)
    lacking = [f'"{without_quotes(term)}"' for term, words in matches.items() if not words]
    if lacking:
        has_other_words = any(matches.values())
        weight = 0.6 if has_other_words else 0.2
        listed = ", ".join(lacking)[:_LONGEST_LIST]
        detail = f"the vocabulary of {query.table} does not have {listed}, so that may not be there"
        yield Explanation(Strategy.REWRITE, weight, detail, EmptyCause.UNKNOWN_WORDS)


# Is it the right table and mode?


def _about_table(query: Query, request: SearchRequest, catalog: Catalog) -> Iterator[Explanation]:
    """Yield what is wrong with the table or the mode of a query.

    | the query                                                 | is explained by                       | weight     |
    |-----------------------------------------------------------|---------------------------------------|------------|
    | names a table that is nowhere                             | the table, with the nearest name      | 1.0        |
    | names a mode that its table has not                       | the mode                              | 0.9        |
    | names a table that was searched, but no catalog describes | the table                             | 0.5        |
    | names a described table, and another one fits better      | the other table                       | up to 0.95 |

    Where the caller has no tables, a query is named by its tool: then no table is wrong.
    """
    entry = catalog.entry(query.table)
    if entry is None:
        detail = _no_such_table(query.table)
        near = catalog.nearest(query.table)
        if near:
            detail += f"; the nearest name is {near.table}"
        yield Explanation(Strategy.PIVOT, 1.0, detail, EmptyCause.WRONG_TABLE)
        return
    if query.search_mode and query.search_mode not in entry.search_modes:
        modes = ", ".join(entry.search_modes) or "none"
        detail = f"{query.table} has no mode {query.search_mode} (its modes: {modes})"
        yield Explanation(Strategy.PIVOT, 0.9, detail, EmptyCause.WRONG_MODE)
    is_named_by_tool = query.table == query.tool
    if is_named_by_tool or not catalog.described:
        return
    if catalog.is_described(query.table):
        yield from _about_fit(query, entry, request, catalog)
    else:
        detail = _no_such_table(query.table)
        yield Explanation(Strategy.PIVOT, 0.5, detail, EmptyCause.WRONG_TABLE)


def _no_such_table(table: str) -> str:
    """Return the words for a table that the catalog does not have."""
    return f"the catalog has no table {table}"


def _about_fit(
    query: Query, entry: CatalogEntry, request: SearchRequest, catalog: Catalog
) -> Iterator[Explanation]:
    """Yield that another table fits the question better by its description, if one does."""
    need = f"{request.user_message} {query.query_text}"
    tables = [(catalog.relevance(other, need), other.table) for other in catalog.described]
    best_relevance, best_table = max(tables)
    advantage = best_relevance - catalog.relevance(entry, need)
    if advantage > MARGIN:
        detail = f"{best_table} fits the question better by its description than {query.table}"
        yield Explanation(Strategy.PIVOT, min(0.95, 0.45 + 0.2 * advantage), detail)


# Does it ask for too much at once?


def _about_conditions(query: Query, catalog: Catalog) -> Iterator[Explanation]:
    """Yield which conditions of a query may shut everything out, each with what to do about it.

    | the query has                                      | weight         | what to do       |
    |----------------------------------------------------|----------------|------------------|
    | filters for values that the catalog does not list  | `_about_values` | rewrite or relax |
    | other filters                                      | 0.6 to 0.8     | relax            |
    | a threshold, above 0.5 or not                      | 0.75 or 0.25   | relax            |
    | a quoted phrase, or a mode for exact words         | 0.7            | rewrite          |
    | several words in a keyword search                  | `_about_word_count` | rewrite     |
    """
    entry = catalog.entry(query.table)
    impossible = impossible_filters(query, entry)
    if entry and impossible:
        yield from _about_values(query, entry, impossible, catalog)
    elif query.filters:
        detail = f"the filter on {' and '.join(query.filters)} shuts everything out"
        yield Explanation(Strategy.RELAX, min(0.8, 0.45 + 0.15 * len(query.filters)), detail)
    if query.score_threshold:
        is_high = query.score_threshold > _HIGH_THRESHOLD
        weight = 0.75 if is_high else 0.25
        detail = f"the threshold of {query.score_threshold:g} is too high"
        yield Explanation(Strategy.RELAX, weight, detail)
    is_exact_mode = query.search_mode and breadth(query.search_mode) == 0
    if is_quoted(query.query_text) or is_exact_mode:
        yield Explanation(Strategy.REWRITE, 0.7, "the data has other wording than the exact phrase")
    yield from _about_word_count(query)


def _about_values(
    query: Query, entry: CatalogEntry, impossible: dict[str, str | None], catalog: Catalog
) -> Iterator[Explanation]:
    """Yield the filters for values that the catalog does not list.

    | the filter                                            | what to do                                    |
    |-------------------------------------------------------|-----------------------------------------------|
    | is like a listed value (`state=Opened` of "open")     | rewrite the query with that value             |
    | is not, and the data has only some words of the text  | rewrite it: the other words may be the cause  |
    | is not, in any other case                             | relax: run it without the filter              |
    """
    searched = content(query.query_text)[:MOST_WORDS]
    matches = catalog.words_of(query.table).matches(searched).values()
    has_some_words = any(matches) and not all(matches)
    for name, meant in impossible.items():
        values = ", ".join(map(str, entry.fields[name][:_SHOWN_VALUES]))
        detail = f"{name} has no value {query.filters[name]}; the catalog lists {meant or values}"
        if meant or has_some_words:
            yield Explanation(Strategy.REWRITE, 0.9, detail, EmptyCause.TOO_MANY_CONDITIONS)
        else:
            yield Explanation(Strategy.RELAX, 0.84, detail, EmptyCause.TOO_MANY_CONDITIONS)


def _about_word_count(query: Query) -> Iterator[Explanation]:
    """Yield that a keyword search asks for all of several words at once: the more, the likelier it finds nothing."""
    count = len(content(without_operators(query.query_text)))
    mode_and_tool = f"{query.search_mode} {query.tool}"
    is_keyword_search = breadth(mode_and_tool) < breadth("vector")  # a narrower kind of search
    if count < 2 or not is_keyword_search or tool_of(query) in LITERAL:
        return
    weight = 0.2 + 0.1 * count
    if count >= _MANY_WORDS:
        weight = 0.6
    yield Explanation(Strategy.REWRITE, weight, f"the tool asks for all {count} words at once")
