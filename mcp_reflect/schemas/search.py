"""The arguments of replan_search, and the reading of what they have in them: queries, tables, results, plans."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Final, TypeGuard, TypeVar, cast

from pydantic import (
    BeforeValidator,
    Field,
    JsonValue,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from mcp_reflect.errors import InputError
from mcp_reflect.limits import DEFAULT, Limits, characters
from mcp_reflect.models.search import CatalogEntry, PlanProposal, Query, Strategy
from mcp_reflect.schemas import fields
from mcp_reflect.schemas.faults import explain
from mcp_reflect.schemas.fields import Arguments, ReadContext, parsed
from mcp_reflect.schemas.reading import named

_Shape = TypeVar("_Shape", bound=Arguments)

# The description has the fields: a nested schema would cost every client 100 bytes more.
_QUERIES: Final = {
    "type": "array",
    "items": {"type": ["object", "string"]},
    "description": "Texts, or {tool, table, search_mode, query_text, filters}",
}
_CATALOG: Final = {
    "type": "array",
    "items": {"type": "object"},
    "description": "[{table, description, search_modes, fields, vocabulary}]",
}
DEFAULT_TABLE: Final = "search"
"""The table of a search tool without tables."""


_MOST_ROWS: Final = 1_000_000  # that a query may ask for
_Text = Annotated[str, StringConstraints(strip_whitespace=True), fields.most("max_query_chars")]


def _listed(value: Any) -> Any:
    """Return a name as a list of one."""
    if isinstance(value, str):
        return [value]
    return value


_Names = Annotated[tuple[str, ...], BeforeValidator(_listed)]


class QueryArguments(Arguments):
    """One query, in the names that search tools use."""

    SYNONYMS: ClassVar = {
        "query_text": "query text q pattern command search term keywords",
        "table": "collection index source",
        "limit": "k top_k",
        "score_threshold": "threshold min_score",
        "search_mode": "mode",
        "filters": "filter",
        "tool": "engine",
    }

    table: _Text = ""
    query_text: _Text = ""
    search_mode: _Text = ""
    limit: Annotated[int, Field(ge=1, le=_MOST_ROWS)] | None = None
    score_threshold: Annotated[float, Field(ge=0, le=1)] | None = None
    filters: Annotated[dict[str, JsonValue], fields.in_all("max_filter_chars")] = Field(
        default_factory=dict[str, JsonValue]
    )
    tool: _Text = ""


class TableArguments(Arguments):
    """What the caller knows of a table. `fields` are names, or names with their values."""

    table: Annotated[_Text, Field(min_length=1)]
    description: _Text = ""
    search_modes: _Names = ()
    fields: _Names | dict[str, JsonValue] = ()
    vocabulary: _Names = ()


class ProposalArguments(Arguments):
    """A plan of the host or of a language model."""

    new_queries: list[JsonValue]
    reasoning: _Text = ""
    user_message: _Text = ""
    strategy: Annotated[
        Strategy | None,
        fields.choice(Strategy, {"relax": "broaden", "rewrite": "rephrase reformulate"}),
    ] = None


def read_queries(
    value: object, field: str = "queries", limits: Limits = DEFAULT, table: str = ""
) -> tuple[Query, ...]:
    """Return a list of queries; InputError names the field that cannot be read.

    The table of a query is the one that it names, else its tool, else `table`. Without `table`, each query must name one,
    and a text alone is no query.
    """
    items = _items(value, field)
    limits.refuse_more("max_queries", field, len(items), "items")
    queries: list[Query] = []
    for index, item in enumerate(items):
        sent = item
        if isinstance(item, str) and table:
            sent = {"query_text": item}
        query = Query(**dict(_read(QueryArguments, sent, f"{field}[{index}]", limits)))
        table_of_query = query.table or query.tool
        if not table_of_query and query.query_text:
            table_of_query = table
        if not table_of_query:
            raise InputError(
                f"{field}[{index}].table", "it is missing", "Name the table to search."
            )
        queries.append(replace(query, table=table_of_query))
    return tuple(queries)


def _values_of_fields(sent: Mapping[str, Any] | Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the known values of each field of a table.

    ["status"] -> {"status": ()}; {"status": ["open"], "size": "int"} -> {"status": ("open",), "size": ()}
    """
    if not is_object(sent):
        return dict.fromkeys(sent, ())
    values: dict[str, tuple[str, ...]] = {}
    for name, values_of_field in sent.items():
        values[name] = tuple(map(str, values_of_field)) if is_list(values_of_field) else ()
    return values


def read_catalog(
    value: object, field: str = "catalog", limits: Limits = DEFAULT
) -> tuple[CatalogEntry, ...]:
    """Return the tables, joined where two have one name.

    InputError names the field that cannot be read, or the limit of all vocabularies.
    """
    tables: dict[str, CatalogEntry] = {}
    for index, item in enumerate(_items(value, field)):
        sent = _read(TableArguments, item, f"{field}[{index}]", limits)
        before = tables.get(sent.table, CatalogEntry(table=sent.table))
        tables[sent.table] = _joined(before, sent)
    vocabularies = [table.vocabulary for table in tables.values()]
    limits.refuse_more("max_catalog_words", field, sum(map(len, vocabularies)), "words")
    limits.refuse_more("max_catalog_chars", field, sum(map(characters, vocabularies)))
    return tuple(tables.values())


def _joined(before: CatalogEntry, sent: TableArguments) -> CatalogEntry:
    """Return what is known of a table, with what was sent of it; each word stands there once."""
    descriptions = dict.fromkeys((before.description, sent.description))
    return replace(
        before,
        description=" ".join(filter(None, descriptions)),
        search_modes=tuple(dict.fromkeys((*before.search_modes, *sent.search_modes))),
        fields={**before.fields, **_values_of_fields(sent.fields)},
        vocabulary=tuple(dict.fromkeys((*before.vocabulary, *sent.vocabulary))),
    )


