"""How the engine replans a search: the mechanical plan, or a proposed one held to its floor, and the ledger."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from mcp_reflect.arguments.search import ReplanShape, read
from mcp_reflect.bank.redaction import clean
from mcp_reflect.clock import iso
from mcp_reflect.errors import InputError
from mcp_reflect.llm.parsing import read_object
from mcp_reflect.llm.protocol import Role
from mcp_reflect.records.scope import Scope
from mcp_reflect.records.search import Plan, Proposal, Query, SearchPlan, SearchRequest, SearchState
from mcp_reflect.records.thinker import HOST, RULES
from mcp_reflect.replan import floor, ledger, planner, shown, storing
from mcp_reflect.replan.reading import read_catalog, read_proposal, read_queries, read_results
from mcp_reflect.thinking import Host, Parts


async def replan(parts: Parts, arguments: Mapping[str, Any], host: Host) -> SearchPlan:
    """Plan the next queries of a search that found nothing."""
    sent = read(ReplanShape, arguments)
    scope = parts.scopes.named(sent.project)
    payoffs = await parts.bank.workings.payoffs(scope)
    before = None if sent.search_id is None else await parts.bank.workings.load(scope, "search", sent.search_id)
    request, cut = shown.bounded(_request(parts, sent, before))
    if before is None:
        state = SearchState(search_id=request.search_id, payoffs=payoffs)
    else:
        state = replace(storing.load_state(before["state"]), payoffs=payoffs)
    digest = _digest(sent.analysis)
    same = before is not None and before["request"] == storing.dump_request(request)
    if before is not None and same and state.pending and (sent.analysis is None or before.get("analysis") == digest):
        return _result(request, state, before["thinker"], before["ts"], before.get("note"))
    # Nothing of the pending plan was run where the call reports nothing: it is replaced, and costs no retry.
    open_state = ledger.reopen(state) if same or not _reports(sent) else state
    plan, thinker, note = await _plan(parts, sent, request, open_state, host)
    plan = replace(plan, notes=(*cut, *plan.notes))
    after = ledger.record(open_state, request, plan)
    ts = iso(parts.clock.now())
    body: dict[str, Any] = {
        "request": storing.dump_request(request),
        "state": storing.dump_state(after),
        "thinker": thinker,
        "note": note,
        "analysis": digest,
        "ts": ts,
    }
    await parts.bank.workings.keep(scope, "search", request.search_id, body, after.learned)
    parts.log("search_replanned", search_id=request.search_id, strategy=plan.strategy.value, thinker=thinker)
    return _result(request, after, thinker, ts, note)


async def settle(parts: Parts, scope: Scope, search_id: str, *, paid: bool) -> None:
    """Learn from what is told to have come of a search's last plan."""
    body = await parts.bank.workings.load(scope, "search", search_id)
    state = ledger.settle(storing.load_state(body["state"]), paid=paid)
    body = {**body, "state": storing.dump_state(state)}
    await parts.bank.workings.keep(scope, "search", search_id, body, state.learned)


def _request(parts: Parts, sent: ReplanShape, before: dict[str, Any] | None) -> SearchRequest:
    """The call as a value; what it leaves out is taken from the call before."""
    kept = None if before is None else storing.load_request(before["request"])
    counts = None if sent.results is None else read_results(sent.results)
    queries = read_queries(clean(sent.queries))
    if before is not None and not queries:
        queries = _handed_out(before)
    made = SearchRequest(
        search_id=sent.search_id or parts.clock.new_id("srch"),
        user_message=clean(sent.user_message or (kept.user_message if kept else "")),
        queries=queries,
        results=None if counts is None else {clean(table): count for table, count in counts.items()},
        zero_result_tables=tuple(clean(list(sent.zero_result_tables))),
        retry_count=sent.retry_count,
        catalog=read_catalog(_clean_catalog(sent.catalog)) or (kept.catalog if kept else ()),
        suggestions=tuple(clean(list(sent.suggestions))),
        max_retries=parts.settings.max_retries,
    )
    if kept is None:
        return made
    if sent.user_message is not None and made.user_message != kept.user_message:
        raise InputError(
            "user_message", f"it differs from what {kept.search_id} holds", "Leave it out, or search anew."
        )
    made = replace(made, suggestions=made.suggestions or kept.suggestions)
    return made if _reports(sent) else replace(kept, suggestions=made.suggestions, catalog=made.catalog)


