"""Plan the next queries of a search that found nothing: the tool replan_search, and nodes of graphs.

A search has many calls, each of which reports what was run since and gets a plan; what the calls before left is stored
under the search's id. What reads, redacts or plans runs in threads: a large catalog takes a while, and other calls go
on meanwhile.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any, Final, NamedTuple

from mcp_reflect.errors import InputError
from mcp_reflect.limits import Limits
from mcp_reflect.llm.json_replies import read_object
from mcp_reflect.llm.protocol import Role
from mcp_reflect.llm.runner import NO_CLIENT, ClientCapabilities, ModelResult
from mcp_reflect.models.common import HOST, RULES, Scope, from_json
from mcp_reflect.models.search import (
    CatalogEntry,
    PlanProposal,
    SearchPlan,
    SearchRequest,
    SearchState,
)
from mcp_reflect.replan import attempts, planner, proposals
from mcp_reflect.schemas.reading import read
from mcp_reflect.schemas.search import (
    DEFAULT_TABLE,
    ReplanArguments,
    read_catalog,
    read_proposal,
    read_queries,
    read_results,
)
from mcp_reflect.security.clean import Clean
from mcp_reflect.security.gate import clean_inputs
from mcp_reflect.security.injection import suspicion
from mcp_reflect.security.redact import clean
from mcp_reflect.services.context import Context
from mcp_reflect.storage.sessions import StoredCatalog
from mcp_reflect.text.signature import digest

_NEXT_REPORT: Final = (
    "search_id with results after new_queries ran, or with your own plan as analysis"
)
_MAX_INPUT_CHARS: Final = 6_000  # of the queries in a prompt, and as many of each other input
_LIMITS_OF_CATALOG: Final = ("max_query_chars", "max_catalog_words", "max_catalog_chars")
"""The limits that the reading of a catalog depends on, by which its cache is keyed."""

_VOCABULARY_IN_PROMPT: Final = (
    50  # words of a table: the descriptions of all tables must fit as well
)
_CACHED_CATALOGS: Final = 8
_DIGEST_LENGTH: Final = 64  # hex digits that identify a catalog


class _Catalog(NamedTuple):
    """The tables of a search."""

    entries: tuple[CatalogEntry, ...] = ()
    stored: StoredCatalog | None = None  # the same as the bank stores it, None without tables
    notes: tuple[str, ...] = ()  # that the catalog has to be sent again, where it has

    @property
    def digest(self) -> str | None:
        """Identifies the stored catalog, None without one."""
        if self.stored is None:
            return None
        return self.stored.digest


@lru_cache(maxsize=_CACHED_CATALOGS)
def _read_catalog(text: str, limits: Limits) -> _Catalog:
    """Return the catalog of a JSON text, without secrets; cached, as an agent sends it with each search."""
    entries = read_catalog(clean(json.loads(text)), limits=limits)
    stored_text = json.dumps([asdict(entry) for entry in entries])
    return _Catalog(entries, StoredCatalog(digest(stored_text, _DIGEST_LENGTH), stored_text))


@lru_cache(maxsize=_CACHED_CATALOGS)
def _stored_entries(text: str) -> tuple[CatalogEntry, ...]:
    """Return the tables of a catalog as the bank stores it; cached, as calls of a search follow each other."""
    return from_json(tuple[CatalogEntry, ...], json.loads(text))


@dataclass(frozen=True, kw_only=True)
class _Search:
    """The arguments of a call as they were read."""

    sent: ReplanArguments
    catalog: _Catalog
    suggestions: tuple[str, ...]  # the suggested queries that may be used
    remarks: tuple[str, ...]  # how many other suggestions there were


@dataclass(frozen=True, kw_only=True)
class _Call:
    """A call on a search, with the state that the earlier calls left."""

    request: SearchRequest  # of this call
    state: SearchState  # the queries that were tried so far
    catalog: _Catalog
    # The number of calls that were stored before, None for the first: the bank refuses this call if it changed meanwhile.
    version: int | None = None


async def replan(
    context: Context, arguments: Mapping[str, Any], host: ClientCapabilities = NO_CLIENT
) -> SearchPlan:
    """Plan the next queries of a search that found nothing.

    Calls on one search may come at once, in one process or in several: each is planned on top of those that were stored
    before it. If another call was stored meanwhile, this one is planned again, without asking a model twice.
    """
    search = await asyncio.to_thread(_read_search, context, arguments)
    scope = context.scopes.named(search.sent.project)
    search_id = search.sent.search_id or context.clock.new_id("srch")
    proposal: ModelResult[PlanProposal] | None = None
    while True:
        call = await _open_call(context, scope, search, search_id)
        if proposal is None:
            proposal = await _propose(context, search.sent, call, host)
        plan, body = await asyncio.to_thread(_plan_and_body, proposal, call, search.remarks)
        is_saved = await context.bank.searches.save(
            scope, search_id, body, version=call.version, catalog=call.catalog.stored
        )
        if is_saved:
            break
    context.log.info(
        "search_replanned", search_id=search_id, strategy=plan.strategy.value, thinker=plan.thinker
    )
    return replace(plan, notes=(*plan.notes, *search.sent.ignored))


def _read_search(context: Context, arguments: Mapping[str, Any]) -> _Search:
    """Read the arguments of a call.

    A suggestion may come back as a query, which an agent reads: one that gives orders to its reader is left out.
    """
    settings = context.settings
    sent = read(ReplanArguments, arguments, settings)
    catalog = _Catalog()
    if sent.catalog:
        limits = Limits(**{name: getattr(settings, name) for name in _LIMITS_OF_CATALOG})
        text = json.dumps(sent.catalog, ensure_ascii=False, default=str)
        catalog = _read_catalog(text, limits)
    suggestions = clean(list(sent.suggestions))
    usable = tuple(suggestion for suggestion in suggestions if suspicion([suggestion]) is None)
    refused_count = len(suggestions) - len(usable)
    remarks: tuple[str, ...] = ()
    if refused_count:
        remarks = (
            f"{refused_count} of the suggestions left out: they read as orders to their reader",
        )
    return _Search(sent=sent, catalog=catalog, suggestions=usable, remarks=remarks)


def _plan_and_body(
    proposal: ModelResult[PlanProposal], call: _Call, remarks: tuple[str, ...]
) -> tuple[SearchPlan, dict[str, Any]]:
    """Return the plan, and the row that the bank keeps of the search; it names the catalog, which is stored once."""
    plan = _completed(_planned(proposal, call), call)
    plan = replace(plan, notes=(*call.catalog.notes, *remarks, *plan.notes))
    return plan, {
        "request": _as_json(replace(call.request, catalog=())),
        "catalog": call.catalog.digest,
        "state": _as_json(attempts.record(call.state, call.request, plan)),
    }


async def plan_for_graph(
    context: Context, request: SearchRequest, state: SearchState
) -> SearchPlan:
    """Plan for a graph that keeps its own state: by the configured model, checked, else by rules. Nothing is stored.

    Where a model fails, rules only relax the queries, since a graph sends no tables from which to take other words.
    """
    call = _Call(request=request, state=state, catalog=_Catalog())
    proposal = await _ask(context, call, NO_CLIENT)
    if proposal.value is None and proposal.note:
        return planner.relax_only(
            request, state, reasoning=f"The language model failed: {proposal.note}"
        )
    return await asyncio.to_thread(_planned, proposal, call)


async def _open_call(context: Context, scope: Scope, search: _Search, search_id: str) -> _Call:
    """Return the call with the state that the earlier calls left in the bank by now."""
    if search.sent.search_id is None:
        return await asyncio.to_thread(_first_call, context, search, search_id)
    body, version = await context.bank.searches.load(scope, search_id)
    catalog_text = None
    if search.catalog.stored is None and body["catalog"]:
        catalog_text = await context.bank.searches.catalog(scope, body["catalog"])
    return await asyncio.to_thread(_next_call, context, search, body, version, catalog_text)


def _first_call(context: Context, search: _Search, search_id: str) -> _Call:
    """Return the call that begins a search."""
    state = SearchState(search_id=search_id)
    empty_request = SearchRequest(
        search_id=search_id, user_message="", queries=(), catalog=search.catalog.entries
    )
    request = _request(context, search.sent, empty_request, search.suggestions)
    return _Call(request=request, catalog=search.catalog, state=state)


def _next_call(
    context: Context,
    search: _Search,
    body: Mapping[str, Any],
    version: int,
    catalog_text: str | None,
) -> _Call:
    """Return a later call of a search; `body` is the row that the earlier calls left.

    `catalog_text` is the catalog that an earlier call sent, None if the bank has dropped it. The plan of the earlier
    call is pending: a call that reports results says that it was run. Any other call gets another plan in its place,
    which costs no retry.
    """
    sent = search.sent
    catalog = search.catalog
    if catalog.stored is None and body["catalog"]:
        catalog = _catalog_of_earlier_call(body["catalog"], catalog_text)
    state = from_json(SearchState, body["state"])
    earlier = replace(from_json(SearchRequest, body["request"]), catalog=catalog.entries)
    request = _request(context, sent, earlier, search.suggestions, state)
    is_same_request = _as_json(replace(request, catalog=())) == body["request"]
    is_same_call = is_same_request and catalog.digest == body["catalog"]
    was_pending_plan_run = not is_same_call and _reports(sent)
    if not was_pending_plan_run:
        state = attempts.reopen(state)
    return _Call(request=request, catalog=catalog, state=state, version=version)


def _catalog_of_earlier_call(catalog_digest: str, catalog_text: str | None) -> _Catalog:
    """Return the catalog that an earlier call sent, or the note that it has to be sent again (text None)."""
    if catalog_text is None:
        return _Catalog(notes=("the catalog of this search is kept no longer: send it again",))
    stored = StoredCatalog(catalog_digest, catalog_text)
    return _Catalog(_stored_entries(catalog_text), stored)


def _request(
    context: Context,
    sent: ReplanArguments,
    earlier: SearchRequest,
    suggestions: tuple[str, ...],
    state: SearchState | None = None,
) -> SearchRequest:
    """Return the request of a call; whatever the call leaves out is taken from the `earlier` request of its search.

    | the call leaves out      | the request has                                                 |
    |--------------------------|-----------------------------------------------------------------|
    | queries                  | those of the last plan, which were run; else the earlier ones   |
    | the user's message       | the earlier message, else the first query                       |
    | suggestions              | the earlier ones                                                |
    | any report (`_reports`)  | all of the earlier request, with the suggestions                |

    `state` is None in the first call of a search. InputError for another message than the search has.
    """
    pending_queries = state.pending.new_queries if state and state.pending else ()
    sent_queries = read_queries(clean(sent.queries), limits=context.settings, table=DEFAULT_TABLE)
    queries = sent_queries or pending_queries or earlier.queries
    message = clean(sent.user_message or "") or earlier.user_message or queries[0].query_text
    if earlier.user_message and message != earlier.user_message:
        fault = f"it differs from what {earlier.search_id} holds"
        raise InputError("user_message", fault, "Leave it out, or start a new search.")
    request = replace(earlier, suggestions=suggestions or earlier.suggestions)
    if state and not _reports(sent):
        return request
    return replace(
        request,
        user_message=message,
        queries=queries,
        results=_results_in(sent),
        zero_result_tables=tuple(clean(list(sent.zero_result_tables))),
        retry_count=sent.retry_count,
        max_retries=context.settings.max_retries,
    )


def _results_in(sent: ReplanArguments) -> dict[str, int] | None:
    """Return how many results each table gave, None where the call does not say."""
    if sent.results is None:
        return None
    return {clean(table): count for table, count in read_results(sent.results).items()}


def _reports(sent: ReplanArguments) -> bool:
    """Return whether the call reports queries that were run, or results, since the last plan."""
    return bool(sent.queries or sent.results is not None or sent.zero_result_tables)


def _as_json(model: SearchRequest | SearchState) -> Any:
    """Return a request or state as the bank returns it, with lists for tuples, so that both can be compared."""
    return json.loads(json.dumps(asdict(model)))


async def _propose(
    context: Context, sent: ReplanArguments, call: _Call, host: ClientCapabilities
) -> ModelResult[PlanProposal]:
    """Return the caller's proposal of a plan (`analysis`), else that of a language model."""
    analysis: Any = sent.analysis
    if analysis is None:
        return await _ask(context, call, host)
    return await asyncio.to_thread(_read_proposal, context, analysis)


