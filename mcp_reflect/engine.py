"""The engine: the parts put together from settings. It is the Python face, usable without MCP.

Each method takes the arguments of the tool of its name (see docs/tools.md), raises InputError for what
cannot be used and BankError where the bank cannot do it, and has stored nothing then.
"""

from collections.abc import AsyncIterator, Iterable, Mapping
from types import TracebackType
from typing import Any, Self

from mcp_reflect.arguments.door import read
from mcp_reflect.arguments.lessons import ForgetShape, ImportShape, LessonShape, OutcomeShape, RecallShape
from mcp_reflect.bank.bank import Bank
from mcp_reflect.bank.lessons import context_hash
from mcp_reflect.bank.outcomes import OutcomeDraft
from mcp_reflect.bank.ranking import Ask
from mcp_reflect.bank.redaction import clean
from mcp_reflect.clock import Clock
from mcp_reflect.critique.agreement import agrees
from mcp_reflect.errors import InputError
from mcp_reflect.records.json import Json
from mcp_reflect.records.lesson import (
    Evidence,
    Forgotten,
    Lesson,
    LessonDraft,
    OutcomeResult,
    Recall,
    Source,
    State,
    Stored,
    Trust,
    lesson_text,
)
from mcp_reflect.records.reflection import Reflection
from mcp_reflect.records.scope import GLOBAL, Scope
from mcp_reflect.records.verdict import ToolResult
from mcp_reflect.scopes import Scopes
from mcp_reflect.settings import Settings
from mcp_reflect.telemetry import Log