def read_proposal(value: object, field: str = "analysis", limits: Limits = DEFAULT) -> PlanProposal:
    """Return a plan `{reasoning, strategy, user_message, new_queries}`; only `new_queries` must be there."""
    sent = _read(ProposalArguments, value, field, limits)
    queries = read_queries(sent.new_queries, f"{field}.new_queries", limits)
    return PlanProposal(new_queries=queries, **sent.model_dump(exclude={"new_queries"}))


def read_results(value: object, field: str = "results") -> dict[str, int]:
    """Return the number of rows by table: {"orders": 3, "users": [row, row], "logs": None} -> 3, 2 and 0.

    An empty list in place of the object says that nothing came back.
    """
    if is_list(value) and not value:
        return {}
    counts: dict[str, int] = {}
    for table, rows in _object(value, field, "Send {table: count} or {table: [rows]}.").items():
        if isinstance(rows, bool) or not isinstance(rows, int | list | tuple | dict | None):
            raise InputError(
                f"{field}.{table}", "is neither a count nor a list", "Send the number of rows"
            )
        if isinstance(rows, int):
            counts[table] = max(0, rows)
        else:
            counts[table] = len(cast("list[Any]", rows or ()))
    return counts


def _read(shape: type[_Shape], value: object, field: str, limits: Limits) -> _Shape:
    """Read an object into a shape; InputError has the path to what cannot be read, which begins with `field`."""
    context = ReadContext(limits)
    values = named(
        shape, _object(value, field, f"Send {{{', '.join(shape.model_fields)}}}."), context
    )
    try:
        return shape.model_validate(values, context=context)
    except ValidationError as error:
        fault = explain(error.errors(include_url=False))
    except InputError as error:
        fault = error
    raise InputError(f"{field}.{fault.field}", fault.fault, fault.fix) from None


def is_object(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Return whether a value is an object of JSON."""
    return isinstance(value, Mapping)


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Return whether a value is a list of JSON, or a tuple."""
    return isinstance(value, list | tuple)


def _object(value: object, field: str, fix: str) -> Mapping[str, Any]:
    """Return the value; InputError if it is no object."""
    if not is_object(value):
        raise InputError(field, "is not an object", fix)
    return value


def _items(value: object, field: str) -> Sequence[Any]:
    """Return the value; InputError if it is no list."""
    if not is_list(value):
        raise InputError(field, "is not a list", "Send a list of objects.")
    return value


def _queries(value: Any, info: ValidationInfo) -> Any:
    """Return queries as a list without empty ones; one that is JSON text is read."""
    value = fields.as_objects(value, info)
    if not is_list(value):
        return value
    return [parsed(item) for item in value if item not in (None, "")]


def _results(value: Any, info: ValidationInfo) -> Any:
    """Return counts by table, None if every table came back empty.

    | sent                         | counts                                         |
    |------------------------------|------------------------------------------------|
    | 0, [] or "no results"        | None                                           |
    | {"orders": 3}                | the same                                       |
    | 3, or [1, 2] for two queries | {"search": 3}, the table of a tool without any |
    """
    value = fields.as_json(value, info)
    if is_list(value) and all(isinstance(count, int) for count in value):
        value = sum(value)
    if isinstance(value, str) or not value:
        return None
    if is_object(value):
        return value
    return {DEFAULT_TABLE: value}


class ReplanArguments(Arguments):
    """Arguments of replan_search. With `search_id` the call may report again or bring an `analysis`."""

    ALIASES: ClassVar = {
        "planned_queries": "queries",
        "original_queries": "queries",
        "query_results": "results",
    }
    SYNONYMS: ClassVar = {
        "queries": "query search searches failed_query failed_queries tried",
        "user_message": "question message goal intent task user_query request",
        "results": "result counts hits",
        "retry_count": "retries attempt attempts",
        "suggestions": "did_you_mean similar",
        "catalog": "tables schema",
    }

    user_message: Annotated[fields.Task | None, Field(description="What the person asked for")] = (
        None
    )
    queries: Annotated[
        list[JsonValue],
        fields.most("max_queries"),
        BeforeValidator(_queries),
        fields.in_all("max_queries_chars"),
        WithJsonSchema(_QUERIES),
    ] = Field(default_factory=list[JsonValue])
    results: Annotated[
        JsonValue,
        BeforeValidator(_results),
        WithJsonSchema({"type": "object", "description": "Count by table"}),
    ] = None
    zero_result_tables: fields.Labels = ()
    retry_count: Annotated[fields.Count, Field(ge=0, le=1000)] = 0
    catalog: Annotated[
        list[Any],
        fields.most("max_tables"),
        BeforeValidator(fields.as_objects),
        fields.in_all("max_catalog_chars"),
        WithJsonSchema(_CATALOG),
    ] = Field(default_factory=list[Any])
    suggestions: Annotated[fields.Phrases, Field(description="What the search tool proposed")] = ()
    analysis: Annotated[
        fields.Judgment,
        Field(
            json_schema_extra={"type": ["object", "string"]},
            description="Your own: {strategy, user_message, new_queries}",
        ),
    ] = None
    search_id: fields.Label | None = None
    detail: fields.Detail = False
    project: fields.Label | None = None

    @model_validator(mode="after")
    def _has_a_search(self) -> "ReplanArguments":
        """Refuse a call that neither begins a search with queries nor goes on with one by its id."""
        if self.search_id is None and not self.queries:
            raise InputError(
                "queries", "it is empty", "Send the queries that were run, or a search_id."
            )
        return self