def _read_proposal(context: Context, analysis: Any) -> ModelResult[PlanProposal]:
    """Return the caller's proposal of a plan; InputError for a text without a JSON object."""
    if isinstance(analysis, str):
        analysis = read_object(analysis, {"reasoning", "strategy", "user_message", "new_queries"})
        if analysis is None:
            fix = "Send {reasoning, strategy, user_message, new_queries}."
            raise InputError("analysis", "it holds no JSON object", fix)
    return ModelResult(thinker=HOST, value=read_proposal(clean(analysis), limits=context.settings))


async def _ask(
    context: Context, call: _Call, host: ClientCapabilities
) -> ModelResult[PlanProposal]:
    """Return the proposal of a language model; an empty result if none may be asked, or no plan is needed."""
    inputs = await asyncio.to_thread(_inputs_of, call)
    if inputs is None:
        return ModelResult()
    return await context.runner.generate(
        Role.PLANNER,
        "replan",
        inputs,
        host=host,
        read=lambda value: read_proposal(clean(value), "reply"),
    )


def _inputs_of(call: _Call) -> dict[str, Clean | int | float | None] | None:
    """Return the inputs of a language model's prompt about a search, None where no plan is needed."""
    request = call.request
    state = call.state
    if not planner.needs_plan(request, state):
        return None
    catalog = [
        asdict(replace(entry, vocabulary=entry.vocabulary[:_VOCABULARY_IN_PROMPT]))
        for entry in request.catalog
    ]
    tried = attempts.describe([attempt.query for attempt in state.tried])
    inputs = {
        "queries": _json_for_prompt([asdict(query) for query in request.queries]),
        "results": _json_for_prompt(
            {"counts": request.results, "empty": request.zero_result_tables}
        ),
        "catalog": _json_for_prompt(catalog),
        "user_message": request.user_message,
        "tried": "\n".join(tried)[:_MAX_INPUT_CHARS],
        "suggestions": "\n".join(request.suggestions)[:_MAX_INPUT_CHARS],
        "retry_count": max(state.retry_count, request.retry_count),
    }
    return clean_inputs(inputs)


