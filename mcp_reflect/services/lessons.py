"""Recall, store, forget, edit and import lessons, and record whether they helped."""

import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Final, TypeVar

from mcp_reflect import services
from mcp_reflect.errors import InputError
from mcp_reflect.evidence.following import names_calls
from mcp_reflect.guards.call import Call
from mcp_reflect.models.common import GLOBAL, Scope
from mcp_reflect.models.critique import ToolResult
from mcp_reflect.models.lesson import (
    EDITABLE,
    Evidence,
    Forgotten,
    Lesson,
    LessonDraft,
    OutcomeDraft,
    OutcomeResult,
    Recall,
    Source,
    State,
    Stored,
    Trust,
    lesson_parts,
    short_id,
    told_lesson,
)
from mcp_reflect.models.proposal import ProposalKind
from mcp_reflect.models.shown_lesson import first_sentences
from mcp_reflect.projects import stored_name
from mcp_reflect.schemas.fields import read
from mcp_reflect.schemas.lessons import (
    ForgetArguments,
    ImportArguments,
    LessonArguments,
    OutcomeArguments,
    OwnExportArguments,
    RecallArguments,
)
from mcp_reflect.security.redact import clean
from mcp_reflect.services.context import Context
from mcp_reflect.services.guards import guarded
from mcp_reflect.services.proposals import decide_or_keep
from mcp_reflect.speaker import Speaker
from mcp_reflect.storage.transfer import Exported

_Line = TypeVar("_Line", bound=ImportArguments)

_SESSION_SECONDS: Final = (
    6 * 3600.0
)  # hooks and tools know no common session: those of these hours are looked at
_LESSON_ID: Final = re.compile(r"les_[0-9a-z]{4,}")
_OF_GUARD: Final = frozenset({"mistake", "correction", "wrong_call", "right_call", "guard"})
_SUCCESS: Final[Mapping[object, Any]] = {"partial": 0.5, "irrelevant": 0.0}
_HELD_OUT = "the lessons of that recall were held out: counted for the comparison"
_QUOTED: Final = "you quote the person: it counts for more than your own word, but is not proof"
_AGENTS_WORD = "the agent says that this is better"
_UNUSED = "the calls that hooks saw follow none of them: name the lesson_ids that helped"
_SIMILAR: Final = (
    "{id} is near in meaning: {text} If both say the same, send this again with replaces: {id}"
)
_IRRELEVANT = "noted that they did not fit that task; their worth is unchanged"


async def recall(context: Context, arguments: Mapping[str, Any], *, applied: bool = True) -> Recall:
    """Return the few lessons that fit a task, best first. `applied` says whether they count as used."""
    sent = read(RecallArguments, arguments, context.settings)
    scope, holdout = context.scopes.named(sent.project), context.settings.holdout
    if _LESSON_ID.fullmatch(sent.task):
        return replace(await _recall_by_id(context, scope, sent.task), ignored=sent.ignored)
    if applied:
        services.triggers.note_task(context, "recall_lessons", sent.task)
    result = await context.bank.recalls.recall(scope, sent.ask(), applied=applied, holdout=holdout)
    if result.lessons:
        result = await services.ground.marked(context, scope, result)
    context.log.info(
        "lessons_recalled",
        recall_id=result.recall_id,
        hits=len(result.lessons),
        project=scope.project,
    )
    return replace(result, ignored=sent.ignored)


async def _recall_by_id(context: Context, scope: Scope, name: str) -> Recall:
    """Return the lesson of an id whole: hooks and recalls shorten the longest ones."""
    lesson_id = await _whole_id(context, scope, name, "task")
    lesson = await context.bank.lessons.get(scope, lesson_id, "task")
    if lesson.state is not State.ACTIVE or lesson.trust is Trust.QUARANTINED:
        raise InputError("task", "that lesson is not in use", "Describe the task instead.")
    return await services.ground.marked(
        context, scope, await context.bank.recalls.recall_by_id(scope, lesson)
    )


