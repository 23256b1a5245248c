"""A warning before a call that is known to fail, and what the agent then did."""

import hashlib
import json
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from mcp_reflect.analysis.known_failures import (
    Forms,
    correction_text,
    due,
    forms_of,
    known_text,
    lessons_text,
    warning_text,
)
from mcp_reflect.analysis.tools import is_own_tool, may_change, without_labels
from mcp_reflect.errors import BankError, InputError
from mcp_reflect.models.common import Json, Scope
from mcp_reflect.models.lesson import Lesson, RecallQuery, Trust
from mcp_reflect.models.run import ErrorCategory, WorkedCall
from mcp_reflect.models.warning import AfterCall, CallWarning, KnownFailure, Match, SessionState
from mcp_reflect.security.redact import clean
from mcp_reflect.services.context import Context
from mcp_reflect.signature import fingerprint

MOST_TEXT: Final = 2_000  # characters of a text among the arguments that are kept
MOST_DEPTH: Final = 20
MOST_LESSONS: Final = 3  # at the start of a session, and at each prompt
MOST_LOOKED_AT: Final = 50  # lessons that the ones for a start are chosen from
MOST_PROMPT: Final = 4_000  # characters of a prompt that lessons are looked for by
LOOK_BACK: Final = 30  # calls of a session in which the failure may lie that a working call puts right

# Where the error only says that a thing is not there, another call's correction names another thing.
_OF_ONE_CALL: Final = frozenset({ErrorCategory.NO_RESULT, ErrorCategory.NOT_FOUND, ErrorCategory.ASSERTION})
_ANSWERS: Final = frozenset({ErrorCategory.NO_RESULT, ErrorCategory.ASSERTION})  # what was asked for, if unwelcome


def held_out(session: str, share: float) -> bool:
    """Whether a session is one that is only watched, to compare with: by its id, so always the same ones."""
    return int.from_bytes(hashlib.sha256(session.encode("utf-8", "replace")).digest()[:4]) < share * 2**32


async def session_state(context: Context, scope: Scope, session: str) -> SessionState:
    """What is remembered of a session; InputError where its id is none."""
    if not session.strip() or len(session) > 200:
        raise InputError("session", "it is empty or longer than 200 characters", "Send the id of the session.")
    return await context.bank.warnings.session(scope, session, held_out=held_out(session, context.settings.holdout))


