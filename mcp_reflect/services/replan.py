"""Plan the next queries of a search that found nothing."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple, cast

from mcp_reflect.clock import iso
from mcp_reflect.config import DEFAULT, Limits
from mcp_reflect.errors import InputError
from mcp_reflect.llm.json_replies import read_object
from mcp_reflect.llm.protocol import Role
from mcp_reflect.llm.runner import NO_CLIENT, ClientCapabilities
from mcp_reflect.models.common import HOST, RULES, Scope
from mcp_reflect.models.search import CatalogEntry, Plan, Proposal, Query, SearchPlan, SearchRequest, SearchState
from mcp_reflect.replan import attempts, planner
from mcp_reflect.replan import proposals as floor
from mcp_reflect.replan import requests as shown
from mcp_reflect.replan.requests import read_catalog, read_proposal, read_queries, read_results
from mcp_reflect.schemas.fields import read
from mcp_reflect.schemas.search import ReplanArguments
from mcp_reflect.security.injection import suspicion
from mcp_reflect.security.redact import clean
from mcp_reflect.services.context import Context
from mcp_reflect.storage.sessions import StoredCatalog

# A catalog from what was sent or kept: cleaned, read and cut once for each text, then remembered.
#
# An agent sends the same catalog with every search of a session, and its vocabulary may have thousands of
# words. What has been worked out is remembered by the text as it came, for the last few of them.


class ReadCatalog(NamedTuple):
    """The tables as they are planned with, a note for each vocabulary that was cut, and what the bank keeps."""

    entries: tuple[CatalogEntry, ...]
    notes: tuple[str, ...]
    kept: StoredCatalog | None


NONE: Final = ReadCatalog((), (), None)

_LAST: Final = 8  # catalogs remembered; a server has a few, and the longest takes some megabytes
_known: dict[str, ReadCatalog] = {}


def read_sent_catalog(catalog: list[Any], limits: Limits = DEFAULT) -> ReadCatalog:
    """The catalog that a call brought. Raises InputError for what cannot be read."""
    if not catalog:
        return NONE
    try:
        text = json.dumps(catalog, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise InputError("catalog", f"it is no JSON: {str(error)[:80]}", "Send a list of objects.") from None
    return _read(text, limits.max_query_chars, limits.max_catalog_words, limits.max_catalog_chars)


def known_catalog(digest: str) -> ReadCatalog | None:
    """The catalog of that hash, if it was among the last ones here."""
    return _known.get(digest)


def of_kept(text: str, digest: str) -> ReadCatalog:
    """The catalog that the bank has kept."""
    return _remembered(ReadCatalog(attempts.load_catalog(text), (), StoredCatalog(digest, text)))


def _remembered(catalog: ReadCatalog) -> ReadCatalog:
    """The catalog, found by its hash from now on. What a hash stands for never changes, so this is safe to share."""
    if catalog.kept is not None:
        _known[catalog.kept.digest] = catalog._replace(notes=())
        while len(_known) > _LAST:
            del _known[next(iter(_known))]
    return catalog


@lru_cache(maxsize=_LAST)
def _read(text: str, text_chars: int, words: int, characters: int) -> ReadCatalog:
    limits = Limits(max_query_chars=text_chars, max_catalog_words=words, max_catalog_chars=characters)
    entries, notes = shown.bounded(read_catalog(_clean(json.loads(text)), limits=limits), limits)
    kept = attempts.dump_catalog(entries)
    return _remembered(ReadCatalog(entries, notes, StoredCatalog(hashlib.sha256(kept.encode()).hexdigest(), kept)))


def _clean(catalog: list[Any]) -> list[Any]:
    """The catalog cleaned. A vocabulary is read as one text, and word by word only where that text changes."""
    entries: list[Any] = []
    for entry in catalog:
        given = dict(cast("dict[str, Any]", entry)) if isinstance(entry, dict) else {}
        words: Any = given.pop("vocabulary", None)
        if isinstance(words, list) and all(isinstance(word, str) for word in cast("list[Any]", words)):
            text = "\n".join(cast("list[str]", words))
            entries.append({**clean(given), "vocabulary": cast("Any", words if clean(text) == text else clean(words))})
        else:
            entries.append(clean(entry))
    return entries


# How the engine replans a search: the mechanical plan, or a proposed one checked, and its attempts.


@dataclass(frozen=True, kw_only=True)
class _Call:
    """A call on top of what the calls before it left.

    `state` are the attempts that the plan is made from, `version` counts those calls, and `again` is their
    result where the call asks for nothing new.
    """

    request: SearchRequest
    catalog: ReadCatalog
    state: SearchState
    version: int | None = None
    again: SearchPlan | None = None

    @cached_property
    def mechanical(self) -> Plan:
        """What rules would do."""
        return planner.plan(self.request, self.state)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Thought:
    """A plan that somebody proposes, or nothing; why nobody above rules did, and whether time ran out."""

    thinker: str = RULES
    proposal: Proposal | None = None
    note: str | None = None
    stopped: str | None = None


async def replan(context: Context, arguments: Mapping[str, Any], host: ClientCapabilities) -> SearchPlan:
    """Plan the next queries of a search that found nothing.

    Calls on one search may come at once, in one process or in several: each is planned on top of the ones
    that were kept before it. Where one was kept meanwhile, it is planned again, and nobody is asked twice.
    """
    sent = read(ReplanArguments, arguments, context.settings)
    scope = context.scopes.named(sent.project)
    given = read_sent_catalog(sent.catalog, context.settings)
    search_id = sent.search_id or context.clock.new_id("srch")
    model_result: _Thought | None = None
    while True:
        call = await _opened(context, scope, sent, search_id, given)
        if call.again is not None:
            return call.again
        model_result = model_result or await _think(context, sent, call, host)
        plan, model_result = _plan(model_result, call)
        plan = replace(plan, notes=(*call.catalog.notes, *_held_back(sent), *plan.notes))
        after = attempts.record(call.state, call.request, plan)
        ts = iso(context.clock.now())
        body: dict[str, Any] = {
            "request": attempts.dump_request(call.request),
            "catalog": call.catalog.kept and call.catalog.kept.digest,
            "state": attempts.dump_state(after),
            "thinker": model_result.thinker,
            "note": model_result.note,
            "stopped": model_result.stopped,
            "analysis": _digest(sent.analysis),
            "ts": ts,
        }
        if await context.bank.searches.save(
            scope,
            search_id,
            body,
            version=call.version,
            learned=after.learned,
            catalog=given.kept,
        ):
            break
    context.log("search_replanned", search_id=search_id, strategy=plan.strategy.value, thinker=model_result.thinker)
    result = _result(search_id, after, body)
    return replace(result, notes=(*result.notes, *sent.ignored))


async def plan_for_graph(context: Context, request: SearchRequest, state: SearchState) -> Plan:
    """Plan for a graph that keeps its own state: by the configured model, checked, else by rules. Nothing is stored."""
    call = _Call(request=request, catalog=NONE, state=state)
    proposed = await _ask(context, call, NO_CLIENT)
    return _plan(proposed, call)[0]


async def settle(context: Context, scope: Scope, search_id: str, *, paid: float) -> None:
    """Learn from what is told to have come of a search's last plan; `paid` is in 0..1."""
    while True:
        before = await context.bank.searches.load(scope, search_id)
        state = attempts.settle(attempts.load_state(before.body["state"]), paid=paid)
        body = {**before.body, "state": attempts.dump_state(state)}
        if await context.bank.searches.save(scope, search_id, body, version=before.version, learned=state.learned):
            return


