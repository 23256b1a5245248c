"""A failed search as a call describes it: which queries found nothing, why, and whether a plan can still help."""

from collections.abc import Sequence
from functools import cached_property
from typing import Final

from mcp_reflect.models.search import (
    EmptyCause,
    OpenMove,
    Query,
    SearchPlan,
    SearchRequest,
    SearchState,
    Strategy,
    Tried,
)
from mcp_reflect.replan import attempts, diagnosis, messages
from mcp_reflect.replan.advice import what_to_write, words_elsewhere
from mcp_reflect.replan.catalog import Catalog, in_table
from mcp_reflect.replan.words import stems

MOST_QUERIES: Final = 3
"""New queries for an empty table: a person waits for them all."""

_ASK: Final = OpenMove(move="ask", write="one question to the person: which part matters most?")
_FEW_ATTEMPTS: Final = 2  # after so many, nobody can say "in several ways"
_LISTED_ATTEMPTS: Final = 20
_LISTED_TABLES: Final = 3


class FailedSearch:
    """A failed search: what a call says of it, and what that shows. `earlier` is the state before this call."""

    def __init__(self, request: SearchRequest, earlier: SearchState) -> None:
        self.request = request
        self.state = attempts.observe(earlier, request)
        self.catalog = Catalog(request)
        self.findings = diagnosis.diagnose(request, self.catalog)
        self.failed = tuple(
            query for query in request.queries if attempts.is_empty(request, query.table)
        )
        self._earlier = earlier

    @cached_property
    def is_found(self) -> bool:
        """True where no table is empty, or where a search that was given up has found something after all."""
        if self.request.queries and not self.failed:
            return True
        pending = self._earlier.pending
        was_given_up = pending is not None and pending.give_up
        rows_by_table = self.request.results or {}
        return was_given_up and any(rows_by_table.values())

    @cached_property
    def is_over(self) -> bool:
        """True where no retry is left.

        A first call with `retry_count` 1 of at most 1 still gets a plan, since some callers count from 1. Later calls
        are known to come one retry after the last.
        """
        is_first_call = not self._earlier.tried
        retries = self.state.retry_count
        if not is_first_call:
            retries += 1
        return retries > self.request.max_retries

    @property
    def is_open(self) -> bool:
        """True where a plan can help: something is empty, and a retry is left."""
        return not self.is_over and not self.is_found

    @cached_property
    def tried(self) -> tuple[Tried, ...]:
        """What was tried. A query without a mode is there twice, as it was sent and in the mode that its table took."""
        tried = list(self.state.tried)
        for query in self.failed:
            if not query.search_mode:
                ran = in_table(query, self.catalog.entry(query.table))
                tried.append(Tried(query=ran))
        return tuple(tried)

    def can_run(self, query: Query) -> bool:
        """Return True if the table and mode exist and the query asks for something."""
        entry = self.catalog.entry(query.table)
        if entry is None:
            return False
        has_mode = query.search_mode in (entry.search_modes or ("",))
        return has_mode and bool(query.query_text.strip() or query.filters)

    def message_for(self, query: Query) -> str:
        """Return the person's message without words that only the queries of other tables ask for.

        A plan that searches several tables divides the question among them.
        """
        message = self.request.user_message
        words_of_others: set[str] = set()
        for other in self.request.queries:
            if other.table != query.table:
                words_of_others |= stems(other.query_text)
        words_only_of_others = words_of_others - stems(query.query_text)
        if not words_only_of_others:
            return message
        words = [word for word in message.split() if words_only_of_others.isdisjoint(stems(word))]
        return " ".join(words)

    # The answer

    def plan_of(
        self, strategy: Strategy, new: tuple[Query, ...], *, reasoning: str = ""
    ) -> SearchPlan:
        """Return the plan with these queries (`new`), and what is said of it.

        | the search             | the plan says to developers (`reasoning`)      | to the person            |
        |------------------------|------------------------------------------------|--------------------------|
        | found something        | that there is nothing to plan                  | that something was found |
        | has new queries        | the `reasoning` of a proposal, else the causes | what is searched now     |
        | has none: is given up  | what was tried, and what would settle it       | that nothing was found   |
        """
        causes = [finding.cause for finding in self.findings if finding.cause]
        cause = causes[0] if causes else EmptyCause.UNKNOWN
        if self.is_found:
            reasoning = "The search returned something; there is nothing to plan."
            message = messages.FOUND
        elif new:
            reasoning = reasoning or diagnosis.explain(self.findings)
            empty = {query.table for query in self.failed}
            message = messages.message_of(strategy, new, empty, cause)
        else:
            reasoning = self._last_words()
            has_tried_much = len(self.state.tried) > _FEW_ATTEMPTS
            message = messages.GAVE_UP if has_tried_much else messages.ASKS
        return SearchPlan(
            strategy=strategy,
            reasoning=reasoning,
            user_message=message,
            new_queries=new,
            kept_queries=tuple(query for query in self.request.queries if query not in self.failed),
            give_up=not new and not self.is_found,
            retry_count=self.state.retry_count + 1,
            cause=cause,
            open_moves=self._open_moves(new),
        )

    def _open_moves(self, new: Sequence[Query]) -> tuple[OpenMove, ...]:
        """What the caller can write itself, beside the new queries.

        | the search                                       | open moves                                    |
        |--------------------------------------------------|-----------------------------------------------|
        | is over, or has all the queries that it may have | ask the person, if there is no new query      |
        | found something                                  | none                                          |
        | has words that only other tables have, and at    | rewrite, pivot to these tables, ask           |
        | most one new query                               |                                               |
        | any other                                        | rewrite; ask, if there is no new query        |
        """
        ask_if_stuck = () if new or self.is_found else (_ASK,)
        if not self.is_open or len(new) >= MOST_QUERIES * len(self.failed):
            return ask_if_stuck
        query = self.failed[0]
        message = self.request.user_message
        write = what_to_write(query, message, self.catalog.words_of(query.table))
        rewrite = OpenMove(move="rewrite", write=write)
        words_of_other_tables = words_elsewhere(query, message, self.catalog)
        if not words_of_other_tables or len(new) >= MOST_QUERIES - 1:
            return rewrite, *ask_if_stuck
        pivot = OpenMove(move="pivot", write=f"the same in another table: {words_of_other_tables}")
        return rewrite, pivot, _ASK

    def _last_words(self) -> str:
        """The reasoning of a search that is given up: what was tried, and what would settle whether the data has it."""
        why = "no retries are left" if self.is_over else "nothing new is left to try"
        tried = attempts.describe([entry.query for entry in self.state.tried])
        listed = "; ".join(tried[:_LISTED_ATTEMPTS])
        if len(tried) > _LISTED_ATTEMPTS:
            listed += f"; and {len(tried) - _LISTED_ATTEMPTS} more"
        return (
            f"Giving up: {why}. Tried: {listed}. What would settle it: {self._what_settles_it()}."
        )

    def _what_settles_it(self) -> str:
        """What the agent could look at: the list of tables if no catalog has them, the fields and values, some rows."""
        tables = list(dict.fromkeys(query.table for query in self.failed))
        rows = f"a sample of rows of {', '.join(tables[:_LISTED_TABLES])} without any condition"
        settles = f"their fields and values; {rows}"
        if all(map(self.catalog.is_described, tables)):
            return settles
        return f"a list of the tables, sent as the catalog; {settles}"
