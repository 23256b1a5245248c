"""Decide in one sitting about what waits: quarantined lessons, findings, and what agents propose of your lessons."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from mcp_reflect.cli.agreeing import agrees
from mcp_reflect.cli.finding_text import record_of
from mcp_reflect.cli.lesson_text import lines_in_question
from mcp_reflect.cli.output import (
    ask,
    is_interactive,
    write_json,
    write_line,
    write_result,
)
from mcp_reflect.cli.replay_text import lines_of_replay
from mcp_reflect.cli.review_decisions import Item, seen_of, settle
from mcp_reflect.cli.review_text import show
from mcp_reflect.cli.running import Do
from mcp_reflect.clock import dated
from mcp_reflect.errors import ChangedError, InputError
from mcp_reflect.models.common import plain
from mcp_reflect.models.finding import StoredFinding, Wording
from mcp_reflect.models.lesson import GuardMode, Lesson
from mcp_reflect.models.proposal import changes_of
from mcp_reflect.services.curation import LessonDetails
from mcp_reflect.services.reviews import Proposed, Waiting
from mcp_reflect.services.roots import Doubted
from mcp_reflect.speaker import Speaker, speaker_of_process
from mcp_reflect.text.one_line import one_line, visible

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
_CHANGED: Final = "It changed while you read, and nothing was done."
_MOST_ECHOED: Final = 20  # characters of an answer that is no key


async def review(do: Do, options: Namespace) -> None:
    """List what waits, or ask a person about each.

    | read by                        | what is done                                      |
    |--------------------------------|---------------------------------------------------|
    | a program (`--json`)           | one record for each is printed                    |
    | a person in a terminal         | they are asked about each, guards first           |
    | anybody else, such as an agent | it is listed, without what a person alone may see |
    """
    waiting: Waiting = await do("review", {})
    if options.json:
        write_json(_records(waiting))
        return
    unarmed = waiting.guards
    if unarmed:
        for lesson in unarmed:
            write_line(one_line(f"{lesson.id}: guard {lesson.guard}: {lesson.unarmed}"))
        write_line("`lessons guard ID hold` (or tell, off) decides.\n")
    if waiting.shared:
        write_line(f"{one_line(waiting.shared)}\n")
    items = items_of(waiting)
    if not items and not unarmed and not waiting.withheld:
        write_line(f"Nothing waits for you in {waiting.scope}.")
    elif is_interactive() and speaker_of_process() is Speaker.PERSON:
        if await _arm_each(do, options, unarmed):
            await _ask_about_each(do, options, items)
    else:
        for item in items:
            show(item)
        if waiting.withheld:
            write_line(f"{waiting.withheld} in quarantine are shown to a person alone.")
        write_line(
            "A person decides in a terminal of their own: `lessons approve ID`, `reject ID`."
        )


def items_of(waiting: Waiting) -> list[Item]:
    """Return what waits, in the order in which a person is asked."""
    return [*waiting.proposals, *waiting.lessons, *waiting.doubted, *waiting.findings]


def _records(waiting: Waiting) -> list[dict[str, Any]]:
    """Return a record for a program of each thing that waits: lessons, guards that are off, findings, proposals, doubts."""
    return [
        *(dated(plain(lesson)) for lesson in (*waiting.lessons, *waiting.guards)),
        *(_finding_record(stored) for stored in waiting.findings),
        *(_proposal_record(proposed) for proposed in waiting.proposals),
        *(_doubted_record(doubted) for doubted in waiting.doubted),
    ]


def _proposal_record(proposed: Proposed) -> dict[str, Any]:
    """Return a proposal; its own kind is the `wish`."""
    record = dated(plain(proposed.proposal))
    proposal = proposed.proposal
    changes = changes_of(proposed.lesson, proposal.kind, proposal.body)
    return {
        **record,
        "kind": "proposal",
        "wish": proposal.kind.value,
        "changes": [plain(change) for change in changes],
    }


def _doubted_record(doubted: Doubted) -> dict[str, Any]:
    """Return a lesson of which a person is asked whether it is still true, and what changed."""
    return {**dated(plain(doubted.lesson)), "kind": "doubted", "changed": doubted.told}


def _finding_record(stored: StoredFinding) -> dict[str, Any]:
    """Return a finding; its own kind is what it was `seen_as`."""
    record = record_of(stored)
    return {**record, "kind": "finding", "seen_as": record["kind"]}


_ACTS: Final[Mapping[type, str]] = {
    Lesson: "trust it",
    StoredFinding: "keep a lesson of it, trusted",
    Proposed: "do so",
    Doubted: "take it for true again",
}
"""What is done to an item that is approved, as an act that completes "Shall I …"."""


async def decide(do: Do, options: Namespace, *, approved: bool) -> int:
    """Decide about quarantined lessons and findings, after showing each; return the exit status.

    To approve, the person is asked: they have read what is shown, and their word counts for nothing else.
    """
    waiting: Waiting = await do("review", {})
    waiting_by_id: dict[str, Item] = {stored.id: stored for stored in waiting.findings}
    waiting_by_id.update({proposed.proposal.id: proposed for proposed in waiting.proposals})
    doubted = {item.lesson.id: item for item in waiting.doubted}
    words = _words_of(options)
    status = 0
    for item_id in options.ids:
        changes: Mapping[str, str] = {}
        if item_id in waiting_by_id:
            item, changes = waiting_by_id[item_id], words
        else:
            shown: LessonDetails = await do("show", {"id": item_id})
            item = _asked_about(shown.lesson, doubted, approved=approved)
        if not options.json:
            show(item)
        if approved and not agrees(options, _ACTS[type(item)]):
            status = 1
            continue
        await settle(do, options, item, approved=approved, changes=changes)
    return status


def _asked_about(
    lesson: Lesson, doubted: Mapping[str, Doubted], *, approved: bool
) -> Lesson | Doubted:
    """Return what a decision about a lesson is about: the lesson, or whether it is still true, if that is in doubt.

    To approve a lesson that no person keeps yet is to vouch for it, which says that it is still true, too.
    """
    if approved and not lesson.is_kept_by_person:
        return lesson
    return doubted.get(lesson.id, lesson)


def _words_of(options: Namespace) -> dict[str, str]:
    """Return the person's words about one finding."""
    options_by_name = {name: getattr(options, name, None) for name in _QUESTIONS}
    words = {name: text for name, text in options_by_name.items() if text}
    if words and len(options.ids) > 1:
        raise InputError("id", "the words are about one finding", "Approve one at a time.")
    return words