def _json_for_prompt(value: object) -> str:
    """Return a value as JSON, as far as a prompt has room for it."""
    return json.dumps(value, ensure_ascii=False)[:_MAX_INPUT_CHARS]


def _planned(proposal: ModelResult[PlanProposal], call: _Call) -> SearchPlan:
    """Return the plan of a proposal, checked by rules, or a plan of rules alone.

    | the proposal                          | the plan                              | its `note`              |
    |---------------------------------------|---------------------------------------|-------------------------|
    | none                                  | of rules                              | why no model answered   |
    | has nothing that the rules let stand  | of rules                              | that it was not used    |
    | any other                             | the proposal, as far as it may stand  | the model's             |
    """
    if proposal.value is None:
        return replace(planner.plan(call.request, call.state), note=proposal.note)
    plan = proposals.accept(proposal.value, call.request, call.state)
    if proposals.REPLACED in plan.notes:
        return replace(plan, note=f"the plan of {proposal.thinker} was not used: see notes")
    return replace(plan, thinker=proposal.thinker or RULES, note=proposal.note)


def _completed(plan: SearchPlan, call: _Call) -> SearchPlan:
    """Return the plan with the search that it belongs to, and with the request for the agent's next call.

    Only a plan of rules asks for the agent's own: a model that planned knew the search as well as the agent does.
    """
    next_call: dict[str, Any] = {}
    if plan.new_queries and plan.thinker == RULES:
        next_call = {"send": _NEXT_REPORT}
    return replace(
        plan,
        search_id=call.request.search_id,
        original_queries=call.state.original_queries or call.request.queries,
        next=next_call,
    )
