"""What an agent wants changed of a lesson that a person keeps: it waits until a person decides."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final, cast

from mcp_reflect.models.common import from_json
from mcp_reflect.models.lesson import GuardMode, Lesson, LessonDraft, State, Trust

PREFIX: Final = "pro"
"""Of the id of a proposal."""

_LISTS: Final = ("symptoms", "keywords", "tags")
"""The fields of a lesson that are lists."""

_COMPARED_FIELDS: Final = tuple(
    "mistake correction text why context task_type symptoms keywords tags importance confidence external_id wrong_call "
    "right_call state trust".split()
)
"""The fields of which a person is shown whether a proposal changes them."""

_MODE_WORDS: Final[Mapping[GuardMode | None, str]] = {
    GuardMode.ENFORCE: "each call against it is refused",
    GuardMode.HOLD: "a call against it is refused once",
    GuardMode.TELL: "the agent is told at a call against it",
    GuardMode.OFF: "off",
    None: "it does what guards do in the project",
}


class ProposalKind(StrEnum):
    """What would become of the lesson."""

    REPLACE = "replace"  # another one takes its place
    EDIT = "edit"
    RETIRE = "retire"
    DISARM = "disarm"  # its guard is turned off


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A change of a lesson that waits for a person.

    `body` has the new lesson of REPLACE as a draft, and the new values of EDIT; else it is empty. `agent` names the
    program whose agent proposed it.
    """

    id: str
    lesson_id: str
    kind: ProposalKind
    reason: str
    body: dict[str, Any]
    agent: str | None
    created_at: float


def proposed_lesson(lesson: Lesson, kind: ProposalKind, body: Mapping[str, Any]) -> LessonDraft:
    """Return the lesson as a proposal would make it: what a person is shown of it, and what is stored after their yes.

    | kind    | `body`                    | the lesson                                            |
    |---------|---------------------------|-------------------------------------------------------|
    | REPLACE | all fields of another one | that one, trusted, with the guard of `_with_guard_of` |
    | EDIT    | the fields that change    | has these values                                      |
    | RETIRE  | is not read               | is out of use                                         |
    | DISARM  | is not read               | has a guard that is off                               |
    """
    match kind:
        case ProposalKind.REPLACE:
            draft: LessonDraft = from_json(LessonDraft, body)
            return replace(_with_guard_of(lesson, draft), trust=Trust.TRUSTED)
        case ProposalKind.EDIT:
            # JSON has no tuples.
            lists = {name: tuple(body[name]) for name in _LISTS if name in body}
            return replace(lesson, **{**body, **lists})
        case ProposalKind.RETIRE:
            return replace(lesson, state=State.RETIRED)
        case ProposalKind.DISARM:
            return replace(lesson, guard_mode=GuardMode.OFF)


def _with_guard_of(lesson: Lesson, draft: LessonDraft) -> LessonDraft:
    """Return the `draft` that takes the place of a `lesson`, with the guard that it has from then on.

    | the draft brings    | its guard                                                          |
    |---------------------|--------------------------------------------------------------------|
    | a guard             | that one, in the mode that the person chose for the lesson's guard |
    | calls, but no guard | none: the lesson's guard may not be about these calls              |
    | neither             | the lesson's, with its calls and its mode                          |
    """
    if draft.guard:
        return replace(draft, guard_mode=lesson.guard_mode)
    if draft.wrong_call or draft.right_call:
        return draft
    return replace(
        draft,
        wrong_call=lesson.wrong_call,
        right_call=lesson.right_call,
        guard=lesson.guard,
        unarmed=lesson.unarmed,
        guard_mode=lesson.guard_mode,
    )


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field of a lesson that a proposal would change, with both values as texts from outside; empty for none."""

    field: str
    before: str
    after: str


def changes_of(
    lesson: Lesson, kind: ProposalKind, body: Mapping[str, Any]
) -> tuple[FieldChange, ...]:
    """Return each field that a proposal would change, and the guard with what it does, before and after."""
    after = proposed_lesson(lesson, kind, body)
    values: dict[str, tuple[str, str]] = {
        name: (_value_text(getattr(lesson, name)), _value_text(getattr(after, name)))
        for name in _COMPARED_FIELDS
    }
    if _says_all_in_parts(lesson) and _says_all_in_parts(after):
        del values["text"]
    values["guard"] = (guard_words(lesson), guard_words(after))
    return tuple(
        FieldChange(name, value_before, value_after)
        for name, (value_before, value_after) in values.items()
        if value_before != value_after
    )


def _says_all_in_parts(lesson: LessonDraft) -> bool:
    """Return whether the text of a lesson says nothing beside its mistake and correction."""
    return bool(lesson.mistake and lesson.correction) or lesson.text == lesson.mistake


def _value_text(value: Any) -> str:
    """Return the value of a field as a text: ("a", "b") -> "a, b"; None -> ""."""
    if value is None:
        return ""
    if isinstance(value, tuple):
        return ", ".join(map(str, cast("tuple[object, ...]", value)))
    return str(value)


def guard_words(lesson: LessonDraft) -> str:
    """Return a lesson's guard and what it does, such as "`git push` with `--force` (each call against it is refused)"."""
    if lesson.guard is None:
        return "none"
    effect = _MODE_WORDS[lesson.guard_mode]
    if lesson.unarmed:
        effect = f"off: {lesson.unarmed}"
    if lesson.state is not State.ACTIVE:
        effect = f"off: the lesson is {lesson.state}"
    return f"{lesson.guard} ({effect})"
