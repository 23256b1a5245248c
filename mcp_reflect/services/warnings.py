"""A warning before a call that is known to fail, and what the agent then did."""

import hashlib
import json
import time
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any, Final, NamedTuple

from mcp_reflect.analysis.known_failures import Forms, correction_text, due, forms_of, lessons_text, warning_text
from mcp_reflect.analysis.output_digest import digest
from mcp_reflect.analysis.tools import is_own_tool, may_change, without_labels
from mcp_reflect.config import Scopes
from mcp_reflect.errors import BankError, InputError
from mcp_reflect.models.common import Json, Scope
from mcp_reflect.models.lesson import RecallQuery, Trust, with_id
from mcp_reflect.models.run import ErrorCategory, WorkedCall
from mcp_reflect.models.warning import AfterCall, CallWarning, KnownFailure, Match, SessionState
from mcp_reflect.security.redact import clean
from mcp_reflect.services.context import Context
from mcp_reflect.signature import fingerprint
from mcp_reflect.storage.screening import suspicion_of
from mcp_reflect.storage.spool import Spool

_MOST_TEXT: Final = 2_000  # characters of a text among the arguments that are stored
_MOST_DEPTH: Final = 20
_MOST_LESSONS: Final = 3  # at the start of a session, and at each prompt
_LEAST_HELD: Final = 2  # sessions in which a call has failed, and never worked since, before it is refused
_CANDIDATES: Final = 50  # latest lessons from which those for a start are chosen
_MOST_PROMPT: Final = 4_000  # characters of a prompt that lessons are recalled by
_MOST_SPOOLED: Final = 20  # calls that are taken in at once
_AT_A_CALL: Final = "call:"  # before the id of a lesson that a session was shown at a call; the prompt shows it earlier
_LOOK_BACK: Final = 30  # calls of a session in which a failure may be corrected by a call that works

# Where the error only says that a thing does not exist, another call's correction names another thing.
_OF_ONE_CALL: Final = frozenset({ErrorCategory.NO_RESULT, ErrorCategory.NOT_FOUND, ErrorCategory.ASSERTION})


class _SessionCall(NamedTuple):
    """A call without secrets, its session, and the known failures of the same call and of the same tool or command."""

    scope: Scope
    tool: str
    arguments: Json
    forms: Forms
    state: SessionState
    same_call: list[KnownFailure]
    same_head: list[KnownFailure]


def held_out(session: str, share: float) -> bool:
    """True if a session is watched and not warned, for comparison. Depends on its id alone."""
    return int.from_bytes(hashlib.sha256(session.encode("utf-8", "replace")).digest()[:4]) < share * 2**32


async def session_state(context: Context, scope: Scope, session: str) -> SessionState:
    """Return the state of a session; InputError for an id that cannot be one."""
    if not session.strip() or len(session) > 200:
        raise InputError("session", "it is empty or longer than 200 characters", "Send the id of the session.")
    session = clean(session)
    return await context.bank.warnings.session(scope, session, held_out=held_out(session, context.settings.holdout))


async def _look_up(context: Context, tool: str, arguments: Json, session: str, project: str | None) -> _SessionCall:
    scope = context.scopes.named(project)
    if not tool.strip():
        raise InputError("tool", "it is empty", "Send the name of the tool.")
    tool = clean(tool.strip()[:200])
    try:
        arguments = clean(without_labels(tool, arguments))
        forms = forms_of(tool, arguments)
    except RecursionError:
        raise InputError("arguments", "they are nested too deep", "Send flatter JSON.") from None
    state = await session_state(context, scope, session)
    same_call, same_head = await context.bank.warnings.known_failures(
        scope, state.id, bare=forms.bare_key, loose=forms.loose_key, head=forms.head
    )
    return _SessionCall(scope, tool, arguments, forms, state, same_call, same_head)