async def store(context: Context, arguments: Mapping[str, Any]) -> Stored:
    """Store a lesson that an agent tells, or strengthen the one that says the same."""
    sent = read(LessonArguments, arguments, context.settings)
    scope = _visible(context.scopes.named(sent.project), sent.visibility)
    if scope.project == GLOBAL:
        context.scopes.refuse_shared("visibility")
    lessons = context.bank.lessons
    old = await _to_replace(context, scope, sent)
    of_agent = replace(sent.draft(Source.AGENT), told=sent.evidence is Evidence.USER)
    draft, guard = await guarded(context, scope, of_agent)
    if old is not None and old.is_kept_by_person:
        return await _proposed(context, scope, old, draft, sent)
    stored = await lessons.store(scope, draft)
    if old is not None and stored.status != "quarantined":
        await lessons.supersede(scope, old.id, stored.lesson_id)
        stored = replace(stored, similar=None)
    await _plant(context, scope, stored, sent)
    if stored.similar and not stored.reason:
        other, text = stored.similar
        stored = replace(
            stored, reason=_SIMILAR.format(id=short_id(other), text=first_sentences(text, 400))
        )
    context.log.info(
        "lesson_stored", lesson_id=stored.lesson_id, status=stored.status, project=scope.project
    )
    evidence = "told" if draft.told else None
    return replace(stored, guard=guard, evidence=evidence, ignored=sent.ignored)


async def _plant(context: Context, scope: Scope, stored: Stored, sent: LessonArguments) -> None:
    """Note what a stored lesson is true of. A store made elsewhere keeps no roots."""
    if hasattr(context.bank.lessons, "resolve_id"):
        name, until = stored.lesson_id, sent.valid_until
        await services.roots.plant_roots(
            context, scope, name, files=sent.files, valid_until=until and until.timestamp()
        )


async def _to_replace(context: Context, scope: Scope, sent: LessonArguments) -> Lesson | None:
    """Return the lesson to be replaced, None if the call names none."""
    if sent.replaces is None:
        return None
    lesson_id = await _whole_id(context, scope, sent.replaces, "replaces")
    old = await context.bank.lessons.get(scope, lesson_id, "replaces")
    if not context.scopes.shares and old.project == GLOBAL:
        context.scopes.refuse_shared("replaces")
    return old


async def _proposed(
    context: Context, scope: Scope, old: Lesson, draft: LessonDraft, sent: LessonArguments
) -> Stored:
    """Let the person decide whether a lesson takes the place of one that they keep. The words are an agent's."""
    new = clean(asdict(draft))
    reason = "a person told the agent so" if sent.evidence is Evidence.USER else _AGENTS_WORD
    lesson, told = await decide_or_keep(
        context, scope, old, ProposalKind.REPLACE, reason=reason, body=new,
        shown=new["text"],
    )  # fmt: skip
    kept = lesson or old
    return Stored(
        lesson_id=kept.id,
        status="stored" if lesson else "proposed",
        reason=told,
        text=kept.text if lesson else None,
        scope=str(scope),
        ignored=sent.ignored,
    )


async def add(context: Context, arguments: Mapping[str, Any]) -> Stored:
    """Store a lesson that a person wrote: it is trusted, and never quarantined."""
    sent = read(ImportArguments, arguments, context.settings)
    scope = _visible(context.scopes.own, sent.visibility)
    draft, guard = await guarded(
        context, scope, replace(sent.draft(Source.PERSON), trust=Trust.TRUSTED)
    )
    stored = replace(await context.bank.lessons.store(scope, draft, by=Speaker.PERSON), guard=guard)
    await _plant(context, scope, stored, sent)
    return stored


