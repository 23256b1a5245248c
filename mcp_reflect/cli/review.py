"""Decide in one sitting about what waits: quarantined lessons, findings, and what agents propose of your lessons."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
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
from mcp_reflect.cli.replay import lines_of_replay
from mcp_reflect.clock import dated
from mcp_reflect.errors import InputError
from mcp_reflect.models.common import plain
from mcp_reflect.models.finding import StoredFinding
from mcp_reflect.models.lesson import GuardMode, Lesson
from mcp_reflect.services.curation import Proposed, Shown, Waiting
from mcp_reflect.services.ground import STILL_TRUE
from mcp_reflect.services.proposals import wish_text
from mcp_reflect.services.roots import Doubted
from mcp_reflect.speaker import Speaker, speaker_of_process, speaker_to_service

_PROPOSED_FIELDS: Final = ("text", "why", "wrong_call", "right_call", "guard", "importance", "tags")
_QUESTION: Final = "[k]eep, [e]dit, [d]rop, Enter to skip, [a]ll the rest, [u]ndo, [q]uit: "
_QUESTIONS: Final = {
    "mistake": "What went wrong (Enter for nothing)?",
    "correction": "What should another session know?",
}
_ARM_QUESTION: Final = "[h]old, [t]ell, [o]ff, [r]eplay past sessions, Enter to skip, [q]uit: "
_ARMS: Final = {"h": GuardMode.HOLD, "t": GuardMode.TELL, "o": GuardMode.OFF}
Item = Lesson | StoredFinding | Proposed | Doubted


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
                *map(_proposed, found.proposals),
                *map(_doubted, found.doubted),
            ]
        )
        return
    if found.shared:
        write_line(f"{visible(found.shared)}\n")
    items: list[Item] = [*found.proposals, *waiting, *found.doubted, *found.findings]
    if not items and not unarmed and not found.withheld:
        write_line(f"Nothing waits for you in {found.scope}.")
    elif is_interactive() and speaker_of_process() is Speaker.PERSON:
        if await _arm_each(do, options, unarmed):
            await _ask_about_each(do, options, items)
    else:
        for item in items:
            show(item)
        if found.withheld:
            write_line(f"{found.withheld} in quarantine are shown to a person alone.")
        write_line(
            "A person decides in a terminal of their own: `lessons approve ID`, `reject ID`."
        )


async def decide(do: Do, options: Namespace, *, approved: bool) -> None:
    """Decide about quarantined lessons and findings, after showing each: a person approves what they have read."""
    waiting: Waiting = await do("review", {})
    known: dict[str, Item] = {found.id: found for found in waiting.findings}
    known |= {found.proposal.id: found for found in waiting.proposals}
    doubted = {one.lesson.id: one for one in waiting.doubted}
    words = _words_of(options)
    for part in options.ids:
        if part in known:
            await _settle(do, options, known[part], approved=approved, changes=words)
            continue
        shown: Shown = await do("show", {"id": part})
        item = _asked_about(shown.lesson, doubted, approved=approved)
        if not options.json and (shown.lesson.held or isinstance(item, Doubted)):
            show(item)
        await _settle(do, options, item, approved=approved)


def _asked_about(
    lesson: Lesson, doubted: Mapping[str, Doubted], *, approved: bool
) -> Lesson | Doubted:
    """Return what a person decides about: to vouch for a lesson says that it is still true, too."""
    vouches = approved and not lesson.is_kept_by_person
    return lesson if vouches else doubted.get(lesson.id, lesson)


def _words_of(options: Namespace) -> dict[str, str]:
    """Return the person's words about one finding."""
    given = {name: getattr(options, name, None) for name in _QUESTIONS}
    words = {name: text for name, text in given.items() if text}
    if words and len(options.ids) > 1:
        raise InputError("id", "the words are about one finding", "Approve one at a time.")
    return words


def show(item: Item) -> None:
    """Print what waits, with its evidence."""
    if isinstance(item, Proposed):
        write_line(f"{item.proposal.id}: {wish_text(item.proposal)}")
        write_line(f"  the lesson {item.lesson.id}: {visible(item.lesson.text)}")
        for name, value in item.proposal.body.items():
            if value and name in _PROPOSED_FIELDS:
                write_line(f"  {name} would be: {visible(str(value))}")
        write_line("")
        return
    if isinstance(item, Doubted):
        write_line(f"{item.lesson.id}: {visible(item.told)}: {STILL_TRUE}")
        write_line("\n".join([*long_fields(item.lesson), ""]) + "\n")
        return
    if isinstance(item, Lesson):
        reason = item.held or "an agent stored it, and nobody has looked at it"
        write_line(f"{item.id} ({item.kind}, from {item.source}): {reason}")
        write_line("\n".join([*long_fields(item), "", aligned(short_fields(item))]) + "\n\n")
        return
    write_line(text_of(item.id, item))


async def _arm_each(do: Do, options: Namespace, unarmed: Sequence[Lesson]) -> bool:
    """Ask about each guard that is off what it shall do; return whether the person goes on with the rest."""
    for number, lesson in enumerate(unarmed, start=1):
        write_line(f"{lesson.id}: {visible(lesson.text)}")
        write_line(f"  guard {visible(lesson.guard or '')}: {visible(lesson.unarmed or '')}")
        choice = "r"
        while choice == "r":
            answer = ask(f"{number} of {len(unarmed)}. {_ARM_QUESTION}")
            choice = "q" if answer is None else answer.lower()
            if choice == "r":
                write_line("\n".join(lines_of_replay(await do("try", {"id": lesson.id}))))
        if choice == "q":
            return False
        if mode := _ARMS.get(choice):
            after: Lesson = await do("guard", {"id": lesson.id, "mode": mode.value})
            state = {"id": after.id, "guard_mode": mode.value}
            write_result(options, state, f"{after.id}: its guard is set to {mode.value}.")
    return True