def _clean_catalog(catalog: list[Any]) -> list[Any]:
    """The catalogue cleaned. A vocabulary is read as one text, and word by word only where that text changes."""
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


def _reports(sent: ReplanShape) -> bool:
    """Whether the call says what was run or found."""
    return bool(sent.queries or sent.results is not None or sent.zero_result_tables)


def _handed_out(before: Mapping[str, Any]) -> tuple[Query, ...]:
    """What a report without queries is about: the plan that was handed out, else the queries before it."""
    pending = storing.load_state(before["state"]).pending
    ran = pending.new_queries if pending else ()
    return ran or storing.load_request(before["request"]).queries


async def _plan(
    parts: Parts, sent: ReplanShape, request: SearchRequest, state: SearchState, host: Host
) -> tuple[Plan, str, str | None]:
    """The plan, who made it, and why nobody above that rung did."""
    if sent.analysis is not None:
        return _accepted(_proposed(sent.analysis), HOST, None, request, state)
    mechanical = planner.plan(request, state)
    if not parts.settings.replan_llm or floor.is_closed(mechanical, request, state):
        return mechanical, RULES, None
    thought = await parts.thinking.ask(
        Role.PLANNER,
        "replan",
        shown.inputs(request, state),
        host=host,
        read=lambda value: read_proposal(clean(value), "reply"),
    )
    if thought.value is None or thought.thinker is None:
        return mechanical, RULES, thought.note
    return _accepted(thought.value, thought.thinker, thought.note, request, state)


def _accepted(
    proposal: Proposal, thinker: str, note: str | None, request: SearchRequest, state: SearchState
) -> tuple[Plan, str, str | None]:
    """The proposal held to its floor; where nothing of it is left, rules have planned."""
    plan = floor.accept(proposal, request, state)
    if floor.UNUSED & set(plan.notes):
        return plan, RULES, note or f"the plan of {thinker} was not used: see notes"
    return plan, thinker, note


def _proposed(analysis: Any) -> Proposal:
    """The host's plan: an object, or text that holds one."""
    if isinstance(analysis, str):
        found = read_object(analysis, {"reasoning", "strategy", "user_message", "new_queries"})
        if found is None:
            raise InputError(
                "analysis", "it holds no JSON object", "Send {reasoning, strategy, user_message, new_queries}."
            )
        analysis = found
    return read_proposal(clean(analysis))


def _result(request: SearchRequest, state: SearchState, thinker: str, ts: str, note: str | None) -> SearchPlan:
    plan = state.pending
    assert plan is not None  # noqa: S101 - recorded by the call that made it
    return SearchPlan(
        search_id=request.search_id,
        thinker=thinker,
        note=note,
        strategy=plan.strategy,
        reasoning=plan.reasoning,
        user_message=plan.user_message,
        new_queries=plan.new_queries,
        kept_queries=plan.kept,
        give_up=plan.give_up,
        retry_count=plan.retry_count,
        original_queries=state.original_queries,
        notes=plan.notes,
        thinking={
            "message": plan.user_message,
            "strategy": plan.strategy.value,
            "retry_count": plan.retry_count,
            "ts": ts,
        },
        next=_next(request) if plan.new_queries and thinker == RULES else {},
    )


def _next(request: SearchRequest) -> dict[str, object]:
    """What the agent does with the plan, and how it sends a better one."""
    return {
        "why": "Run new_queries, then report queries and results with search_id. Or send a better plan.",
        "tool": "replan_search",
        "arguments": {
            "search_id": request.search_id,
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
