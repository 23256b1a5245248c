"""How often past sessions had what a lesson is about: calls against it, calls as it says, and its failure.

They are counted also where the lesson would not have spoken. Each call is compared only with the lessons that name its
program or tool.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from mcp_reflect.guards.call import Call
from mcp_reflect.guards.items import tool_key
from mcp_reflect.models.replay import FailedStep, ReplayedLesson, SpokenMoment
from mcp_reflect.models.root import Ground, Standing
from mcp_reflect.security.redact import clean_text
from mcp_reflect.sessions.aftermath import SHARED, ComparedLesson
from mcp_reflect.sessions.session_steps import CallStep, SteppedSession
from mcp_reflect.sessions.text import clip, telling_words

_MOST_LINE: Final = 300  # characters of an error that are shown
_MOST_FAILURES: Final = 2_000  # of one lesson that are kept with their places


@dataclass(slots=True)
class _CallCounts:
    """Calls of one kind: how many were made and failed, and the latest that failed.

    `worked` has the session and the time (seconds since 1970, None where no record tells it) of each of the others.
    """

    made: int = 0
    failed: int = 0
    latest: FailedStep | None = None
    worked: list[tuple[str, float | None]] = field(default_factory=list[tuple[str, float | None]])

    def add(self, step: CallStep, session: str) -> None:
        """Count a call, and keep it as the latest failure where it is one."""
        self.made += 1
        if not step.failed:
            self.worked.append((session, step.time))
            return
        self.failed += 1
        failure = _failed_step(step, session)
        if self.latest is None or (failure.at or 0.0) >= (self.latest.at or 0.0):
            self.latest = failure

    @property
    def worked_since(self) -> int | None:
        """How many calls worked after the latest failure, in other sessions: it may not fail any more.

        Those of the failure's own session do not count, since its cure made them work. None where no call failed, or
        where times are not told.
        """
        failed = self.latest
        if failed is None or failed.at is None:
            return None
        others = [time for session, time in self.worked if session != failed.session]
        if None in others:
            return None
        return sum(time > failed.at for time in others if time is not None)


@dataclass(slots=True)
class _Tally:
    """What came of a lesson: calls against it, calls as it says, its failures, and the seconds from them to the cure."""

    against: _CallCounts = field(default_factory=_CallCounts)
    followed: _CallCounts = field(default_factory=_CallCounts)
    failures: list[FailedStep] = field(default_factory=list[FailedStep])
    lost_seconds: float | None = None


class Tallies:
    """Counts, over all sessions, what came of each lesson."""

    def __init__(self, compared: Iterable[ComparedLesson]) -> None:
        """Index the lessons by the keys of the calls that they name, and by the words of their failures."""
        self._lessons = {lesson.lesson.id: lesson for lesson in compared}
        self._tallies = {lesson_id: _Tally() for lesson_id in self._lessons}
        self._by_key: dict[str, list[ComparedLesson]] = defaultdict(list)
        self._by_word: dict[str, list[ComparedLesson]] = defaultdict(list)
        for lesson in self._lessons.values():
            for key in _keys_of(lesson):
                self._by_key[key].append(lesson)
            for word in lesson.failure_words:
                self._by_word[word].append(lesson)

    def add_session(self, past: SteppedSession, session: str) -> None:
        """Count the calls of a session, and the failures in it that lessons are about."""
        open_failures: dict[str, _OpenFailure] = defaultdict(_OpenFailure)  # by the lesson's id
        for step in past.steps:
            if not isinstance(step, CallStep):
                continue
            for lesson in self._named_by(step.call):
                self._count_call(lesson, step, session, open_failures)
            if step.failed:
                for lesson in self._with_error(step.ending_line):
                    open_failures[lesson.lesson.id].add(step, session)
        for lesson_id, failure in open_failures.items():
            self._settle(lesson_id, failure)

    def _count_call(
        self,
        lesson: ComparedLesson,
        step: CallStep,
        session: str,
        open_failures: dict[str, "_OpenFailure"],
    ) -> None:
        """Count a call that goes against a lesson, or does as it says.

        | the call           | worked                     | failed                                                      |
        |--------------------|----------------------------|-------------------------------------------------------------|
        | against the lesson | is counted                 | is counted; the failure, unless its words tell it (below)   |
        | as the lesson says | is counted, and is the cure | is counted                                                 |

        `add_session` takes a failure whose error is in the words of the lesson by these words, so that it is left out here.
        """
        lesson_id = lesson.lesson.id
        tally = self._tallies[lesson_id]
        if lesson.calls.is_opposed_by(step.call):
            tally.against.add(step, session)
            if step.failed and not lesson.describes_error(step.ending_line):
                is_about_lesson = lesson.shares_a_word(step.ending_line)
                open_failures[lesson_id].add(step, session, is_certain=is_about_lesson)
        elif lesson.calls.is_followed_by(step.call):
            tally.followed.add(step, session)
            if not step.failed and lesson_id in open_failures:
                open_failures[lesson_id].cure(step)

    def _settle(self, lesson_id: str, failure: "_OpenFailure") -> None:
        """Keep the failures of a session that are certain, and the work that was lost until their cures."""
        tally = self._tallies[lesson_id]
        room = _MOST_FAILURES - len(tally.failures)
        tally.failures += failure.certain[:room]
        if failure.lost_seconds is not None:
            tally.lost_seconds = (tally.lost_seconds or 0.0) + failure.lost_seconds

    def _named_by(self, call: Call) -> list[ComparedLesson]:
        """Return the lessons that name a program, tool or file of a call, each once."""
        by_id: dict[str, ComparedLesson] = {}
        for key in call.keys:
            for lesson in self._by_key.get(key, ()):
                by_id[lesson.lesson.id] = lesson
        return list(by_id.values())

    def _with_error(self, line: str) -> list[ComparedLesson]:
        """Return the lessons whose mistake or symptoms share enough telling words with the line of an error."""
        shared_words = Counter[str]()
        for word in telling_words(line):
            shared_words.update(lesson.lesson.id for lesson in self._by_word.get(word, ()))
        return [self._lessons[name] for name, count in shared_words.items() if count >= SHARED]

    def replayed_lesson(
        self, lesson_id: str, moments: Sequence[SpokenMoment], ground: Ground
    ) -> ReplayedLesson:
        """Return what came of a lesson, with the moments at which it would have spoken."""
        compared = self._lessons[lesson_id]
        tally = self._tallies[lesson_id]
        minutes: float | None = None
        if tally.lost_seconds is not None:
            minutes = round(tally.lost_seconds / 60, 1)
        return ReplayedLesson(
            lesson_id=lesson_id,
            lesson=compared.lesson.text,
            guard=compared.lesson.guard,
            is_kept_by_person=compared.lesson.is_kept_by_person,
            changed=ground.what_changed,
            is_doubted=ground.standing is Standing.DOUBTED,
            names_calls=compared.names_calls,
            moments=tuple(moments),
            against=tally.against.made,
            against_failed=tally.against.failed,
            worked_since=tally.against.worked_since,
            followed=tally.followed.made,
            followed_failed=tally.followed.failed,
            followed_error=tally.followed.latest,
            failures=tuple(sorted(tally.failures, key=_by_time)),
            unwarned=_unwarned(tally.failures, moments),
            minutes=minutes,
        )


@dataclass(slots=True)
class _OpenFailure:
    """The failures of a lesson in one session, until their cure comes, if it does.

    Only the cure shows that the `unsure` ones were about the lesson. `work_seconds_at_failure` is what the clock of the
    session's work (`CallStep.work_seconds`) showed at the first failure that is not cured, None where each is cured;
    `lost_seconds` is the work between failures and their cures.
    """

    certain: list[FailedStep] = field(default_factory=list[FailedStep])
    unsure: list[FailedStep] = field(default_factory=list[FailedStep])
    work_seconds_at_failure: float | None = None
    lost_seconds: float | None = None

    def add(self, step: CallStep, session: str, *, is_certain: bool = True) -> None:
        """Note a failure; `is_certain` says that its error speaks of the lesson."""
        failed_step = _failed_step(step, session)
        if is_certain:
            self.certain.append(failed_step)
        else:
            self.unsure.append(failed_step)
        if self.work_seconds_at_failure is None:
            self.work_seconds_at_failure = step.work_seconds

    def cure(self, step: CallStep) -> None:
        """Note that a call as the lesson says worked: so the failures before were about the lesson.

        The work since the first of them is lost: a failure at 40 s and its cure at 100 s cost 60 s.
        """
        if self.work_seconds_at_failure is None:
            return
        self.certain += self.unsure
        self.unsure = []
        lost_until_cure = step.work_seconds - self.work_seconds_at_failure
        self.lost_seconds = (self.lost_seconds or 0.0) + lost_until_cure
        self.work_seconds_at_failure = None


def _by_time(failure: FailedStep) -> tuple[float, int]:
    """Return the key that sorts failures by their time, then by their line."""
    return failure.at or 0.0, failure.line


def _failed_step(step: CallStep, session: str) -> FailedStep:
    """Return a call that failed as it is shown, with its error cut and without secrets."""
    return FailedStep(
        session=session,
        line=step.line,
        at=step.time,
        error=clip(clean_text(step.ending_line), _MOST_LINE),
    )


def _keys_of(lesson: ComparedLesson) -> set[str]:
    """Return the keys of the calls that may go against a lesson, or do as it says: `$ git` for a program of a shell."""
    keys: set[str] = set()
    if lesson.calls.guard is not None:
        keys |= set(lesson.calls.guard.keys)
    for call in (lesson.calls.wrong, lesson.calls.right):
        if call is None:
            continue
        if call.shell:
            keys |= {f"$ {name}" for name in call.by_name}
        else:
            keys.add(tool_key(call.tool))
    return keys


def _unwarned(failures: Sequence[FailedStep], moments: Sequence[SpokenMoment]) -> int:
    """Return how many failures came where the lesson had not spoken in that session before."""
    spoke_at: dict[str, int] = {}
    for moment in moments:
        if moment.armed:
            spoke_at.setdefault(moment.session, moment.line)
    return sum(
        failure.session not in spoke_at or failure.line < spoke_at[failure.session]
        for failure in failures
    )
