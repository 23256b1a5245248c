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
    """One search as the caller's tool takes it.

    `search_mode` is empty if the tool has no modes, `tool` where nobody named it. `limit` is a number of rows,
    `score_threshold` is in 0..1; None means that the search has none, and then none is ever added.
    """

    table: str
    query_text: str = ""
    search_mode: str = ""
    limit: int | None = None
    score_threshold: float | None = None
    filters: Mapping[str, object] = field(default_factory=dict[str, object])
    tool: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogEntry:
    """What is known of a table. `fields` maps a field to its values, empty if they are not known.

    `vocabulary` holds words, or phrases of several words, that occur in the table's rows.
    """

    table: str
    description: str = ""
    search_modes: tuple[str, ...] = ()
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    vocabulary: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """A search that failed, wholly or in part.

    `results` counts the rows by table; `zero_result_tables` names empty tables. With neither, all came
    back empty. `retry_count` is what the caller counted; our own count wins where it is larger. `takes_bounds`: the
    tool takes a threshold and a limit also where a query names none. `open_tables`: what a plan may
    name beside the tables of the catalog; empty: any table, None: no other.
    """

    search_id: str
    user_message: str
    queries: tuple[Query, ...]
    results: Mapping[str, int] | None = None
    zero_result_tables: tuple[str, ...] = ()
    retry_count: int = 0
    catalog: tuple[CatalogEntry, ...] = ()
    suggestions: tuple[str, ...] = ()
    max_retries: int = 2
    takes_bounds: bool = False
    open_tables: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenMove:
    """A move whose words the caller has to write: `rewrite`, `pivot` or `ask`. `write` says what to write."""

    move: str
    write: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPlan:
    """The queries to run next: the answer of `replan_search`.

    `kept_queries` found something and stay as they are. `retry_count` is the count after this plan, `cause` the
    reason for the failure that the call itself shows. `note` says why no better thinker than `thinker` planned, `notes`
    what was corrected or refused, and `open_moves` what the caller can write itself.
    """

    search_id: str = ""
    thinker: str = RULES
    note: str | None = None
    strategy: Strategy
    cause: EmptyCause = EmptyCause.UNKNOWN
    reasoning: str
    user_message: str
    new_queries: tuple[Query, ...] = ()
    kept_queries: tuple[Query, ...] = ()
    give_up: bool = False
    retry_count: int = 1
    original_queries: tuple[Query, ...] = ()
    notes: tuple[str, ...] = ()
    open_moves: tuple[OpenMove, ...] = ()
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
    """A query of this search. `found` counts the rows of its table, None if nobody said."""

    query: Query
    found: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchState:
    """The attempts of one search. `pending` is the last plan, until a later call says what came of it."""

    search_id: str
    retry_count: int = 0
    tried: tuple[Tried, ...] = ()
    original_queries: tuple[Query, ...] = ()
    pending: SearchPlan | None = None
