"""Requests that several tests use."""

from dataclasses import replace
from typing import Any

from mcp_reflect.models.search import CatalogEntry, Query, SearchPlan, SearchRequest, SearchState

MODES = ("faceted", "master")
FAIR = (
    CatalogEntry(table="sessions", description="Talks, workshops and panels", search_modes=MODES),
    CatalogEntry(
        table="exhibitors",
        description="Companies that offer services and solutions",
        search_modes=MODES,
    ),
)


def query(text: str = "quantum computing", table: str = "sessions", **more: Any) -> Query:
    return replace(Query(table=table, query_text=text, search_mode="faceted", limit=5), **more)


def request(
    *queries: Query, message: str = "Find sessions about quantum computing", **more: Any
) -> SearchRequest:
    first = SearchRequest(
        search_id="s1", user_message=message, queries=queries or (query(),), catalog=FAIR
    )
    return replace(first, **more)


def empty_state() -> SearchState:
    return SearchState(search_id="s1")


def texts(plan: SearchPlan) -> list[str]:
    return [query.query_text for query in plan.new_queries]
