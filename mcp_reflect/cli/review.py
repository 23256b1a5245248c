"""Decide in one sitting about what waits: quarantined lessons, findings, and what agents propose of your lessons."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mcp_reflect.cli.finding_text import record_of, text_of
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
from mcp_reflect.cli.replay_text import lines_of_replay
from mcp_reflect.clock import dated
from mcp_reflect.errors import InputError
from mcp_reflect.models.common import plain
from mcp_reflect.models.finding import StoredFinding, Wording
from mcp_reflect.models.lesson import GuardMode, Lesson
from mcp_reflect.services.curation import LessonDetails
from mcp_reflect.services.ground import STILL_TRUE
from mcp_reflect.services.proposals import wish_text
from mcp_reflect.services.reviews import Proposed, Waiting
from mcp_reflect.services.roots import Doubted
from mcp_reflect.speaker import Speaker, speaker_of_process, speaker_to_service

_PROPOSED_FIELDS: Final = ("text", "why", "wrong_call", "right_call", "guard", "importance", "tags")
_QUESTION: Final = "[k]eep, [e]dit, [d]rop, Enter to skip, [a]ll the rest, [u]ndo, [q]uit: "
_QUESTIONS: Final = {
    "mistake": "What went wrong (Enter for nothing)?",
    "correction": "What should another session know?",
}
_ARM_QUESTION: Final = "[h]old, [t]ell, [o]ff, [r]eplay past sessions, Enter to skip, [q]uit: "
_KEEP, _EDIT, _DROP, _ALL, _UNDO, _QUIT, _REPLAY = "k", "e", "d", "a", "u", "q", "r"
_KEYS: Final = "kedauq"
_ARM_KEYS: Final = "htorq"
_ARMS: Final = {"h": GuardMode.HOLD, "t": GuardMode.TELL, "o": GuardMode.OFF}
Item = Lesson | StoredFinding | Proposed | Doubted


async def review(do: Do, options: Namespace) -> None:
    """List what waits, or ask a person about each."""
    found: Waiting = await do("review", {})
    waiting, unarmed = found.lessons, found.guards
    if options.json:
        write_json(_records(found))
        return
    if unarmed:
        for lesson in unarmed:
            write_line(f"{lesson.id}: guard {lesson.guard}: {lesson.unarmed}")
        write_line("`lessons guard ID hold` (or tell, off) decides.\n")
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


def _records(found: Waiting) -> list[dict[str, Any]]:
    """Return what waits for a program."""
    return [
        *(dated(plain(lesson)) for lesson in (*found.lessons, *found.guards)),
        *(_finding_record(finding) for finding in found.findings),
        *(_proposal_record(proposed) for proposed in found.proposals),
        *(_doubted_record(doubted) for doubted in found.doubted),
    ]


def _proposal_record(found: Proposed) -> dict[str, Any]:
    return {**dated(plain(found.proposal)), "kind": "proposal", "wish": found.proposal.kind.value}


def _doubted_record(found: Doubted) -> dict[str, Any]:
    return {**dated(plain(found.lesson)), "kind": "doubted", "changed": found.told}


def _finding_record(found: StoredFinding) -> dict[str, Any]:
    record = record_of(found)
    return {**record, "kind": "finding", "seen_as": record["kind"]}


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
        shown: LessonDetails = await do("show", {"id": part})
        item = _asked_about(shown.lesson, doubted, approved=approved)
        if not options.json and (shown.lesson.held or isinstance(item, Doubted)):
            show(item)
        await _settle(do, options, item, approved=approved)


def _asked_about(
    lesson: Lesson, doubted: Mapping[str, Doubted], *, approved: bool
) -> Lesson | Doubted:
    """Return what a person decides about: to vouch for a lesson says that it is still true, too."""
    if approved and not lesson.is_kept_by_person:
        return lesson
    return doubted.get(lesson.id, lesson)


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
        question = f"{number} of {len(unarmed)}. {_ARM_QUESTION}"
        choice = _choice_of(question, _ARM_KEYS)
        while choice == _REPLAY:
            write_line("\n".join(lines_of_replay(await do("try", {"id": lesson.id}))))
            choice = _choice_of(question, _ARM_KEYS)
        if choice == _QUIT:
            return False
        mode = _ARMS.get(choice)
        if mode is not None:
            after: Lesson = await do("guard", {"id": lesson.id, "mode": mode.value})
            state = {"id": after.id, "guard_mode": mode.value}
            write_result(options, state, f"{after.id}: its guard is set to {mode.value}.")
    return True


def _choice_of(question: str, keys: str) -> str:
    """Return the key that the person gives, empty for Enter; one who ends the input quits.

    Any other answer decides nothing: the person is told the keys, and asked again.
    """
    while True:
        answer = ask(question)
        if answer is None:
            return _QUIT
        choice = answer.strip().lower()
        if len(choice) <= 1 and choice in keys:
            return choice
        write_line(f"'{visible(choice[:20])}' is none of these keys; nothing was decided.")


async def _ask_about_each(do: Do, options: Namespace, items: list[Item]) -> None:
    """Show each item and do what the person answers; `u` goes back to the latest one that was decided."""
    done: list[tuple[int, Mapping[str, Any]]] = []
    place = 0
    while place < len(items):
        item = items[place]
        show(item)
        choice = _choice_of(f"{place + 1} of {len(items)}. {_QUESTION}", _KEYS)
        if choice == _QUIT:
            return
        if choice == _ALL:
            await _keep_rest(do, options, items[place:])
            return
        if choice == _UNDO:
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
    if choice == _DROP:
        return await _settle(do, options, item, approved=False)
    if choice not in (_KEEP, _EDIT):
        return None
    edits = choice == _EDIT
    if isinstance(item, Proposed):
        return await _settle(do, options, item, approved=True)
    if isinstance(item, Doubted):
        if edits:
            await _edit_doubted(do, item)
        return await _settle(do, options, item, approved=True)
    changes = _changes_of(item, edits=edits)
    if changes is None:
        write_line("Skipped: nothing says what puts it right.")
        return None
    return await _settle(do, options, item, approved=True, changes=changes)


async def _edit_doubted(do: Do, item: Doubted) -> None:
    changes = _changes_of(item.lesson, edits=True)
    if changes:
        await do("edit", {"id": item.lesson.id, "changes": changes})


async def _keep_rest(do: Do, options: Namespace, items: list[Item]) -> None:
    """Keep the rest as it is, except what a person must look at one by one: quarantine and proposals."""
    kept = [item for item in items if _may_be_kept_unseen(item)]
    for item in kept:
        await _settle(do, options, item, approved=True)
    left = len(items) - len(kept)
    if left:
        write_line(f"{left} are left: proposals, in quarantine, or facts without a lesson.")


def _may_be_kept_unseen(item: Item) -> bool:
    if isinstance(item, Proposed | Doubted):
        return False
    if isinstance(item, Lesson):
        return not item.held
    return item.finding.wording is not None


def _changes_of(item: Lesson | StoredFinding, *, edits: bool) -> dict[str, str] | None:
    """Return the fields that the person changes; None where nobody says what another session should know.

    The person is asked for what they want to edit, and for a correction where a finding has no words yet.
    """
    worded = _worded(item)
    present: dict[str, str | None] = {"mistake": "", "correction": ""}
    if worded is not None:
        present = {"mistake": worded.mistake, "correction": worded.correction}
    asked: tuple[str, ...] = ()
    if edits:
        asked = ("mistake", "correction")
    elif worded is None:
        asked = ("correction",)
    changes: dict[str, str] = {}
    for name in asked:
        typed = ask(_question_for(name, present[name]))
        if typed:
            changes[name] = typed
    if isinstance(item, Lesson) or present["correction"] or "correction" in changes:
        return changes
    return None


def _worded(item: Lesson | StoredFinding) -> Lesson | Wording | None:
    """Return what says in words what an item teaches; None for facts that nobody has worded."""
    if isinstance(item, Lesson):
        return item
    return item.finding.wording


def _question_for(name: str, text: str | None) -> str:
    if text:
        return f"{name} [{visible(text)}]: "
    return f"{_QUESTIONS[name]} "


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of an item: its state for a program, the result for a person, and what undoes it (if anything)."""

    state: Mapping[str, Any]
    result: str
    undo: Mapping[str, Any] = field(default_factory=dict[str, Any])