async def before_call(
    context: Context,
    tool: str,
    arguments: Json,
    *,
    session: str,
    call_id: str | None = None,
    project: str | None = None,
) -> CallWarning | None:
    """The warning that is due before a call, or null; in a session that is held out it is only noted."""
    if is_own_tool(tool, arguments):
        return None
    scope = context.scopes.named(project)
    tool, arguments, forms = _read(tool, arguments)
    state = await session_state(context, scope, session)
    keys = {"bare": forms.bare_key, "loose": forms.loose_key, "head": forms.head}
    calls, heads = await context.bank.warnings.known_failures(scope, session, **keys)
    found = due(tool, arguments, forms, calls, heads, state)
    if found is None or found.certainty < context.settings.warn_certainty:
        return None
    lesson_id, lesson = await _lesson(context, scope, found.known)
    text = warning_text(found, lesson)
    try:
        warning_id = await context.bank.warnings.add(
            scope, state, found, exact=forms.exact_key, call_id=call_id, lesson=lesson_id, size=len(text)
        )
    except BankError:  # it can only be read, or another process writes: the word is worth more than the note
        warning_id = None
    context.log("call_warned", warning_id=warning_id, match=found.match.value, shown=not state.held_out)
    if state.held_out:
        return None
    return CallWarning(
        warning_id=warning_id,
        text=text,
        match=found.match,
        certainty=found.certainty,
        times=found.times,
        error=found.known.error,
        worked=found.known.worked,
        lesson_id=lesson_id,
    )


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
    """Note what came of a call. It failed where `error` is given, or where the rules read a failure in `result`."""
    from mcp_reflect.analysis.call_results import fault_of  # noqa: PLC0415 - same
    from mcp_reflect.analysis.known_failures import failure_of  # noqa: PLC0415 - not needed before a call

    if is_own_tool(tool, arguments):
        return AfterCall(failed=False)
    scope = context.scopes.named(project)
    tool, arguments, forms = _read(tool, arguments)
    state = await session_state(context, scope, session)
    fault = fault_of(_call(tool, arguments, clean(result), clean(error)))
    keys = {"bare": forms.bare_key, "loose": forms.loose_key, "head": forms.head}
    calls, heads = await context.bank.warnings.known_failures(scope, session, **keys)
    expected = due(tool, arguments, forms, calls, heads, state, failed=fault is not None)
    recurrence = fault is not None and expected is not None and expected.match is Match.EXACT
    failure = None if fault is None else failure_of(tool, _kept(arguments), fault, "", forms=forms)
    told = await context.bank.warnings.note_call(
        scope,
        state,
        WorkedCall(bare=forms.bare_key, exact=forms.exact_key),
        head=forms.head,
        failure=failure,
        recurrence=recurrence,
        changed=fault is None and may_change(tool, arguments),
    )
    if failure is None:
        await _correct(context, scope, state, tool, arguments, [known for known in heads if known.worked is None])
        return AfterCall(failed=False)
    context.log("failure_noted", signature=failure.signature, recurrence=recurrence)
    if told or state.held_out:
        return AfterCall(failed=True, recurrence=recurrence, signature=failure.signature)
    known = expected.known if recurrence and expected else None
    others = (
        ()
        if failure.category in _OF_ONE_CALL
        else await context.bank.warnings.same_error(scope, tool, failure.fingerprint)
    )
    text, lesson_id = await _correction(context, scope, known, [one for one in others if one.exact != forms.exact_key])
    return AfterCall(failed=True, recurrence=recurrence, signature=failure.signature, text=text, lesson_id=lesson_id)


async def remind(context: Context, session: str, task: str | None = None, *, anew: bool = False) -> str | None:
    """At most three lessons that a session has not been shown: those that fit the task, else the best there are.

    Where these are fewer, calls that keep failing and that no lesson is known of take their place.
    """
    scope = context.scopes.own
    state = await session_state(context, scope, session)
    state = replace(state, shown=()) if anew else state
    if task is None:
        held = await context.bank.lessons.latest(scope, limit=MOST_LOOKED_AT)
        best = sorted(held, key=_standing, reverse=True)
        found = [(lesson.id, lesson.text) for lesson in best if lesson.trust is not Trust.QUARANTINED]
        often = await context.bank.warnings.most_frequent(scope, MOST_LESSONS)
        found += [
            (f"failure {known.signature}", known_text(known))
            for known in often
            if known.category not in _ANSWERS and known.worked is None
        ]
    else:
        ask = RecallQuery(
            task=clean(task[:MOST_PROMPT]),
            limit=min(MOST_LESSONS + len(state.shown), 50),
            max_chars=10_000,
            strong_only=True,
        )
        recalled = await context.bank.recalls.recall(scope, ask, applied=False) if ask.task.strip() else None
        found = [(hit.id, hit.text) for hit in recalled.lessons] if recalled else []
    new = (pair for pair in found if pair[0] not in state.shown and not _is_suspicious(pair[1]))
    new = list(islice(new, MOST_LESSONS))
    if not new:
        return None
    try:
        await context.bank.warnings.note_shown(scope, state, [name for name, _ in new])
    except BankError:  # shown again the next time, which is better than not at all
        context.log("lessons_not_counted", "debug", session=session)
    return lessons_text([text for _, text in new])


def _is_suspicious(text: str) -> bool:
    """True if a hook must not show the text, whoever wrote it: nobody asked for it, and a model reads it."""
    from mcp_reflect.security.injection import suspicion  # noqa: PLC0415 - few calls show anything

    return suspicion((text,)) is not None