async def before_call(
    context: Context,
    tool: str,
    arguments: Json,
    *,
    session: str,
    call_id: str | None = None,
    project: str | None = None,
) -> CallWarning | None:
    """Return the warning that is due before a call, or None. In a session that is held out it is only recorded."""
    if is_own_tool(tool, arguments):
        return None
    call = await _look_up(context, tool, arguments, session, project)
    warning = due(call.tool, call.arguments, call.forms, call.same_call, call.same_head, call.state)
    if warning is None or warning.certainty < context.settings.warn_certainty:
        return None
    lesson_id, lesson = await _lesson(context, call, warning.known)
    text = warning_text(warning, lesson)
    exact = call.forms.exact_key
    hold = context.settings.hold and warning.match is Match.EXACT and warning.known.cases >= _LEAST_HELD
    hold = hold and not await context.bank.warnings.was_warned(call.scope, call.state.id, exact)
    record: dict[str, Any] = {"exact": exact, "call_id": call_id, "lesson": lesson_id, "size": len(text)}
    try:
        warning_id = await context.bank.warnings.add(call.scope, call.state, warning, **record)
    except BankError:  # read-only or busy: the warning is worth more than its record
        warning_id = None
    context.log("call_warned", warning_id=warning_id, match=warning.match.value, shown=not call.state.held_out)
    if call.state.held_out:
        return None
    await _note_lesson(context, call, lesson_id)
    return CallWarning(
        warning_id=warning_id,
        text=text,
        match=warning.match,
        certainty=warning.certainty,
        times=warning.times,
        error=warning.known.error,
        worked=warning.known.worked,
        lesson_id=lesson_id,
        hold=hold and warning_id is not None,  # what is not recorded would be refused again
    )


async def note_spooled(context: Context, spool: Spool, seconds: float) -> None:
    """Note calls that hooks had no time for, each for the project of its hook, for at most `seconds`."""
    ends = time.monotonic() + seconds
    spool.take(_MOST_SPOOLED)
    with suppress(BankError):
        while spool.pending and time.monotonic() < ends:
            record = dict(spool.pending[0])
            own = replace(context.scopes.own, project=record.pop("project", None) or context.scopes.own.project)
            session = record.pop("session", None) or context.clock.new_id("ses")
            with suppress(InputError, TypeError):  # a line of another release
                await after_call(replace(context, scopes=Scopes(own)), session=session, **record)
            spool.pending.pop(0)
    spool.keep()


async def after_call(
    context: Context,
    tool: str,
    arguments: Json,
    result: Json = None,
    *,
    error: str | None = None,
    session: str,
    project: str | None = None,
) -> AfterCall:
    """Record the result of a call. It failed where `error` is given, or where rules read a failure in `result`."""
    from mcp_reflect.analysis.known_failures import failure_of  # noqa: PLC0415 - not needed before a call

    if is_own_tool(tool, arguments):
        return AfterCall(failed=False)
    call = await _look_up(context, tool, arguments, session, project)
    forms, state, warnings = call.forms, call.state, context.bank.warnings
    answered = _answered(call.tool, call.arguments, clean(result), clean(error))
    fault = answered.fault
    expected = due(call.tool, call.arguments, forms, call.same_call, call.same_head, state, failed=fault is not None)
    recurrence = fault is not None and expected is not None and expected.match is Match.EXACT
    failure = None if fault is None else failure_of(call.tool, _shortened(call.arguments), fault, "", forms=forms)
    was_warned = await warnings.note_call(
        call.scope,
        state,
        WorkedCall(bare=forms.bare_key, exact=forms.exact_key),
        head=forms.head,
        failure=failure,
        judged=failure is not None and any(known.error == failure.error for known in call.same_call),
        recurrence=recurrence,
        changed=fault is None and may_change(call.tool, call.arguments),
        output=digest(f"{answered.answer}\n{answered.error}"),
    )
    if failure is None:
        await _record_correction(context, call)
        return AfterCall(failed=False)
    context.log("failure_noted", signature=failure.signature, recurrence=recurrence)
    after = AfterCall(failed=True, recurrence=recurrence, signature=failure.signature)
    if was_warned or state.held_out:
        return after
    if recurrence and expected is not None:
        lesson_id, lesson = await _lesson(context, call, expected.known)
        await _note_lesson(context, call, lesson_id)
        return replace(after, text=correction_text(expected.known, lesson, same_call=True), lesson_id=lesson_id)
    if failure.category not in _OF_ONE_CALL:  # another call with the same error: only its correction helps
        for known in await warnings.same_error(call.scope, call.tool, failure.fingerprint):
            lesson_id, lesson = await _lesson(context, call, known)
            if known.exact != forms.exact_key and (lesson or known.worked is not None):
                await _note_lesson(context, call, lesson_id)
                return replace(after, text=correction_text(known, lesson, same_call=False), lesson_id=lesson_id)
    return after