async def record_outcome(
    context: Context, arguments: Mapping[str, Any], *, seen: bool = False
) -> OutcomeResult:
    """Record whether lessons helped; `seen` says that the caller is a program that saw it.

    What an agent says is its own word, unless hooks saw a call that follows the lesson and ended so. An irrelevant
    lesson keeps its worth. That a person's lesson is wrong waits for the person.
    """
    sent = read(OutcomeArguments, arguments, context.settings)
    scope = context.scopes.named(sent.project)
    ids = [
        await _whole_id(context, scope, name, f"lesson_ids[{at}]")
        for at, name in enumerate(sent.lesson_ids)
    ]
    draft = OutcomeDraft(
        success=float(_SUCCESS.get(sent.success, sent.success)),
        recall_id=sent.recall_id,
        lesson_ids=tuple(ids),
        evidence=sent.evidence,
        note=sent.note,
    )
    if sent.success == "irrelevant":
        draft = replace(draft, evidence=Evidence.SELF)
        updated = await context.bank.outcomes.record(scope, draft, irrelevant=True)
        return OutcomeResult(
            updated=updated,
            evidence="self",
            reason=_IRRELEVANT,
            counts=False,
            ignored=sent.ignored,
        )
    draft = await _credited(context, scope, draft)
    draft, proposed = (draft, None) if seen else await _without_kept(context, scope, draft)
    if proposed and not draft.lesson_ids:
        return OutcomeResult(updated=(), evidence="self", reason=proposed, ignored=sent.ignored)
    results = [ToolResult(**result.model_dump()) for result in sent.tool_results]
    parts = await _by_proof(context, scope, draft, results, seen=seen)
    updated = tuple(
        [one for part, _ in parts for one in await context.bank.outcomes.record(scope, part)]
    )
    if draft.success == 1:
        await services.roots.confirm_roots(context, scope, [one.id for one in updated])
    last, reason = parts[-1]
    reason = proposed or reason
    reason = reason or (None if updated else _UNUSED if draft.of_task else _HELD_OUT)
    evidence = "told" if last.backed else last.evidence.value
    context.log.info(
        "outcome_recorded", success=sent.success, evidence=evidence, lessons=len(updated)
    )
    return OutcomeResult(updated=updated, evidence=evidence, reason=reason, ignored=sent.ignored)


async def _without_kept(
    context: Context, scope: Scope, draft: OutcomeDraft
) -> tuple[OutcomeDraft, str | None]:
    """Return an outcome without the lessons that a person keeps, if it says that they are wrong: they decide.

    Such a lesson gets a proposal to retire it; the text says so.
    """
    if draft.success == 1 or draft.of_task:
        return draft, None
    ids = draft.lesson_ids
    if not ids and draft.recall_id:
        shown = await context.bank.recalls.lessons_of(scope, draft.recall_id)
        ids = tuple(lesson.id for lesson in shown)
    told, left = None, list[str]()
    for name in ids:
        lesson = await context.bank.lessons.get(scope, name)
        if not lesson.is_kept_by_person:
            left.append(name)
        elif draft.success == 0:
            wish = f"it was wrong: {draft.note or 'no reason given'}"
            kind = ProposalKind.RETIRE
            _, told = await decide_or_keep(context, scope, lesson, kind, reason=wish)
        else:
            told = f"a person keeps {short_id(lesson.id)}: its worth is unchanged"
    return (draft, None) if told is None else (replace(draft, lesson_ids=tuple(left)), told)


async def _by_proof(
    context: Context,
    scope: Scope,
    draft: OutcomeDraft,
    results: Sequence[ToolResult],
    *,
    seen: bool,
) -> list[tuple[OutcomeDraft, str | None]]:
    """Return an outcome in parts by what stands behind it: first the lessons that hooks saw followed, then the rest.

    Each part has the reason why it counts for less than was sent.
    """
    from mcp_reflect.evidence.runs import agrees, doubt_of

    if draft.evidence is Evidence.SELF:
        return [(draft, None)]
    if seen:
        reason = doubt_of(draft, results)
        return [(replace(draft, evidence=Evidence.SELF) if reason else draft, reason)]
    if draft.evidence is Evidence.USER:
        if reason := doubt_of(draft, results):
            return [(replace(draft, evidence=Evidence.SELF), reason)]
        return [(replace(draft, evidence=Evidence.SELF, backed=True), _QUOTED)]
    if agrees(draft.success == 1, results) is False:
        return [(replace(draft, evidence=Evidence.SELF), doubt_of(draft, results))]
    proven: frozenset[str] = frozenset()
    if draft.success != 0.5:
        lately = context.bank.outcomes.followed_lately
        proven = await lately(scope, draft.lesson_ids, worked=draft.success == 1)
    parts: list[tuple[OutcomeDraft, str | None]] = []
    if proven:
        parts.append((replace(draft, lesson_ids=tuple(sorted(proven))), None))
    left = tuple(name for name in draft.lesson_ids if name not in proven)
    if left or not proven:
        told = replace(draft, lesson_ids=left, evidence=Evidence.SELF, backed=bool(results))
        parts.append((told, await _why_unproven(context, scope, left)))
    return parts