async def _settle(
    do: Do,
    options: Namespace,
    item: Item,
    *,
    approved: bool,
    changes: Mapping[str, str] | None = None,
) -> Mapping[str, Any]:
    """Approve or drop an item and say so; return what undoes it, nothing where that cannot be undone."""
    if isinstance(item, Doubted):
        settled = await _settle_doubted(do, item, approved=approved)
    elif isinstance(item, Proposed):
        settled = await _settle_proposal(do, item, approved=approved)
    elif isinstance(item, Lesson):
        settled = await _settle_lesson(do, item, changes or {}, approved=approved)
    else:
        arguments = {"id": item.id, "approved": approved, "changes": changes or {}}
        settled = _settled_finding(item, await do("finding", arguments), options, approved=approved)
    write_result(options, settled.state, f"{settled.state['id']}: {settled.result}.")
    return settled.undo


async def _settle_doubted(do: Do, item: Doubted, *, approved: bool) -> Settled:
    after: Lesson = await do("still", {"id": item.lesson.id, "true": approved})
    state = {"id": after.id, "state": after.state.value}
    if approved:
        return Settled(state, "still true: it stands on what is there now")
    return Settled(state, "retired")


async def _settle_proposal(do: Do, item: Proposed, *, approved: bool) -> Settled:
    name = item.proposal.id
    after: Lesson = await do("decide", {"id": name, "approved": approved})
    state = {"id": name, "lesson_id": after.id, "state": after.state.value}
    if approved:
        return Settled(state, f"done; {after.id} is {after.state.value}")
    return Settled(state, "dropped")


async def _settle_lesson(
    do: Do, item: Lesson, changes: Mapping[str, str], *, approved: bool
) -> Settled:
    if changes:
        await do("edit", {"id": item.id, "changes": changes})
    after: Lesson = await do("decide", {"id": item.id, "approved": approved})
    state = {"id": item.id, "state": after.state.value, "trust": after.trust.value}
    undo = {
        "id": item.id,
        "state": item.state.value,
        "trust": item.trust.value,
        "held": item.held,
    }
    if approved:
        return Settled(state, "trusted, and recalled from now on", undo)
    return Settled(state, "retired", undo)


def _settled_finding(
    item: StoredFinding, kept: Mapping[str, Any], options: Namespace, *, approved: bool
) -> Settled:
    """Return what became of a finding. Undone, its lesson is dropped again, but only one that was not there before."""
    state = {"id": item.id, **kept}
    new_lesson: str | None = None
    if kept.get("is_new"):
        new_lesson = kept.get("lesson_id")
    undo = {"finding": item.id, "lesson": new_lesson}
    if not approved:
        return Settled(state, "dropped; nobody is asked about it again", undo)
    trust = "not trusted"
    if _speaker_of(options) is Speaker.PERSON:
        trust = "trusted"
    return Settled(state, f"kept as {kept['lesson_id']}, {trust}", undo)


def _speaker_of(options: Namespace) -> Speaker:
    if options.url:
        return speaker_to_service()
    return speaker_of_process()