async def remind(context: Context, session: str, task: str | None = None, *, anew: bool = False) -> str | None:
    """Return at most three lessons that a session has not been shown, or None.

    With a task they surely fit it. Without, they are those of the whole project that a person vouched for, without a
    task type. `anew` forgets what the session has been shown.
    """
    scope = context.scopes.own
    state = await session_state(context, scope, session)
    state = replace(state, shown=()) if anew else state
    if task is None:
        latest = await context.bank.lessons.latest(scope, limit=_CANDIDATES)
        general = (lesson for lesson in latest if lesson.trust is Trust.TRUSTED and not lesson.task_type)
        texts = [(lesson.id, lesson.text) for lesson in general if not suspicion_of(lesson)]
    else:
        limit = min(_MOST_LESSONS + len(state.shown), 50)
        query = RecallQuery(task=clean(task[:_MOST_PROMPT]), limit=limit, max_chars=10_000, strong_only=True)
        recall = await context.bank.recalls.recall(scope, query, applied=False) if query.task.strip() else None
        texts = [(hit.id, hit.text) for hit in recall.lessons] if recall else []
    new = list(islice((pair for pair in texts if pair[0] not in state.shown), _MOST_LESSONS))
    try:
        if new or anew:
            await context.bank.warnings.note_shown(scope, state, [name for name, _ in new])
    except BankError:  # shown again the next time, which is better than not at all
        context.log("lessons_not_counted", "debug", session=session)
    return lessons_text([with_id(*pair) for pair in new]) if new else None


def _shortened(value: Json, depth: int = 0) -> Json:
    """Return arguments as they are stored: long texts are cut, deep members left out."""
    if isinstance(value, str):
        half = _MOST_TEXT // 2
        return value if len(value) <= _MOST_TEXT else f"{value[:half]} ... {value[-half:]}"
    if depth >= _MOST_DEPTH and isinstance(value, dict | list):
        return "..."
    if isinstance(value, dict):
        return {key: _shortened(item, depth + 1) for key, item in [*value.items()][:100]}
    return [_shortened(item, depth + 1) for item in value[:100]] if isinstance(value, list) else value


def _answered(tool: str, arguments: Json, result: Json, error: str | None) -> Any:
    """Return a call with its answer, as the analysis reads it."""
    from mcp_reflect.analysis.calls import Call  # noqa: PLC0415 - not needed before a call

    answer = result if isinstance(result, str) else "" if result is None else json.dumps(result, ensure_ascii=False)
    shared: dict[str, Any] = {"event_id": "", "answer_id": "", "answered": True}
    marked = error is not None
    return Call(tool=tool, arguments=arguments, answer=answer, error=error or "", marked=marked, **shared)


async def _lesson(context: Context, call: _SessionCall, known: KnownFailure) -> tuple[str | None, str | None]:
    """Return the id of the lesson that has the failure's error among its symptoms, and its text, or None twice.

    At the calls of a session a lesson is shown once; then its id stands for it.
    """
    for lesson in await context.bank.warnings.lessons_of(call.scope, known):
        named = any(fingerprint(symptom) == known.fingerprint for symptom in lesson.symptoms)
        if named and not suspicion_of(lesson):
            shown = _AT_A_CALL + lesson.id in call.state.shown
            return lesson.id, with_id(lesson.id, "shown before in this session" if shown else lesson.text)
    return None, None


async def _note_lesson(context: Context, call: _SessionCall, lesson_id: str | None) -> None:
    if lesson_id and _AT_A_CALL + lesson_id not in call.state.shown:
        with suppress(BankError):  # shown again the next time, which is better than not at all
            await context.bank.warnings.note_shown(call.scope, call.state, (lesson_id, _AT_A_CALL + lesson_id))


async def _record_correction(context: Context, call: _SessionCall) -> None:
    """Record the call that just worked as the correction of the latest failure of the session with the same intent."""
    oldest = call.state.step - _LOOK_BACK
    recent = [known for known in call.same_head if known.worked is None and known.last_step > oldest]
    if not recent:
        return
    from mcp_reflect.analysis.related_calls import same_intent  # noqa: PLC0415 - not needed before a call

    worked = _answered(call.tool, call.arguments, "ok", None)
    for known in recent:
        failed = _answered(known.tool, known.arguments, None, known.error)
        if failed.exact != worked.exact and same_intent(failed, worked):
            await context.bank.warnings.note_correction(call.scope, known, _shortened(call.arguments))
            return
