"""Plan the next queries of a search that found nothing."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any, Final, NamedTuple

from mcp_reflect.clock import iso
from mcp_reflect.config import DEFAULT, Limits
from mcp_reflect.errors import InputError
from mcp_reflect.llm.json_replies import read_object
from mcp_reflect.llm.protocol import Role
from mcp_reflect.llm.runner import NO_CLIENT, ClientCapabilities, ModelResult
from mcp_reflect.models.common import HOST, RULES, Scope, from_json
from mcp_reflect.models.search import CatalogEntry, Proposal, SearchPlan, SearchRequest, SearchState
from mcp_reflect.replan import attempts, planner
from mcp_reflect.schemas.fields import read
from mcp_reflect.schemas.search import (
    DEFAULT_TABLE,
    ReplanArguments,
    is_list,
    is_object,
    read_catalog,
    read_proposal,
    read_queries,
    read_results,
)
from mcp_reflect.security.injection import suspicion
from mcp_reflect.security.redact import clean
from mcp_reflect.services.context import Context
from mcp_reflect.storage.sessions import StoredCatalog

_SHOWN: Final = 6_000  # characters of queries, catalog and results that a language model is shown each
_SHOWN_WORDS: Final = 50  # words of a vocabulary that it is shown: every table's description must fit as well


class _Catalog(NamedTuple):
    """The tables as they are planned with, a note for each vocabulary that was cut, and what the bank stores."""

    entries: tuple[CatalogEntry, ...] = ()
    notes: tuple[str, ...] = ()
    stored: StoredCatalog | None = None

    @property
    def digest(self) -> str | None:
        return self.stored.digest if self.stored else None


_NO_CATALOG: Final = _Catalog()


def _sent_catalog(catalog: list[Any], limits: Limits = DEFAULT) -> _Catalog:
    """The catalog that a call brought. Raises InputError for what cannot be read."""
    if not catalog:
        return _NO_CATALOG
    try:
        text = json.dumps(catalog, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise InputError("catalog", f"it is no JSON: {str(error)[:80]}", "Send a list of objects.") from None
    names = ("max_query_chars", "max_catalog_words", "max_catalog_chars")
    return _read_catalog(text, Limits(**{name: getattr(limits, name) for name in names}))


@lru_cache(maxsize=8)
def _read_catalog(text: str, limits: Limits) -> _Catalog:
    """The catalog cleaned, read and cut. An agent sends the same one with every search of a session."""
    entries, notes = read_catalog([_clean_entry(entry) for entry in json.loads(text)], limits=limits)
    stored = json.dumps([asdict(entry) for entry in entries])
    return _Catalog(entries, notes, StoredCatalog(hashlib.sha256(stored.encode()).hexdigest(), stored))


def _clean_entry(entry: Any) -> Any:
    """The entry without secrets. A vocabulary is read as one text, and word by word only where that text changes."""
    if not is_object(entry):
        return entry
    rest = dict(entry)
    words: Any = rest.pop("vocabulary", ())
    text = "\n".join(map(str, words)) if is_list(words) else ""
    return {**clean(rest), "vocabulary": words if text and clean(text) == text else clean(words)}


@lru_cache(maxsize=8)
def _stored_entries(text: str) -> tuple[CatalogEntry, ...]:
    return from_json(tuple[CatalogEntry, ...], json.loads(text))


@dataclass(frozen=True, kw_only=True)
class _Call:
    """A call on top of what the calls before it left.

    `state` are the attempts that the plan is made from, `version` counts those calls, and `again` is their
    plan where the call asks for nothing new.
    """

    request: SearchRequest
    state: SearchState
    catalog: _Catalog = _NO_CATALOG
    version: int | None = None
    again: SearchPlan | None = None


async def replan(context: Context, arguments: Mapping[str, Any], host: ClientCapabilities = NO_CLIENT) -> SearchPlan:
    """Plan the next queries of a search that found nothing.

    Calls on one search may come at once, in one process or in several: each is planned on top of the ones
    that were stored before it. Where one was stored meanwhile, it is planned again, and nobody is asked twice.
    """
    sent = read(ReplanArguments, arguments, context.settings)
    scope = context.scopes.named(sent.project)
    given = _sent_catalog(sent.catalog, context.settings)
    search_id = sent.search_id or context.clock.new_id("srch")
    thought: ModelResult[Proposal] | None = None
    while True:
        call = await _opened(context, scope, sent, search_id, given, host)
        if call.again is not None:
            return call.again
        thought = thought or await _think(context, sent, call, host)
        plan = _completed(_planned(thought, call), call, iso(context.clock.now()))
        plan = replace(plan, notes=(*call.catalog.notes, *_held_back(sent), *plan.notes))
        after = attempts.record(call.state, call.request, plan)
        body: dict[str, Any] = {
            "request": _stored_request(call.request),
            "catalog": call.catalog.digest,
            "state": _as_json(replace(after, payoffs=(), learned=())),  # these belong to the bank as a whole
            "analysis": _digest(sent.analysis),
        }
        searches = context.bank.searches
        if await searches.save(
            scope, search_id, body, version=call.version, learned=after.learned, catalog=given.stored
        ):
            break
    context.log("search_replanned", search_id=search_id, strategy=plan.strategy.value, thinker=plan.thinker)
    return replace(plan, notes=(*plan.notes, *sent.ignored))


async def plan_for_graph(context: Context, request: SearchRequest, state: SearchState) -> SearchPlan:
    """Plan for a graph that keeps its own state: by the configured model, checked, else by rules. Nothing is stored."""
    call = _Call(request=request, state=state)
    return _planned(await _ask(context, call, NO_CLIENT), call)


async def settle(context: Context, scope: Scope, search_id: str, *, paid: float) -> None:
    """Learn from the reported outcome of a search's last plan; `paid` is in 0..1."""
    while True:
        before = await context.bank.searches.load(scope, search_id)
        state = attempts.settle(from_json(SearchState, before.body["state"]), paid=paid)
        body = {**before.body, "state": _as_json(replace(state, learned=()))}
        if await context.bank.searches.save(scope, search_id, body, version=before.version, learned=state.learned):
            return


