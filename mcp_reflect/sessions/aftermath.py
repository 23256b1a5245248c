"""What came in a past session after a moment at which a lesson would have spoken.

The failure came that the lesson is about, or the cure that it names (its right call), or neither.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from mcp_reflect.evidence.following import LessonCalls
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.models.replay import Next
from mcp_reflect.sessions.session_steps import CallStep, Step
from mcp_reflect.sessions.text import telling_words

_MOST_AHEAD: Final = 400  # calls after a moment in which the failure or the cure is looked for
SHARED: Final = 3  # telling words that a failure shares with a lesson which names no call


@dataclass(frozen=True, slots=True)
class ComparedLesson:
    """A lesson with what is compared with calls.

    | field           | what it has                                                      |
    |-----------------|------------------------------------------------------------------|
    | `calls`         | the calls that it names: its guard, the wrong and the right call |
    | `failure_words` | the telling words of its mistake and symptoms                    |
    | `every_word`    | these, and those of its advice                                   |
    """

    lesson: Lesson
    calls: LessonCalls
    failure_words: frozenset[str]
    every_word: frozenset[str]

    @classmethod
    def of(cls, lesson: Lesson) -> "ComparedLesson":
        """Return a lesson as it is replayed."""
        failure = " ".join((lesson.mistake or lesson.text, *lesson.symptoms))
        failure_words = telling_words(failure)
        every_word = failure_words | telling_words(f"{lesson.text} {lesson.correction}")
        return cls(lesson, LessonCalls.of(lesson), failure_words, every_word)

    @property
    def names_calls(self) -> bool:
        """Whether the lesson names a call. Of one that names none, nobody can say that nothing of it came."""
        calls = self.calls
        return not (calls.guard is None and calls.wrong is None and calls.right is None)

    def may_be_failure_at(self, step: CallStep) -> bool:
        """Return whether a call failed, and is the lesson's wrong call or has an error in the words of the lesson."""
        if not step.failed:
            return False
        return self.calls.is_opposed_by(step.call) or self.describes_error(step.ending_line)

    def describes_error(self, line: str) -> bool:
        """Return whether an error is in the words of the lesson's mistake or symptoms.

        Several words are asked for: by them alone a call that the lesson does not name counts as its failure.
        """
        return len(telling_words(line) & self.failure_words) >= SHARED

    def shares_a_word(self, line: str) -> bool:
        """Return whether an error, or a person's refusal, has one telling word of the lesson.

        One is enough for a call that the lesson names: the only question is whether it failed for another reason.
        """
        return not telling_words(line).isdisjoint(self.every_word)


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What came after a moment: `fact` is the line that shows it, `minutes` the work until the cure, if there was one."""

    next: Next
    fact: str
    minutes: float | None = None


@dataclass(slots=True)
class _CallsAfterMoment:
    """The calls after a moment that matter to a lesson, each the first of its kind.

    `failure` may be the lesson's failure, `useless_cure` does as the lesson says and failed, `cure` does so and worked.
    """

    failure: CallStep | None = None
    useless_cure: CallStep | None = None
    cure: CallStep | None = None


def aftermath_of(steps: Sequence[Step], position: int, lesson: ComparedLesson) -> Aftermath:
    """Return what came after the step at a position, for a lesson that speaks there; the first row that fits decides.

    | a failure, maybe of the lesson   | a call as it says | what came                            |
    |----------------------------------|-------------------|--------------------------------------|
    | before the cure                  | worked            | the failure, and minutes to the cure |
    | none                             | worked            | the cure                             |
    | its error has a word of it       | failed, or none   | the failure                          |
    | none, or for another reason      | failed            | a cure that did not help             |
    | none, or for another reason      | none              | neither; unknown if it names no call |

    A call against the lesson may have failed for another reason. That the cure put it right, or that its error speaks of
    the lesson, shows that it did not.
    """
    calls = _calls_that_matter(steps, position, lesson)
    if calls.cure is not None:
        minutes = round((calls.cure.work_seconds - steps[position].work_seconds) / 60, 1)
        if calls.failure is not None:
            return Aftermath(Next.FAILURE, calls.failure.ending_line, minutes)
        return Aftermath(Next.CURE, "", minutes)
    if calls.failure is not None and lesson.shares_a_word(calls.failure.ending_line):
        return Aftermath(Next.FAILURE, calls.failure.ending_line)
    if calls.useless_cure is not None:
        return Aftermath(Next.USELESS_CURE, calls.useless_cure.ending_line)
    if lesson.names_calls:
        return Aftermath(Next.NEITHER, "")
    return Aftermath(Next.UNKNOWN, "")


def _calls_that_matter(
    steps: Sequence[Step], position: int, lesson: ComparedLesson
) -> _CallsAfterMoment:
    """Return the calls after a position that matter to a lesson, up to its cure: what comes later is another story."""
    calls = _CallsAfterMoment()
    for step in _calls_after(steps, position):
        if calls.failure is None and lesson.may_be_failure_at(step):
            calls.failure = step
            continue
        if not lesson.calls.is_followed_by(step.call):
            continue
        if not step.failed:
            calls.cure = step
            return calls
        calls.useless_cure = calls.useless_cure or step
    return calls


def _calls_after(steps: Sequence[Step], position: int) -> Iterator[CallStep]:
    """Yield the calls soon after a position: `_MOST_AHEAD` of them at most."""
    remaining = _MOST_AHEAD
    for step in steps[position + 1 :]:
        if isinstance(step, CallStep):
            remaining -= 1
            if remaining < 0:
                return
            yield step