async def _arm_each(do: Do, options: Namespace, unarmed: Sequence[Lesson]) -> bool:
    """Ask about each guard that is off what it shall do; return whether the person goes on with the rest."""
    for number, lesson in enumerate(unarmed, start=1):
        write_line("\n".join(lines_in_question(lesson)))
        question = f"{number} of {len(unarmed)}. {_ARM_QUESTION}"
        choice = _choice_of(question, _ARM_KEYS)
        while choice == _REPLAY:
            write_line("\n".join(lines_of_replay(await do("try", {"id": lesson.id}))))
            choice = _choice_of(question, _ARM_KEYS)
        if choice == _QUIT:
            return False
        mode = _ARMS.get(choice)
        if mode is not None:
            await _arm(do, options, lesson, mode)
    return True


async def _arm(do: Do, options: Namespace, lesson: Lesson, mode: GuardMode) -> None:
    """Set what the guard of a lesson does, unless the lesson changed since it was shown."""
    sent = {"id": lesson.id, "mode": mode.value, "seen": seen_of(lesson)}
    try:
        after: Lesson = await do("guard", sent)
    except ChangedError:
        write_line(f"{_CHANGED} `lessons review` shows it again.")
        return
    state = {"id": after.id, "guard_mode": mode.value}
    write_result(options, state, f"{after.id}: its guard is set to {mode.value}.")


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
        write_line(
            f"'{visible(choice[:_MOST_ECHOED])}' is none of these keys; nothing was decided."
        )


class _Decision(NamedTuple):
    """The index of an item that the person decided about, and what undoes it; `undo` is empty where nothing does."""

    item_index: int
    undo: Mapping[str, Any]