async def _opened(
    context: Context, scope: Scope, sent: ReplanArguments, search_id: str, given: _Catalog, host: ClientCapabilities
) -> _Call:
    """The call on top of what is stored now."""
    payoffs = await context.bank.searches.payoffs(scope)
    if sent.search_id is None:
        request = _request(context, sent, SearchRequest(search_id=search_id, user_message="", queries=()), given)
        return _Call(request=request, catalog=given, state=SearchState(search_id=search_id, payoffs=payoffs))
    body, version = await context.bank.searches.load(scope, search_id)
    catalog = given if given.stored or not body["catalog"] else await _stored_catalog(context, scope, body["catalog"])
    state = replace(from_json(SearchState, body["state"]), payoffs=payoffs)
    before = replace(from_json(SearchRequest, body["request"]), catalog=catalog.entries)
    request = _request(context, sent, before, catalog, state)
    same = body["request"] == _stored_request(request) and body["catalog"] == catalog.digest
    asked_again = sent.analysis is None or body["analysis"] == _digest(sent.analysis)
    if same and state.pending and asked_again and not _could_be_better(context, state.pending, host):
        return _Call(request=request, state=state, again=state.pending)
    # Nothing of the pending plan was run where the call reports nothing: it is replaced, and costs no retry.
    state = attempts.reopen(state) if same or not _reports(sent) else state
    return _Call(request=request, catalog=catalog, state=state, version=version)


def _could_be_better(context: Context, plan: SearchPlan, host: ClientCapabilities) -> bool:
    """True for a plan of rules if a language model is there now that has not been tried in vain."""
    in_vain = plan.thinker != RULES or plan.stopped or planner.REPLACED in plan.notes
    return not in_vain and context.settings.replan_llm and context.runner.llm(Role.PLANNER, host) is not None


async def _stored_catalog(context: Context, scope: Scope, digest: str) -> _Catalog:
    """The catalog of the calls before."""
    text = await context.bank.searches.catalog(scope, digest)
    if text is None:
        return _Catalog(notes=("the catalog of this search is kept no longer: send it again",))
    return _Catalog(_stored_entries(text), (), StoredCatalog(digest, text))


def _stored_request(request: SearchRequest) -> dict[str, Any]:
    """The request, so that a later call may leave its arguments out; its catalog is stored once for all searches."""
    return _as_json(replace(request, catalog=()))


def _request(
    context: Context, sent: ReplanArguments, before: SearchRequest, catalog: _Catalog, state: SearchState | None = None
) -> SearchRequest:
    """The call as a value; what it leaves out is taken from the call before.

    A report without queries is about the plan that was handed out, else about the queries before it.
    """
    pending = state.pending.new_queries if state and state.pending else ()
    queries = (
        read_queries(clean(sent.queries), limits=context.settings, table=DEFAULT_TABLE) or pending or before.queries
    )
    message = clean(sent.user_message or "") or before.user_message or queries[0].query_text
    if before.user_message and message != before.user_message:
        fault = f"it differs from what {before.search_id} holds"
        raise InputError("user_message", fault, "Leave it out, or search anew.")
    suggestions = _offered(sent) or before.suggestions
    if state and not _reports(sent):
        return replace(before, suggestions=suggestions)
    return SearchRequest(
        search_id=before.search_id,
        user_message=message,
        queries=queries,
        results=None if sent.results is None else {clean(table): n for table, n in read_results(sent.results).items()},
        zero_result_tables=tuple(clean(list(sent.zero_result_tables))),
        retry_count=sent.retry_count,
        catalog=catalog.entries,
        suggestions=suggestions,
        max_retries=context.settings.max_retries,
    )