async def _why_unproven(context: Context, scope: Scope, ids: Sequence[str]) -> str:
    """Return why an outcome counts as the agent's word: hooks saw no call that does as the lesson says."""
    for name in ids[:1]:
        lesson = await context.bank.lessons.get(scope, name)
        if not names_calls(lesson):
            return f"{short_id(name)} names no right call, so no call proves it: it counts as your word"
        return (
            f"hooks saw no call of the last hours that does as {short_id(name)} says and ended so: "
            "it counts as your word"
        )
    return "hooks saw no call that follows a lesson: it counts as your word"


async def _whole_id(context: Context, scope: Scope, name: str, field: str) -> str:
    """Return the id of the lesson that a short id of a hook names. A store made elsewhere knows whole ids alone."""
    lessons = context.bank.lessons
    return await lessons.resolve_id(scope, name, field) if hasattr(lessons, "resolve_id") else name


async def _credited(context: Context, scope: Scope, draft: OutcomeDraft) -> OutcomeDraft:
    """Name the lessons of a recall whose advice the calls that hooks saw follow, if the outcome names none itself."""
    if not draft.recall_id or draft.lesson_ids:
        return draft
    heads = await context.bank.warnings.worked_since(scope, context.clock.now() - _SESSION_SECONDS)
    # A head is `shell:git push`, `read:src/a.py` or `search`: its last part is what advice names.
    acts = [
        re.compile(rf"(?<!\w){re.escape(head.partition(':')[2] or head)}(?!\w)", re.IGNORECASE)
        for head in heads
    ]
    shown = await context.bank.recalls.lessons_of(scope, draft.recall_id) if acts else []
    used = [
        lesson.id
        for lesson in shown
        if any(act.search(lesson.correction or lesson.text) for act in acts)
    ]
    every = [lesson.id for lesson in shown]
    worked = draft.success == 1
    seen = await context.bank.outcomes.followed_lately(scope, every, worked=worked) if every else ()
    used += [name for name in seen if name not in used]
    return replace(draft, lesson_ids=tuple(used), of_task=bool(shown) and not used)


async def forget(context: Context, arguments: Mapping[str, Any]) -> Forgotten:
    """Retire a lesson. It leaves every recall and stays in the history. One that a person keeps waits for them."""
    sent = read(ForgetArguments, arguments, context.settings)
    scope = context.scopes.named(sent.project)
    lesson_id = await _whole_id(context, scope, sent.lesson_id, "lesson_id")
    before = await context.bank.lessons.get(scope, lesson_id)
    if not context.scopes.shares and before.project == GLOBAL:
        context.scopes.refuse_shared("lesson_id")
    own = str(Scope(scope.tenant, before.project))
    told: dict[str, Any] = {"lesson_id": before.id, "scope": own, "ignored": sent.ignored}
    if before.is_kept_by_person:
        wish = sent.reason
        lesson, reason = await decide_or_keep(
            context, scope, before, ProposalKind.RETIRE, reason=wish
        )
        return Forgotten(state=(lesson or before).state, reason=reason, **told)
    lesson = await context.bank.lessons.set_state(
        scope, lesson_id, State.RETIRED, f"forgotten: {sent.reason}"
    )
    context.log.info("lesson_forgotten", lesson_id=lesson.id)
    return Forgotten(state=lesson.state, **told)


def _words_of(before: Lesson, edited: Mapping[str, Any]) -> dict[str, str]:
    is_one_text = before.text == before.mistake
    mistake, correction = (
        edited.get("mistake", before.mistake) or "",
        edited.get("correction", before.correction) or "",
    )
    if is_one_text and "mistake" not in edited and lesson_parts(before.text)[1]:
        mistake = ""  # it was advice, which the new correction replaces
    text = mistake if is_one_text and not correction else told_lesson(mistake, correction)
    return {"mistake": mistake, "correction": correction, "text": text or before.text}


