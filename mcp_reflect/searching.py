"""How the engine replans a search: the mechanical plan, or a proposed one held to its floor, and the ledger."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any, Final

from mcp_reflect.arguments.search import ReplanShape, read
from mcp_reflect.bank.redaction import clean
from mcp_reflect.errors import InputError
from mcp_reflect.llm.parsing import read_object
from mcp_reflect.llm.protocol import Role
from mcp_reflect.records.scope import Scope
from mcp_reflect.records.search import Plan, Proposal, SearchPlan, SearchRequest, SearchState
from mcp_reflect.replan import floor, ledger, planner, storing
from mcp_reflect.replan.reading import read_catalog, read_proposal, read_queries, read_results
from mcp_reflect.thinking import Host, Parts

RULES: Final = "rules"
HOST: Final = "host"
_SHOWN: Final = 6_000  # characters of queries, catalogue and results that a language model is shown each


async def replan(parts: Parts, arguments: Mapping[str, Any], host: Host) -> SearchPlan:
    """Plan the next queries of a search that found nothing."""
    sent = read(ReplanShape, arguments)
    scope = parts.scopes.named(sent.project)
    payoffs = await parts.bank.workings.payoffs(scope)
    before = None if sent.search_id is None else await parts.bank.workings.load(scope, "search", sent.search_id)
    request = _request(parts, sent, before)
    if before is None:
        state = SearchState(search_id=request.search_id, payoffs=payoffs)
    else:
        state = replace(storing.load_state(before["state"]), payoffs=payoffs)
    answered = before is not None and before["request"] == storing.dump_request(request)
    digest = _digest(sent.analysis)
    if answered and before is not None and (sent.analysis is None or before.get("analysis") == digest):
        return _result(request, state, before["thinker"], before["ts"], before.get("note"))
    open_state = ledger.reopen(state) if answered else state
    plan, thinker, note = await _plan(parts, sent, request, open_state, host)
    after = ledger.record(open_state, request, plan)
    ts = datetime.fromtimestamp(parts.clock.now(), UTC).isoformat(timespec="seconds")
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
    results = None if sent.results is None else read_results(clean(sent.results))
    made = SearchRequest(
        search_id=sent.search_id or parts.clock.new_id("srch"),
        user_message=clean(sent.user_message or (kept.user_message if kept else "")),
        queries=read_queries(clean(sent.queries)),
        results=results,
        zero_result_tables=sent.zero_result_tables,
        retry_count=sent.retry_count,
        catalog=read_catalog(clean(sent.catalog)) or (kept.catalog if kept else ()),
        suggestions=clean(list(sent.suggestions)) and tuple(clean(list(sent.suggestions))),
        max_retries=parts.settings.max_retries,
    )
    if kept is None:
        return made
    if sent.user_message is not None and made.user_message != kept.user_message:
        raise InputError(
            "user_message", f"it differs from what {kept.search_id} holds", "Leave it out, or search anew."
        )
    reported = sent.queries or sent.results is not None or sent.zero_result_tables
    return made if reported else replace(kept, suggestions=made.suggestions or kept.suggestions)


async def _plan(
    parts: Parts, sent: ReplanShape, request: SearchRequest, state: SearchState, host: Host
) -> tuple[Plan, str, str | None]:
    """The plan, who made it, and why nobody above that rung did."""
    if sent.analysis is not None:
        return floor.accept(_proposed(sent.analysis), request, state), HOST, None
    if not parts.settings.replan_llm:
        return planner.plan(request, state), RULES, None
    inputs = {
        "user_message": request.user_message,
        "queries": _shown([asdict(query) for query in request.queries]),
        "results": _shown({"counts": request.results, "empty": request.zero_result_tables}),
        "catalog": _shown([asdict(entry) for entry in request.catalog]),
        "tried": "\n".join(ledger.describe(tried.query) for tried in state.tried),
        "suggestions": "\n".join(request.suggestions),
        "retry_count": max(state.retry_count, request.retry_count),
    }
    thought = await parts.thinking.ask(
        Role.PLANNER, "replan", inputs, host=host, read=lambda value: read_proposal(clean(value), "reply")
    )
    if thought.value is None or thought.thinker is None:
        return planner.plan(request, state), RULES, thought.note
    return floor.accept(thought.value, request, state), thought.thinker, thought.note


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
        next={} if plan.give_up or thinker != RULES else _next(request),
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


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:_SHOWN]


def _digest(analysis: Any) -> str | None:
    return None if analysis is None else hashlib.sha256(json.dumps(analysis, sort_keys=True).encode()).hexdigest()[:32]
