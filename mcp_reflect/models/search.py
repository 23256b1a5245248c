"""A search that found nothing, queries to try instead, and queries that were tried."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from mcp_reflect.models.common import RULES


class Strategy(StrEnum):
    """Ask for less of the same, ask in other words, or ask somewhere else."""

    RELAX = "relax"
    REWRITE = "rewrite"
    PIVOT = "pivot"


class EmptyCause(StrEnum):
    """Why a search came back empty, as far as the call shows it; `unknown` where nothing is shown."""

    UNKNOWN_WORDS = "unknown_words"
    TOO_MANY_CONDITIONS = "too_many_conditions"
    WRONG_TABLE = "wrong_table"
    WRONG_MODE = "wrong_mode"
    UNKNOWN = "unknown"

    @classmethod
    def _missing_(cls, value: object) -> "EmptyCause":  # noqa: ARG003 - enum gives it by name
        """A search that an earlier version stored may name a cause that is not here any more."""
        return cls.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One search as the caller's tool takes it. A limit or threshold of None means that the search has none."""

    table: str
    query_text: str = ""
    search_mode: str = ""  # empty if the tool has no modes
    limit: int | None = None  # rows
    score_threshold: float | None = None  # 0..1
    filters: Mapping[str, object] = field(default_factory=dict[str, object])
    tool: str = ""  # empty where nobody named it


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogEntry:
    """What is known of a table."""

    table: str
    description: str = ""
    search_modes: tuple[str, ...] = ()
    # The values of each field, empty where they are not known: {"status": ("open", "closed"), "title": ()}.
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    vocabulary: tuple[str, ...] = ()  # words and phrases that occur in its rows


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """A search that failed, wholly or in part: without `results` and `zero_result_tables`, all came back empty."""

    search_id: str
    user_message: str
    queries: tuple[Query, ...]
    results: Mapping[str, int] | None = None  # rows by table
    zero_result_tables: tuple[str, ...] = ()
    retry_count: int = 0  # as the caller counts; our own count wins where it is larger
    catalog: tuple[CatalogEntry, ...] = ()
    suggestions: tuple[str, ...] = ()
    max_retries: int = 2
    takes_bounds: bool = (
        False  # the tool takes a threshold and a limit also where a query names none
    )
    # Tables that a plan may name beside those of the catalog: empty means any, None no other.
    open_tables: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenMove:
    """A move of which the caller has to find the words."""

    move: str  # `rewrite`, `pivot` or `ask`
    write: str  # what to write


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPlan:
    """The queries to run next: the answer of `replan_search`."""

    search_id: str = ""
    thinker: str = RULES  # who planned: rules, the host or a model
    note: str | None = None  # why no better thinker did
    strategy: Strategy
    cause: EmptyCause = EmptyCause.UNKNOWN
    reasoning: str
    user_message: str
    new_queries: tuple[Query, ...] = ()
    kept_queries: tuple[Query, ...] = ()  # those that found something
    give_up: bool = False
    retry_count: int = 1  # with this plan
    original_queries: tuple[Query, ...] = ()
    notes: tuple[str, ...] = ()  # what was corrected in a proposed plan, or refused
    open_moves: tuple[OpenMove, ...] = ()  # what the caller can write itself
    next: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanProposal:
    """A plan as a model or the host wrote it, well formed and not yet checked against the catalog."""

    new_queries: tuple[Query, ...]
    reasoning: str = ""
    user_message: str = ""
    strategy: Strategy | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A query of this search."""

    query: Query
    found: int | None = None  # rows of its table, None if nobody said


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchState:
    """The attempts of one search."""

    search_id: str
    retry_count: int = 0
    tried: tuple[Tried, ...] = ()
    original_queries: tuple[Query, ...] = ()
    pending: SearchPlan | None = None  # the last plan, until a later call says what came of it
