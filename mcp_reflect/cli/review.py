"""Decide in one sitting about what waits: quarantined lessons, findings, and what agents stored if you want that."""

from argparse import Namespace
from collections.abc import Mapping
from typing import Any, Final

from mcp_reflect.cli.learn import record_of, text_of
from mcp_reflect.cli.lesson_text import long_fields, short_fields
from mcp_reflect.cli.output import (
    aligned,
    ask,
    is_interactive,
    visible,
    write_json,
    write_line,
    write_result,
)
from mcp_reflect.cli.place import Do
from mcp_reflect.clock import dated
from mcp_reflect.models.common import plain
from mcp_reflect.models.finding import StoredFinding
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.services.curation import Shown, Waiting

_QUESTION: Final = "[k]eep, [e]dit, [d]rop, Enter to skip, [a]ll the rest, [u]ndo, [q]uit: "
Item = Lesson | StoredFinding


async def review(do: Do, options: Namespace) -> None:
    """List what waits, or ask a person about each."""
    found: Waiting = await do("review", {})
    waiting, unarmed = found.lessons, found.guards
    if unarmed and not options.json:
        write_line(
            "\n".join(f"{lesson.id}: guard {lesson.guard}: {lesson.unarmed}" for lesson in unarmed)
        )
        write_line("`lessons guard ID hold` (or tell, off) decides.\n")
    if options.json:
        write_json(
            [
                *(dated(plain(lesson)) for lesson in (*waiting, *unarmed)),
                *map(_finding, found.findings),
            ]
        )
    elif not waiting and not found.findings:
        if not unarmed:
            write_line(f"Nothing waits for you in {found.scope}.")
    elif is_interactive():
        await _ask_about_each(do, options, [*waiting, *found.findings])
    else:
        for item in (*waiting, *found.findings):
            show(item)
        write_line("`lessons approve ID` or `lessons reject ID` decides.")


async def decide(do: Do, options: Namespace, *, approved: bool) -> None:
    """Decide about quarantined lessons and findings, after showing each: a person approves what they have read."""
    waiting: Waiting = await do("review", {})
    findings = {found.id: found for found in waiting.findings}
    for part in options.ids:
        if part in findings:
            await _settle(do, options, findings[part], approved=approved)
            continue
        shown: Shown = await do("show", {"id": part})
        if not options.json and shown.lesson.held:
            show(shown.lesson)
        await _settle(do, options, shown.lesson, approved=approved)


def show(item: Item) -> None:
    """Print what waits, with its evidence."""
    if isinstance(item, Lesson):
        reason = item.held or "an agent stored it, and nobody has looked at it"
        write_line(f"{item.id} ({item.kind}, from {item.source}): {reason}")
        write_line("\n".join([*long_fields(item), "", aligned(short_fields(item))]) + "\n\n")
        return
    write_line(text_of(item.id, item))


async def _ask_about_each(do: Do, options: Namespace, items: list[Item]) -> None:
    done: list[tuple[int, Mapping[str, Any]]] = []
    place = 0
    while place < len(items):
        item = items[place]
        show(item)
        answer = ask(f"{place + 1} of {len(items)}. {_QUESTION}")
        match "q" if answer is None else answer.lower():
            case "k" | "e" as chosen:
                changes = _changes_of(item, edits=chosen == "e")
                if changes is None:
                    write_line("Skipped: nothing says what puts it right.")
                else:
                    done.append(
                        (place, await _settle(do, options, item, approved=True, changes=changes))
                    )
            case "d":
                done.append((place, await _settle(do, options, item, approved=False)))
            case "a":
                await _keep_rest(do, options, items[place:])
                return
            case "u" if done:
                place, undo = done.pop()
                await do("reopen", undo)
                write_line("Undone.")
                place -= 1
            case "u":
                write_line("Nothing was decided yet.")
                place -= 1
            case "q":
                return
            case _:
                pass
        place += 1


async def _keep_rest(do: Do, options: Namespace, items: list[Item]) -> None:
    """Keep the rest as it is, except what is in quarantine: a person must look at each of those."""
    kept = [
        one
        for one in items
        if (not one.held if isinstance(one, Lesson) else one.finding.draft.correction)
    ]
    for one in kept:
        await _settle(do, options, one, approved=True)
    if len(kept) < len(items):
        write_line(f"{len(items) - len(kept)} are left: in quarantine, or without a correction.")


def _changes_of(item: Item, *, edits: bool) -> dict[str, str] | None:
    """Return the fields that the person changes; None where the correction stays unknown."""
    told = item if isinstance(item, Lesson) else item.finding.draft
    changes: dict[str, str] = {}
    if edits:
        for name, text in (("mistake", told.mistake), ("correction", told.correction)):
            if typed := ask(f"{name} [{visible(text or '')}]: "):
                changes[name] = typed
    elif not told.correction and isinstance(item, StoredFinding):
        changes = {"correction": typed} if (typed := ask("What puts it right? ")) else {}
    return (
        changes if told.correction or "correction" in changes or isinstance(item, Lesson) else None
    )


async def _settle(
    do: Do,
    options: Namespace,
    item: Item,
    *,
    approved: bool,
    changes: Mapping[str, str] | None = None,
) -> Mapping[str, Any]:
    if isinstance(item, Lesson):
        if changes:
            await do("edit", {"id": item.id, "changes": changes})
        decided: Lesson = await do("decide", {"id": item.id, "approved": approved})
        state = {"id": item.id, "state": decided.state.value, "trust": decided.trust.value}
        result = "trusted, and recalled from now on" if approved else "retired"
        undo: dict[str, Any] = {
            "id": item.id,
            "state": item.state.value,
            "trust": item.trust.value,
            "held": item.held,
        }
    else:
        kept: dict[str, Any] = await do(
            "finding", {"id": item.id, "approved": approved, "changes": changes or {}}
        )
        state = {"id": item.id, **kept}
        result = (
            f"kept as {kept['lesson_id']}, trusted"
            if approved
            else "dropped; nobody is asked about it again"
        )
        undo = {"finding": item.id, "lesson": kept.get("lesson_id") if kept.get("is_new") else None}
    write_result(options, state, f"{item.id}: {result}.")
    return undo


def _finding(found: StoredFinding) -> dict[str, Any]:
    """Return a finding for a program, with the fields of a lesson."""
    record = record_of(found)
    return {**record, **record["draft"], "kind": "finding"}