async def checked_changes(
    context: Context, before: Lesson, changes: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the new values of a lesson's fields, with the guard that follows. InputError for what cannot be stored."""
    if not changes or not changes.keys() <= set(EDITABLE):
        raise InputError(
            "changes",
            "it is not an object of fields to change",
            f"Send any of {', '.join(EDITABLE)}.",
        )
    values = {
        "mistake": before.mistake or before.text,
        "correction": before.correction or before.text,
        **changes,
    }
    sent = read(ImportArguments, values, context.settings)
    if sent.ignored:
        field, _, fault = sent.ignored[0].partition(": ")
        raise InputError(field, fault, "Send a field of a lesson.")
    edited = {name: getattr(sent, name) for name in changes}
    if not changes.keys().isdisjoint(("mistake", "correction")):
        edited |= _words_of(before, edited)
    if not changes.keys().isdisjoint(_OF_GUARD):
        # A guard that was derived follows the words and calls; one that a person wrote stays until it is changed.
        derived, _ = await guarded(context, context.scopes.own, replace(before, guard=None))
        after = replace(before, **edited)
        kept = before.guard if before.guard != derived.guard or "guard" in changes else None
        after, _ = await guarded(
            context, context.scopes.own, replace(after, guard=edited.get("guard", kept))
        )
        edited |= {"guard": after.guard, "unarmed": after.unarmed}
    return edited


async def edit(
    context: Context,
    lesson_id: str,
    changes: Mapping[str, Any],
    *,
    by: Speaker = Speaker.AGENT,
) -> Lesson:
    """Change fields of a lesson. The earlier wording stays as a version."""
    lessons = context.bank.lessons
    before = await lessons.get(context.scopes.own, lesson_id)
    edited = await checked_changes(context, before, changes)
    return await lessons.edit(context.scopes.own, lesson_id, edited, by=by)


async def import_lessons(
    context: Context, lines: Iterable[tuple[int, Mapping[str, Any]]]
) -> AsyncIterator[list[Stored]]:
    """Store the lines of an import. InputError names the first bad line; nothing is stored.

    A line with calls or a guard gets one; it never holds a call.
    """
    drafts: list[tuple[Scope, LessonDraft]] = []
    noted: dict[Scope, list[Call]] = {}
    for place, (scope, sent) in enumerate(_read_lines(context, ImportArguments, lines)):
        own, draft = _visible(scope, sent.visibility), sent.draft(Source.IMPORT)
        if draft.wrong_call or draft.guard:
            if own not in noted:
                noted[own] = await context.bank.lessons.noted_calls(own)
            try:
                draft, _ = await guarded(context, own, draft, noted[own])
            except InputError as error:
                raise InputError(
                    f"line {place + 1}, {error.field}", error.fault, error.fix
                ) from None
        drafts.append((own, draft))
    async for stored in context.bank.transfer.import_lessons(drafts):
        yield stored


async def import_own(
    context: Context, lines: Iterable[tuple[int, Mapping[str, Any]]]
) -> list[Stored]:
    """Store the lines of a person's own export as they were. InputError names the first bad line; nothing is stored.

    The lessons of one project come into the project that is worked in.
    """
    records: list[Exported] = []
    read_lines = [*_read_lines(context, OwnExportArguments, lines)]
    own, names = context.scopes.own, {scope.project for scope, _ in read_lines} - {GLOBAL}
    one = (
        next(iter(names))
        if len(names) == 1 and own.project != GLOBAL and own.project not in names
        else None
    )
    for named, sent in read_lines:
        scope = own if named.project == one else named
        versions, outcomes = (
            [
                {**past.model_dump(exclude={"created_at"}), "now": past.created_at.timestamp()}
                for past in earlier
            ]
            for earlier in (sent.versions, sent.outcomes)
        )
        records.append(Exported(scope, sent.record(scope.project), versions, outcomes))
    return await context.bank.transfer.restore(records)


def _read_lines(
    context: Context, kind: type[_Line], lines: Iterable[tuple[int, Mapping[str, Any]]]
) -> Iterator[tuple[Scope, _Line]]:
    own = context.scopes.own
    for number, line in lines:
        try:
            sent = read(kind, line, context.settings)
        except InputError as error:
            raise InputError(f"line {number}, {error.field}", error.fault, error.fix) from None
        name = own.project if sent.project is None else stored_name(sent.project)
        yield Scope(own.tenant, context.scopes.names.get(name, name)), sent


def _visible(scope: Scope, visibility: str) -> Scope:
    return Scope(scope.tenant, GLOBAL) if visibility == "global" else scope
