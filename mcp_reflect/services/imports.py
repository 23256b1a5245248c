"""Imports of lessons: lines from elsewhere become new lessons, those of a person's own export stay as they were."""

import asyncio
from collections.abc import AsyncIterator, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from mcp_reflect.errors import InputError
from mcp_reflect.guards.call import Call
from mcp_reflect.models.common import GLOBAL, Scope
from mcp_reflect.models.lesson import LessonDraft, Source, Stored
from mcp_reflect.projects import stored_name
from mcp_reflect.schemas.imported_lessons import (
    ImportArguments,
    OwnExportArguments,
    PastOutcomeArguments,
    VersionArguments,
)
from mcp_reflect.schemas.reading import read
from mcp_reflect.services.context import Context
from mcp_reflect.services.guards import guarded
from mcp_reflect.services.lessons import scope_of
from mcp_reflect.storage.transfer import Exported

_Line = TypeVar("_Line", bound=ImportArguments)


async def import_lessons(
    context: Context, lines: Iterable[tuple[int, Mapping[str, Any]]], *, waits_since: str = ""
) -> AsyncIterator[list[Stored]]:
    """Store the lines of an import, and yield what became of them batch by batch.

    InputError names the first bad line; nothing is stored then. `waits_since` is the reason for which lines in
    quarantine wait, where it is not that they waited before. A line with calls or a guard gets a guard, which never
    refuses a call.
    """
    drafts: list[tuple[Scope, LessonDraft]] = []
    recorded_calls: dict[Scope, list[Call]] = {}
    # In a thread: thousands of lines take seconds, and other calls are answered meanwhile.
    read_lines = await asyncio.to_thread(lambda: [*_read_lines(context, ImportArguments, lines)])
    for number, (named_scope, sent) in enumerate(read_lines, start=1):
        scope = scope_of(named_scope, sent.visibility)
        draft = sent.draft(Source.IMPORT)
        if draft.wrong_call or draft.guard:
            if scope not in recorded_calls:
                recorded_calls[scope] = await context.bank.guards.recorded_calls(scope)
            with _naming_line(number):
                draft, _ = await guarded(context, scope, draft, recorded_calls[scope])
        drafts.append((scope, draft))
    async for stored in context.bank.transfer.import_lessons(drafts, waits_since):
        yield stored


async def import_own(
    context: Context, lines: Iterable[tuple[int, Mapping[str, Any]]]
) -> list[Stored]:
    """Store the lines of a person's own export as they were. InputError names the first bad line; nothing is stored."""
    sent_lines = await asyncio.to_thread(lambda: [*_read_lines(context, OwnExportArguments, lines)])
    moving_project = _project_that_moves(context, {scope.project for scope, _ in sent_lines})
    records: list[Exported] = []
    for named_scope, sent in sent_lines:
        is_moving = named_scope.project == moving_project
        scope = context.scopes.own if is_moving else named_scope
        record = sent.record(scope.project)
        records.append(Exported(scope, record, _dated(sent.versions), _dated(sent.outcomes)))
    return await context.bank.transfer.restore(records)


def _project_that_moves(context: Context, names: set[str]) -> str | None:
    """Return the project of an export that moves into the project that is worked in, None if none does.

    A person who restores an export of one other project, say on another machine where it has another name, means the
    project that is worked in.

    | projects in the export | the project that is worked in | moves    |
    |------------------------|-------------------------------|----------|
    | "shop"                 | "store"                       | "shop"   |
    | "shop"                 | "shop", or none               | None     |
    | "shop", "blog"         | any                           | None     |
    """
    own_project = context.scopes.own.project
    exported = names - {GLOBAL}
    if own_project == GLOBAL or own_project in exported or len(exported) != 1:
        return None
    return exported.pop()


def _dated(
    past_records: Sequence[VersionArguments | PastOutcomeArguments],
) -> list[dict[str, Any]]:
    """Return earlier versions or outcomes as the statements that store them take them.

    {"created_at": 2027-01-15T08:00Z, …} -> {"now": 1800000000.0, …}
    """
    rows: list[dict[str, Any]] = []
    for past in past_records:
        row = past.model_dump(exclude={"created_at"})
        rows.append({**row, "now": past.created_at.timestamp()})
    return rows


def _read_lines(
    context: Context, kind: type[_Line], lines: Iterable[tuple[int, Mapping[str, Any]]]
) -> Iterator[tuple[Scope, _Line]]:
    """Yield each line as arguments of type `kind`, with the scope that its project names; InputError names the line."""
    own = context.scopes.own
    for number, line in lines:
        with _naming_line(number):
            sent = read(kind, line, context.settings)
        project = own.project
        if sent.project is not None:
            project = stored_name(sent.project)
        name_in_use = context.scopes.names.get(project, project)
        yield Scope(own.tenant, name_in_use), sent


@contextmanager
def _naming_line(number: int) -> Generator[None]:
    """Let an InputError that is raised inside of the `with` name the line of the import."""
    try:
        yield
    except InputError as error:
        raise InputError(f"line {number}, {error.field}", error.fault, error.fix) from None