class Engine:
    """Reflects, remembers, recalls. Use it as an async context manager, or call `close`.

    `store` is a bank made elsewhere; `settings` default to the environment's.
    """

    def __init__(
        self, settings: Settings | None = None, *, store: Bank | None = None, clock: Clock | None = None
    ) -> None:
        self.settings = settings or Settings.from_env()
        self.clock = clock or Clock()
        self.scopes = Scopes.of(self.settings)
        self.bank = store or Bank(
            self.settings.bank_path, clock=self.clock, busy_seconds=self.settings.bank_busy_seconds
        )
        self.log = Log(self.settings.log_level, self.settings.log_format)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the bank."""
        await self.bank.close()

    async def reflect(self, /, **arguments: Any) -> Reflection:
        """Look back at a run, keep what it teaches; see `reflecting`."""
        from mcp_reflect.reflecting import reflect  # noqa: PLC0415 - the rules are needed by no other tool

        return await reflect(self, arguments)

    async def recall(self, /, *, applied: bool = True, **arguments: Any) -> Recall:
        """The few lessons that fit a task, best first; `applied` false does not count them as applied."""
        sent = read(RecallShape, arguments)
        scope = self.scopes.named(sent.project)
        ask = Ask(
            task=sent.task,
            task_type=sent.task_type,
            context_hash=context_hash(clean(sent.context)),
            symptoms=sent.symptoms,
            tags=sent.tags,
            kinds=sent.kinds,
            limit=sent.limit,
            max_chars=sent.max_chars,
            min_importance=sent.min_importance,
            min_effectiveness=sent.min_effectiveness,
        )
        found = await self.bank.recall(scope, ask, applied=applied)
        self.log("lessons_recalled", recall_id=found.recall_id, hits=len(found.lessons), project=scope.project)
        return found

    async def store_lesson(self, /, **arguments: Any) -> Stored:
        """Keep a mistake and its correction."""
        sent = read(LessonShape, arguments)
        scope = self._scope_of(sent)
        stored = await self.bank.store_lesson(scope, _draft(sent, Source.AGENT))
        self.log("lesson_stored", lesson_id=stored.lesson_id, status=stored.status, project=scope.project)
        return stored

    async def record_outcome(self, /, **arguments: Any) -> OutcomeResult:
        """Note what became of using lessons, with as much weight as its evidence bears."""
        sent = read(OutcomeShape, arguments)
        scope = self.scopes.named(sent.project)
        success = 0.5 if sent.success == "partial" else float(sent.success)
        evidence, reason = _believed(sent)
        draft = OutcomeDraft(
            success=success, recall_id=sent.recall_id, lesson_ids=sent.lesson_ids, evidence=evidence, note=sent.note
        )
        updated = await self.bank.record_outcome(scope, draft)
        self.log("outcome_recorded", success=success, evidence=evidence.value, lessons=len(updated))
        return OutcomeResult(updated=updated, evidence=evidence, reason=reason)

    async def forget_lesson(self, /, **arguments: Any) -> Forgotten:
        """Retire a lesson: out of every recall, kept in the history."""
        sent = read(ForgetShape, arguments)
        scope = self.scopes.named(sent.project)
        lesson = await self.bank.set_state(scope, sent.lesson_id, State.RETIRED, f"forgotten: {sent.reason}")
        self.log("lesson_forgotten", lesson_id=lesson.id)
        return Forgotten(lesson_id=lesson.id, state=lesson.state, scope=str(Scope(scope.tenant, lesson.project)))

    async def edit_lesson(self, lesson_id: str, changes: Mapping[str, Any]) -> Lesson:
        """Change fields of a lesson as a person does; the wording before stays as a version."""
        before = await self.bank.lesson(self.scopes.own, lesson_id)
        now = {"mistake": before.mistake or before.text, "correction": before.correction or before.text, **changes}
        sent = read(ImportShape, now)
        checked = {name: getattr(sent, name) for name in changes}
        return await self.bank.edit(self.scopes.own, lesson_id, checked)

    async def get_stats(self) -> Mapping[str, Json]:
        """What is in the bank, counted."""
        return await self.bank.stats(self.scopes.own)

    def import_drafts(self, lines: Iterable[tuple[int, Mapping[str, Any]]]) -> list[tuple[Scope, LessonDraft]]:
        """Numbered lines of an import as drafts; InputError names the first bad line, and nothing has been stored."""
        drafts: list[tuple[Scope, LessonDraft]] = []
        for number, line in lines:
            try:
                sent = read(ImportShape, line)
            except InputError as error:
                raise InputError(f"line {number}, {error.field}", error.fault, error.fix) from None
            named = sent.project if sent.project is not None else self.scopes.own.project
            project = GLOBAL if sent.visibility == "global" else named
            drafts.append((Scope(self.scopes.own.tenant, project), _draft(sent, Source.IMPORT)))
        return drafts

    def import_lessons(
        self, drafts: list[tuple[Scope, LessonDraft]], *, merge: bool = False
    ) -> AsyncIterator[list[Stored]]:
        """Store drafts in short transactions; yields what became of each batch."""
        return self.bank.imported(drafts, merge=merge)

    def _scope_of(self, sent: LessonShape) -> Scope:
        scope = self.scopes.named(sent.project)
        return Scope(scope.tenant, GLOBAL) if sent.visibility == "global" else scope


def _draft(sent: LessonShape, source: Source) -> LessonDraft:
    imported = sent if isinstance(sent, ImportShape) else None
    return LessonDraft(
        text=lesson_text(sent.mistake, sent.correction),
        mistake=sent.mistake,
        correction=sent.correction,
        why=imported.why if imported else None,
        task_type=sent.task_type,
        context=sent.context,
        symptoms=sent.symptoms,
        keywords=sent.keywords,
        tags=tuple(dict.fromkeys((*sent.tags, *((sent.task_type,) if sent.task_type else ())))),
        importance=0.5 if sent.importance is None else sent.importance,
        confidence=0.5 if sent.confidence is None else sent.confidence,
        external_id=imported.external_id if imported else None,
        state=imported.state if imported else State.ACTIVE,
        trust=Trust.QUARANTINED if imported and imported.trust is Trust.QUARANTINED else Trust.OBSERVED,
        source=source,
    )


def _believed(sent: OutcomeShape) -> tuple[Evidence, str | None]:
    """What an outcome is recorded as: its evidence where that bears it out, else the agent's own word."""
    if sent.evidence in (Evidence.TEST, Evidence.METRIC):
        results = [ToolResult(tool=one.tool, content=one.content, exit_code=one.exit_code) for one in sent.tool_results]
        if sent.success == "partial" or not agrees(bool(sent.success), results):
            return Evidence.SELF, "tool_results do not bear it out: send what the test printed, with its exit_code"
    if sent.evidence is Evidence.USER and not _quotes(sent.note or ""):
        return Evidence.SELF, "note quotes nobody: put the person's own words in quotation marks"
    return sent.evidence, None


def _quotes(note: str) -> bool:
    """Whether a note holds a quotation of at least two characters."""
    for opening, closing in ('""', "“”", "«»", "„“"):
        start = note.find(opening)
        if start >= 0 and note.find(closing, start + 3) > 0:
            return True
    return False