async def _opened(context: Context, scope: Scope, sent: ReplanArguments, search_id: str, given: ReadCatalog) -> _Call:
    """The call on top of what is kept now."""
    payoffs = await context.bank.searches.payoffs(scope)
    if sent.search_id is None:
        made = _request(context, sent, search_id, given)
        return _Call(request=made, catalog=given, state=SearchState(search_id=search_id, payoffs=payoffs))
    body, version = await context.bank.searches.load(scope, search_id)
    catalog = given if given.kept or not body["catalog"] else await _stored_catalog(context, scope, body["catalog"])
    request = _request(context, sent, search_id, catalog, body)
    state = replace(attempts.load_state(body["state"]), payoffs=payoffs)
    same = body["request"] == attempts.dump_request(request) and body["catalog"] == (
        catalog.kept and catalog.kept.digest
    )
    asked_again = sent.analysis is None or body["analysis"] == _digest(sent.analysis)
    again = _result(search_id, state, body) if same and state.pending and asked_again else None
    # Nothing of the pending plan was run where the call reports nothing: it is replaced, and costs no retry.
    state = attempts.reopen(state) if same or not _reports(sent) else state
    return _Call(request=request, catalog=catalog, state=state, version=version, again=again)


async def _stored_catalog(context: Context, scope: Scope, digest: str) -> ReadCatalog:
    """The catalog of the calls before."""
    if (known := known_catalog(digest)) is not None:
        return known
    text = await context.bank.searches.catalog(scope, digest)
    if text is None:
        return ReadCatalog((), ("the catalog of this search is kept no longer: send it again",), None)
    return of_kept(text, digest)


def _request(
    context: Context,
    sent: ReplanArguments,
    search_id: str,
    catalog: ReadCatalog,
    before: Mapping[str, Any] | None = None,
) -> SearchRequest:
    """The call as a value; what it leaves out is taken from the call before."""
    kept = None if before is None else attempts.load_request(before["request"], catalog.entries)
    counts = None if sent.results is None else read_results(sent.results)
    queries = read_queries(clean(sent.queries), limits=context.settings)
    if before is not None and not queries:
        queries = _handed_out(before)
    made = SearchRequest(
        search_id=search_id,
        user_message=clean(sent.user_message or (kept.user_message if kept else "")),
        queries=queries,
        results=None if counts is None else {clean(table): count for table, count in counts.items()},
        zero_result_tables=tuple(clean(list(sent.zero_result_tables))),
        retry_count=sent.retry_count,
        catalog=catalog.entries,
        suggestions=_offered(sent),
        max_retries=context.settings.max_retries,
    )
    if kept is None:
        return made
    if sent.user_message is not None and made.user_message != kept.user_message:
        raise InputError(
            "user_message", f"it differs from what {kept.search_id} holds", "Leave it out, or search anew."
        )
    made = replace(made, suggestions=made.suggestions or kept.suggestions)
    return made if _reports(sent) else replace(kept, suggestions=made.suggestions, catalog=made.catalog)