def _standing(lesson: Lesson) -> tuple[int, float, float, float]:
    """What is proven and did the most good comes first."""
    trusted = lesson.trust in (Trust.TRUSTED, Trust.CONFIRMED)
    return int(trusted), lesson.wins - lesson.losses, lesson.importance, lesson.updated_at


def _read(tool: str, arguments: Json) -> tuple[str, Json, Forms]:
    """The call without secrets, and its forms."""
    if not tool.strip():
        raise InputError("tool", "it is empty", "Send the name of the tool.")
    tool = clean(tool.strip()[:200])
    try:
        arguments = clean(without_labels(tool, arguments))
        return tool, arguments, forms_of(tool, arguments)
    except RecursionError:
        raise InputError("arguments", "they are nested too deep", "Send flatter JSON.") from None


def _kept(value: Json, depth: int = 0) -> Json:
    """Arguments as they are kept: long texts cut, what is nested deep left out."""
    if isinstance(value, str):
        return value if len(value) <= MOST_TEXT else f"{value[: MOST_TEXT // 2]} ... {value[-MOST_TEXT // 2 :]}"
    if depth >= MOST_DEPTH and isinstance(value, dict | list):
        return "..."
    if isinstance(value, dict):
        return {key: _kept(item, depth + 1) for key, item in [*value.items()][:100]}
    if isinstance(value, list):
        return [_kept(item, depth + 1) for item in value[:100]]
    return value


def _call(tool: str, arguments: Json, result: Json, error: str | None) -> Any:
    from mcp_reflect.analysis.calls import Call  # noqa: PLC0415 - not needed before a call

    answer = result if isinstance(result, str) else "" if result is None else json.dumps(result, ensure_ascii=False)
    return Call(
        event_id="",
        position=0,
        tool=tool,
        arguments=arguments,
        spoken=0,
        answer_id="",
        answer=answer,
        answered=True,
        error=error or "",
        marked=error is not None,
    )


async def _lesson(context: Context, scope: Scope, known: KnownFailure) -> tuple[str | None, str | None]:
    """The lesson that names the failure's error among its symptoms; its id and text."""
    for lesson in await context.bank.warnings.lessons_of(scope, known):
        known_by = any(fingerprint(symptom) == known.fingerprint for symptom in lesson.symptoms)
        if known_by and not _is_suspicious(lesson.text):
            return lesson.id, lesson.text
    return None, None


async def _correction(
    context: Context, scope: Scope, known: KnownFailure | None, others: list[KnownFailure]
) -> tuple[str | None, str | None]:
    """What to say after a failure: of this very call what is known, of another one only its correction."""
    if known is not None:
        lesson_id, lesson = await _lesson(context, scope, known)
        return correction_text(known, lesson, same_call=True), lesson_id
    for other in others:
        lesson_id, lesson = await _lesson(context, scope, other)
        if lesson or other.worked is not None:
            return correction_text(other, lesson, same_call=False), lesson_id
    return None, None


async def _correct(
    context: Context, scope: Scope, state: SessionState, tool: str, arguments: Json, open_failures: list[KnownFailure]
) -> None:
    """Remember the call that just worked as the correction of the latest failure that it is tied to."""
    recent = [known for known in open_failures if state.step - known.last_step < LOOK_BACK]
    if not recent:
        return
    from mcp_reflect.analysis.call_results import Fault, Tried  # noqa: PLC0415 - same
    from mcp_reflect.analysis.related_calls import same_intent  # noqa: PLC0415 - same
    from mcp_reflect.signature import exact_call  # noqa: PLC0415 - same

    call = _call(tool, arguments, "ok", None)
    worked = Tried(index=1, call=call, exact=exact_call(tool, arguments), fault=None)
    for known in recent:
        failing = _call(known.tool, known.arguments, None, known.error)
        failed = Tried(
            index=0,
            call=failing,
            exact=exact_call(known.tool, known.arguments),
            fault=Fault(text=known.error, headline=known.error, category=known.category, marked=True),
            fingerprint=known.fingerprint,
        )
        if failed.exact != worked.exact and same_intent(failed, worked):
            await context.bank.warnings.note_correction(scope, known, _kept(arguments))
            return