async def _ask_about_each(do: Do, options: Namespace, items: list[Item]) -> None:
    """Show each item and do what the person answers; `u` goes back to the latest one that was decided."""
    decisions: list[_Decision] = []
    index = 0
    while index < len(items):
        item = items[index]
        show(item)
        choice = _choice_of(f"{index + 1} of {len(items)}. {_QUESTION}", _KEYS)
        if choice == _QUIT:
            return
        if choice == _ALL:
            await _keep_rest(do, options, items[index:])
            return
        if choice == _UNDO:
            index = await _undo_latest(do, decisions, index)
            continue
        try:
            undo = await _decide_item(do, options, item, choice)
        except ChangedError:
            write_line(f"{_CHANGED} Look at it again.\n")
            items[index : index + 1] = await _as_it_is_now(do, item)
            continue
        if undo is not None:
            decisions.append(_Decision(index, undo))
        index += 1


async def _as_it_is_now(do: Do, item: Item) -> list[Item]:
    """Return an item as it waits now, in a list; an empty list if it waits no longer."""
    waiting: Waiting = await do("review", {})
    (item_id,) = seen_of(item)
    return [other for other in items_of(waiting) if item_id in seen_of(other)]


async def _undo_latest(do: Do, decisions: list[_Decision], index: int) -> int:
    """Undo the latest decision; return the index of the item to ask about next.

    It is that of the item whose decision was undone, and `index`, the present one, if nothing can be undone.
    """
    if not decisions:
        write_line("Nothing was decided yet.")
        return index
    latest = decisions.pop()
    if not latest.undo:
        write_line("What was done for it stays; `lessons edit` and `restore` change it.")
        return index
    await do("reopen", latest.undo)
    write_line("Undone.")
    return latest.item_index


async def _decide_item(
    do: Do, options: Namespace, item: Item, choice: str
) -> Mapping[str, Any] | None:
    """Keep or drop an item as the person chose; return what undoes it, None if it was skipped."""
    if choice == _DROP:
        return await settle(do, options, item, approved=False)
    if choice not in (_KEEP, _EDIT):
        return None
    edits = choice == _EDIT
    if isinstance(item, Proposed):
        return await settle(do, options, item, approved=True)
    if isinstance(item, Doubted):
        if edits:
            item = await _edit_doubted(do, item)
        return await settle(do, options, item, approved=True)
    changes = _changes_of(item, edits=edits)
    if changes is None:
        write_line("Skipped: nothing says what puts it right.")
        return None
    return await settle(do, options, item, approved=True, changes=changes)


async def _edit_doubted(do: Do, item: Doubted) -> Doubted:
    """Ask the person for new words of a lesson that is in doubt, store those that they give, and return it with them."""
    changes = _changes_of(item.lesson, edits=True)
    if not changes:
        return item
    sent = {"id": item.lesson.id, "changes": changes, "seen": seen_of(item)}
    return replace(item, lesson=await do("edit", sent))


async def _keep_rest(do: Do, options: Namespace, items: list[Item]) -> None:
    """Show the rest and keep it as it is, except what a person must look at one by one: quarantine and proposals.

    The first of `items` was shown already. Of the others the person is asked once, after all of them were shown.
    """
    items_to_keep = [item for item in items if _may_be_kept_with_others(item)]
    unseen_items = [item for item in items_to_keep if item is not items[0]]
    for item in unseen_items:
        show(item)
    if unseen_items and not agrees(options, f"keep these {len(items_to_keep)}"):
        return
    for item in items_to_keep:
        try:
            await settle(do, options, item, approved=True)
        except ChangedError:
            write_line(f"{_CHANGED} `lessons review` shows it again.")
    count_of_others = len(items) - len(items_to_keep)
    if count_of_others:
        write_line(
            f"{count_of_others} are left: proposals, in quarantine, or facts without a lesson."
        )


def _may_be_kept_with_others(item: Item) -> bool:
    """Return whether an item may be kept together with others: a lesson out of quarantine, or a worded finding."""
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
    asked_fields: tuple[str, ...] = ()
    if edits:
        asked_fields = ("mistake", "correction")
    elif worded is None:
        asked_fields = ("correction",)
    changes: dict[str, str] = {}
    for name in asked_fields:
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
    """Return the question for a field, with its present text if it has one."""
    if text:
        return f"{name} [{one_line(text)}]: "
    return f"{_QUESTIONS[name]} "