def _as_json(model: SearchRequest | SearchState) -> Any:
    return json.loads(json.dumps(asdict(model)))


def _offered(sent: ReplanArguments) -> tuple[str, ...]:
    """The search tool's proposals, without those that give orders to their reader: they would come back as a query."""
    return tuple(text for text in clean(list(sent.suggestions)) if suspicion([text]) is None)


def _held_back(sent: ReplanArguments) -> tuple[str, ...]:
    count = len(sent.suggestions) - len(_offered(sent))
    return (f"{count} of the suggestions left out: they read as orders to their reader",) if count else ()


def _reports(sent: ReplanArguments) -> bool:
    """True if the call says what was run or found."""
    return bool(sent.queries or sent.results is not None or sent.zero_result_tables)


async def _think(
    context: Context, sent: ReplanArguments, call: _Call, host: ClientCapabilities
) -> ModelResult[Proposal]:
    """The caller's proposal, else that of a language model."""
    analysis: Any = sent.analysis
    if analysis is None:
        return await _ask(context, call, host)
    if isinstance(analysis, str):
        analysis = read_object(analysis, {"reasoning", "strategy", "user_message", "new_queries"})
        if analysis is None:
            fix = "Send {reasoning, strategy, user_message, new_queries}."
            raise InputError("analysis", "it holds no JSON object", fix)
    return ModelResult(thinker=HOST, value=read_proposal(clean(analysis), limits=context.settings))


async def _ask(context: Context, call: _Call, host: ClientCapabilities) -> ModelResult[Proposal]:
    """The proposal of a language model, if one may be asked."""
    if not context.settings.replan_llm or not planner.needs_plan(call.request, call.state):
        return ModelResult()
    return await context.runner.generate(
        Role.PLANNER,
        "replan",
        _inputs(call.request, call.state),
        host=host,
        read=lambda value: read_proposal(clean(value), "reply"),
    )


def _inputs(request: SearchRequest, state: SearchState) -> dict[str, Any]:
    """The places of the prompt template, each of a bounded size."""
    values = {
        "queries": [asdict(query) for query in request.queries],
        "results": {"counts": request.results, "empty": request.zero_result_tables},
        "catalog": [{**asdict(entry), "vocabulary": entry.vocabulary[:_SHOWN_WORDS]} for entry in request.catalog],
    }
    return {
        **{name: json.dumps(value, ensure_ascii=False)[:_SHOWN] for name, value in values.items()},
        "user_message": request.user_message,
        "tried": "\n".join(attempts.describe(tried.query) for tried in state.tried)[:_SHOWN],
        "suggestions": "\n".join(request.suggestions)[:_SHOWN],
        "retry_count": max(state.retry_count, request.retry_count),
    }


def _planned(thought: ModelResult[Proposal], call: _Call) -> SearchPlan:
    """The proposal as rules corrected it, else their own plan."""
    if thought.value is None:
        plan = planner.plan(call.request, call.state)
        return replace(plan, note=thought.note, stopped="deadline" if thought.late else None)
    plan = planner.accept(thought.value, call.request, call.state)
    if planner.REPLACED in plan.notes:
        return replace(plan, note=f"the plan of {thought.thinker} was not used: see notes")
    return replace(plan, thinker=thought.thinker or RULES, note=thought.note)


def _completed(plan: SearchPlan, call: _Call, ts: str) -> SearchPlan:
    """The plan with its search, an update for the person, and what the agent may do with it."""
    search_id = call.request.search_id
    following = {
        "why": "Run new_queries, then report queries and results with search_id. Or send a better plan.",
        "tool": "replan_search",
        "arguments": {"search_id": search_id, "analysis": _ANALYSIS},
    }
    return replace(
        plan,
        search_id=search_id,
        original_queries=call.state.original_queries or call.request.queries,
        thinking={
            "message": plan.user_message,
            "strategy": plan.strategy.value,
            "retry_count": plan.retry_count,
            "ts": ts,
        },
        next=following if plan.new_queries and plan.thinker == RULES else {},
    )


_ANALYSIS: Final[dict[str, Any]] = {
    "reasoning": "why it found nothing",
    "strategy": "relax | rewrite | pivot",
    "user_message": "one friendly sentence",
    "new_queries": [{"table": "where to search", "query_text": "what for"}],
}


def _digest(analysis: Any) -> str | None:
    return None if analysis is None else hashlib.sha256(json.dumps(analysis, sort_keys=True).encode()).hexdigest()[:32]