async def _ask_about_each(do: Do, options: Namespace, items: list[Item]) -> None:
    """Show each item and do what the person answers; `u` goes back to the latest one that was decided."""
    done: list[tuple[int, Mapping[str, Any]]] = []
    place = 0
    while place < len(items):
        item = items[place]
        show(item)
        answer = ask(f"{place + 1} of {len(items)}. {_QUESTION}")
        choice = "q" if answer is None else answer.lower()
        if choice == "q":
            return
        if choice == "a":
            await _keep_rest(do, options, items[place:])
            return
        if choice == "u":
            place = await _undo_latest(do, done, place)
            continue
        undo = await _decided(do, options, item, choice)
        if undo is not None:
            done.append((place, undo))
        place += 1


async def _undo_latest(do: Do, done: list[tuple[int, Mapping[str, Any]]], place: int) -> int:
    """Undo the latest decision; return the place of its item, or the present one if nothing can be undone."""
    if not done:
        write_line("Nothing was decided yet.")
        return place
    before, undo = done.pop()
    if not undo:
        write_line("What was done for it stays; `lessons edit` and `restore` change it.")
        return place
    await do("reopen", undo)
    write_line("Undone.")
    return before


async def _decided(do: Do, options: Namespace, item: Item, choice: str) -> Mapping[str, Any] | None:
    """Keep or drop an item as the person chose; return what undoes it, None if it was skipped."""
    if choice == "d":
        return await _settle(do, options, item, approved=False)
    if choice not in ("k", "e"):
        return None
    if isinstance(item, Proposed):
        return await _settle(do, options, item, approved=True)
    if isinstance(item, Doubted):
        if choice == "e" and (changes := _changes_of(item.lesson, edits=True)):
            await do("edit", {"id": item.lesson.id, "changes": changes})
        return await _settle(do, options, item, approved=True)
    changes = _changes_of(item, edits=choice == "e")
    if changes is None:
        write_line("Skipped: nothing says what puts it right.")
        return None
    return await _settle(do, options, item, approved=True, changes=changes)


async def _keep_rest(do: Do, options: Namespace, items: list[Item]) -> None:
    """Keep the rest as it is, except what a person must look at one by one: quarantine and proposals."""
    kept = [one for one in items if _may_be_kept_unseen(one)]
    for one in kept:
        await _settle(do, options, one, approved=True)
    if len(kept) < len(items):
        left = len(items) - len(kept)
        write_line(f"{left} are left: proposals, in quarantine, or facts without a lesson.")


def _may_be_kept_unseen(item: Item) -> bool:
    if isinstance(item, Proposed | Doubted):
        return False
    return not item.held if isinstance(item, Lesson) else item.finding.wording is not None


def _changes_of(item: Lesson | StoredFinding, *, edits: bool) -> dict[str, str] | None:
    """Return the fields that the person changes; None where nobody says what another session should know."""
    told = item if isinstance(item, Lesson) else item.finding.wording
    mistake, correction = (told.mistake, told.correction) if told else ("", "")
    changes: dict[str, str] = {}
    if edits or told is None:
        asked = {"mistake": mistake} if edits else {}
        for name, text in {**asked, "correction": correction}.items():
            question = f"{name} [{visible(text)}]: " if text else f"{_QUESTIONS[name]} "
            if typed := ask(question):
                changes[name] = typed
    is_whole = isinstance(item, Lesson) or correction or "correction" in changes
    return changes if is_whole else None


async def _settle(
    do: Do,
    options: Namespace,
    item: Item,
    *,
    approved: bool,
    changes: Mapping[str, str] | None = None,
) -> Mapping[str, Any]:
    undo: dict[str, Any] = {}
    if isinstance(item, Doubted):
        answered: Lesson = await do("still", {"id": item.lesson.id, "true": approved})
        state = {"id": answered.id, "state": answered.state.value}
        result = "still true: it stands on what is there now" if approved else "retired"
    elif isinstance(item, Proposed):
        name = item.proposal.id
        after: Lesson = await do("decide", {"id": name, "approved": approved})
        state = {"id": name, "lesson_id": after.id, "state": after.state.value}
        result = f"done; {after.id} is {after.state.value}" if approved else "dropped"
    elif isinstance(item, Lesson):
        if changes:
            await do("edit", {"id": item.id, "changes": changes})
        decided: Lesson = await do("decide", {"id": item.id, "approved": approved})
        state = {"id": item.id, "state": decided.state.value, "trust": decided.trust.value}
        result = "trusted, and recalled from now on" if approved else "retired"
        undo = {
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
        speaker = speaker_to_service() if options.url else speaker_of_process()
        trusted = ", trusted" if speaker is Speaker.PERSON else ", not trusted"
        result = (
            f"kept as {kept['lesson_id']}{trusted}"
            if approved
            else "dropped; nobody is asked about it again"
        )
        undo = {"finding": item.id, "lesson": kept.get("lesson_id") if kept.get("is_new") else None}
    write_result(options, state, f"{state['id']}: {result}.")
    return undo


def _proposed(found: Proposed) -> dict[str, Any]:
    """Return a proposal for a program."""
    return {**dated(plain(found.proposal)), "kind": "proposal", "wish": found.proposal.kind.value}


def _doubted(found: Doubted) -> dict[str, Any]:
    """Return a lesson whose ground is gone for a program."""
    return {**dated(plain(found.lesson)), "kind": "doubted", "changed": found.told}


def _finding(found: StoredFinding) -> dict[str, Any]:
    """Return a finding for a program."""
    record = record_of(found)
    return {**record, "kind": "finding", "seen_as": record["kind"]}