def _offered(sent: ReplanArguments) -> tuple[str, ...]:
    """What the search tool proposed, without what orders its reader about: it would come back as a query."""
    return tuple(one for one in clean(list(sent.suggestions)) if suspicion([one]) is None)


def _held_back(sent: ReplanArguments) -> tuple[str, ...]:
    count = len(sent.suggestions) - len(_offered(sent)) if sent.suggestions else 0
    return (f"{count} of the suggestions left out: they read as orders to their reader",) if count else ()


def _reports(sent: ReplanArguments) -> bool:
    """Whether the call says what was run or found."""
    return bool(sent.queries or sent.results is not None or sent.zero_result_tables)


def _handed_out(before: Mapping[str, Any]) -> tuple[Query, ...]:
    """What a report without queries is about: the plan that was handed out, else the queries before it."""
    pending = attempts.load_state(before["state"]).pending
    ran = pending.new_queries if pending else ()
    return ran or attempts.load_request(before["request"]).queries


async def _think(context: Context, sent: ReplanArguments, call: _Call, host: ClientCapabilities) -> _Thought:
    """What the caller proposes, else a language model where one may be asked, else nothing."""
    if sent.analysis is not None:
        return _Thought(thinker=HOST, proposal=_proposed(sent.analysis, context.settings))
    return await _ask(context, call, host)


async def _ask(context: Context, call: _Call, host: ClientCapabilities) -> _Thought:
    """What a language model proposes, else nothing."""
    if not context.settings.replan_llm or floor.is_closed(call.mechanical, call.request, call.state):
        return _Thought()
    found = await context.runner.generate(
        Role.PLANNER,
        "replan",
        shown.inputs(call.request, call.state),
        host=host,
        read=lambda value: read_proposal(clean(value), "reply"),
    )
    return _Thought(
        thinker=found.thinker or RULES,
        proposal=found.value,
        note=found.note,
        stopped="deadline" if found.late else None,
    )


def _plan(model_result: _Thought, call: _Call) -> tuple[Plan, _Thought]:
    """The proposal held to its floor, else the mechanical plan; and the model_result, which rules take over then."""
    if model_result.proposal is None:
        return call.mechanical, model_result
    plan = floor.accept(model_result.proposal, call.request, call.state)
    if not floor.UNUSED & set(plan.notes):
        return plan, model_result
    note = model_result.note or f"the plan of {model_result.thinker} was not used: see notes"
    return plan, replace(model_result, thinker=RULES, note=note)


def _proposed(analysis: Any, limits: Limits) -> Proposal:
    """The host's plan: an object, or text that holds one."""
    if isinstance(analysis, str):
        found = read_object(analysis, {"reasoning", "strategy", "user_message", "new_queries"})
        if found is None:
            raise InputError(
                "analysis", "it holds no JSON object", "Send {reasoning, strategy, user_message, new_queries}."
            )
        analysis = found
    return read_proposal(clean(analysis), limits=limits)


def _result(search_id: str, state: SearchState, body: Mapping[str, Any]) -> SearchPlan:
    plan = state.pending
    assert plan is not None  # noqa: S101 - recorded by the call that made it
    return SearchPlan(
        search_id=search_id,
        thinker=body["thinker"],
        note=body["note"],
        strategy=plan.strategy,
        reasoning=plan.reasoning,
        user_message=plan.user_message,
        new_queries=plan.new_queries,
        kept_queries=plan.kept,
        give_up=plan.give_up,
        retry_count=plan.retry_count,
        original_queries=state.original_queries,
        notes=plan.notes,
        stopped=body["stopped"],
        thinking={
            "message": plan.user_message,
            "strategy": plan.strategy.value,
            "retry_count": plan.retry_count,
            "ts": body["ts"],
        },
        next=_next(search_id) if plan.new_queries and body["thinker"] == RULES else {},
    )


def _next(search_id: str) -> dict[str, object]:
    """What the agent does with the plan, and how it sends a better one."""
    return {
        "why": "Run new_queries, then report queries and results with search_id. Or send a better plan.",
        "tool": "replan_search",
        "arguments": {
            "search_id": search_id,
            "analysis": {
                "reasoning": "why it found nothing",
                "strategy": "relax | rewrite | pivot",
                "user_message": "one friendly sentence",
                "new_queries": [{"table": "where to search", "query_text": "what for"}],
            },
        },
    }


def _digest(analysis: Any) -> str | None:
    return None if analysis is None else hashlib.sha256(json.dumps(analysis, sort_keys=True).encode()).hexdigest()[:32]
