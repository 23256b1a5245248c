"""What the bank remembers of one session that hooks watch.

A session is *held out* if it is in the control group, which is shown no lessons, so that their effect can be measured.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

_MOST_REFUSED: Final = 50
"""The last refused calls of a session that are remembered, and the last calls against lessons."""

LAST_WORD_COUNTS: Final = ("held", "ran", "corrected", "repeated", "told")


@dataclass(frozen=True, slots=True, kw_only=True)
class LastWord:
    """What was said about the last messages of a session, and what came of it. The bank keeps it under these names."""

    held: int = 0  # messages that were held
    told: int = 0  # messages about which the agent was told at the next prompt
    ran: int = 0  # held messages after which the agent ran what it had claimed
    corrected: int = 0  # held messages that it put right
    repeated: int = 0  # held messages that it sent again
    said: tuple[str, ...] = ()  # the keys of the doubts that were told: each is told once
    due: str = ""  # the text that waits for the next prompt
    open: tuple[str, ...] = ()  # the kinds of claims in the latest message that was held
    step: int = 0  # the number of calls before that message


class GuardStage(StrEnum):
    """How far it is known what an agent did after a guard spoke about its call. The value ends the stored text."""

    CALL_RUNS = "told"  # the agent was told of the lesson, and the same call goes on
    WAITS = ""  # the call was refused or has ended: the agent's next call is its answer
    SETTLED = "settled"  # the answer is known


@dataclass(frozen=True, slots=True)
class GuardNote:
    """A call that went against a lesson: the lesson's id, the exact key of the call, and how far it is settled.

    The bank stores it as one text, `LESSON_ID EXACT_KEY` with the stage behind it, if that is not empty:
    `les_4f2a 9c31 told` <-> `GuardNote("les_4f2a", "9c31", GuardStage.CALL_RUNS)`.
    """

    lesson_id: str
    exact_key: str
    stage: GuardStage = GuardStage.WAITS

    @classmethod
    def from_text(cls, text: str) -> "GuardNote":
        """Return the note that a text of the bank stands for."""
        lesson_id, exact_key, *stage = text.split(" ")
        return cls(lesson_id, exact_key, GuardStage("".join(stage)))

    def to_text(self) -> str:
        """Return the note as the bank stores it."""
        return f"{self.lesson_id} {self.exact_key} {self.stage.value}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionNotes:
    """What hooks note of a session beside its calls. The bank keeps it as JSON, from which `from_json` drops strange fields."""

    held: tuple[str, ...] = ()  # the exact keys of the calls that were refused once
    guarded: tuple[
        str, ...
    ] = ()  # the calls against lessons as texts (`GuardNote`), the latest last
    last_word: LastWord = LastWord()

    @property
    def guard_notes(self) -> tuple[GuardNote, ...]:
        """The calls against lessons, the latest last."""
        return tuple(map(GuardNote.from_text, self.guarded))

    def has_met_guard(self, lesson_id: str, exact_key: str) -> bool:
        """Return whether a guard spoke about this call in this session, whatever came of it."""
        return any(
            note.lesson_id == lesson_id and note.exact_key == exact_key for note in self.guard_notes
        )

    def after_guard(self, note: GuardNote) -> "SessionNotes":
        """Return the notes with a call against a lesson as the latest."""
        earlier = [text for text in self.guarded if text != note.to_text()]
        return replace(self, guarded=(*earlier, note.to_text())[-_MOST_REFUSED:])

    def with_guard_stage(self, note: GuardNote, stage: GuardStage) -> "SessionNotes":
        """Return the notes with one of their guard notes at another stage, at the same place."""
        old = note.to_text()
        new = replace(note, stage=stage).to_text()
        return replace(self, guarded=tuple(new if text == old else text for text in self.guarded))

    def after_hold(self, exact_key: str) -> "SessionNotes":
        """Return the notes with the exact key of a call that was refused."""
        return replace(self, held=(*self.held, exact_key)[-_MOST_REFUSED:])


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """The state of a session."""

    id: str
    held_out: bool  # it is in the control group
    step: int = 0  # the number of its calls
    changed: int = 0  # the number of the last call that may have changed something
    # Heads of calls, each with the number of the last such call that worked: ("shell:git push", 7).
    worked: tuple[tuple[str, int], ...] = ()
    # Ids of the lessons that it was shown, some behind a prefix: `guard:les_4f2a` was shown at a call against it.
    shown: tuple[str, ...] = ()
    notes: SessionNotes = SessionNotes()
