"""How often what lessons are about came in past sessions, also where none of them would have spoken.

Counted are facts alone: calls against a lesson and calls as it says, how many of each failed, and the failure that it is
about. Each call is compared only with the lessons that name its program or tool.
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
from mcp_reflect.sessions.replaying import SHARED, ComparedLesson, MadeStep, PastSession
from mcp_reflect.sessions.text import clip, telling_words

_MOST_LINE: Final = 300  # characters of an error that are shown
_MOST_FAILURES: Final = 2_000  # of one lesson that are kept with their places


@dataclass(slots=True)
class _CallCounts:
    """Calls of one kind: how many, how many failed, the latest that did, and where and when the others were made."""

    made: int = 0
    failed: int = 0
    latest: FailedStep | None = None
    worked: list[tuple[str, float | None]] = field(default_factory=list[tuple[str, float | None]])

    def add(self, step: MadeStep, session: str) -> None:
        """Count a call."""
        self.made += 1
        if not step.failed:
            self.worked.append((session, step.at))
            return
        self.failed += 1
        made = _failed_step(step, session)
        if self.latest is None or (made.at or 0.0) >= (self.latest.at or 0.0):
            self.latest = made

    @property
    def worked_since(self) -> int | None:
        """How many worked in sessions after the latest failure; None where there was none, or times are not told.

        In the session of the failure itself the cure makes it work.
        """
        failed = self.latest
        if failed is None or failed.at is None:
            return None
        others = [at for session, at in self.worked if session != failed.session]
        if None in others:
            return None
        return sum(at > failed.at for at in others if at is not None)


@dataclass(slots=True)
class _Tally:
    """What came of a lesson: calls against it, calls as it says, its failures, and the seconds from them to the cure."""

    against: _CallCounts = field(default_factory=_CallCounts)
    followed: _CallCounts = field(default_factory=_CallCounts)
    failures: list[FailedStep] = field(default_factory=list[FailedStep])
    lost: float | None = None


class Tallies:
    """Counts, over all sessions, what came of each lesson."""

    def __init__(self, every: Iterable[ComparedLesson]) -> None:
        self._advice = {one.lesson.id: one for one in every}
        self._tallies = {name: _Tally() for name in self._advice}
        self._by_key: dict[str, list[ComparedLesson]] = defaultdict(list)
        self._by_word: dict[str, list[ComparedLesson]] = defaultdict(list)
        for one in self._advice.values():
            for key in _keys_of(one):
                self._by_key[key].append(one)
            for word in one.words:
                self._by_word[word].append(one)

    def add_session(self, past: PastSession, session: str) -> None:
        """Count the calls of a session."""
        opened: dict[str, _OpenFailure] = {}
        for step in past.steps:
            if not isinstance(step, MadeStep):
                continue
            for one in self._named_by(step.call):
                self._count_call(one, step, session, opened)
            if step.failed:
                for one in self._told_by(step.seen.line):
                    opened.setdefault(one.lesson.id, _OpenFailure()).add(step, session)
        for name, failure in opened.items():
            self._settle(name, failure)

    def _count_call(
        self, one: ComparedLesson, step: MadeStep, session: str, opened: dict[str, "_OpenFailure"]
    ) -> None:
        tally = self._tallies[one.lesson.id]
        if one.calls.is_opposed_by(step.call):
            tally.against.add(step, session)
            if step.failed and not one.has_error_of(step.seen.line):
                is_told = one.is_told_by(step.seen.line)
                opened.setdefault(one.lesson.id, _OpenFailure()).add(step, session, sure=is_told)
        elif one.calls.is_followed_by(step.call):
            tally.followed.add(step, session)
            if not step.failed and one.lesson.id in opened:
                opened[one.lesson.id].cure(step)

    def _settle(self, name: str, failure: "_OpenFailure") -> None:
        """Keep the failures of a session: one whose error says nothing of the lesson, only where the cure came later."""
        tally = self._tallies[name]
        room = _MOST_FAILURES - len(tally.failures)
        tally.failures += failure.certain[:room]
        if failure.lost is not None:
            tally.lost = (tally.lost or 0.0) + failure.lost

    def _named_by(self, call: Call) -> list[ComparedLesson]:
        """Return the lessons that name a program, tool or file of a call."""
        found = {one.lesson.id: one for key in call.keys for one in self._by_key.get(key, ())}
        return list(found.values())

    def _told_by(self, line: str) -> list[ComparedLesson]:
        """Return the lessons in whose words an error is told."""
        shared = Counter(
            one.lesson.id for word in telling_words(line) for one in self._by_word.get(word, ())
        )
        return [self._advice[name] for name, count in shared.items() if count >= SHARED]

    def lesson(self, name: str, moments: Sequence[SpokenMoment], ground: Ground) -> ReplayedLesson:
        """Return what came of a lesson, with the moments at which it would have spoken."""
        one, tally = self._advice[name], self._tallies[name]
        return ReplayedLesson(
            lesson_id=name,
            lesson=one.lesson.text,
            guard=one.lesson.guard,
            is_kept_by_person=one.lesson.is_kept_by_person,
            changed=ground.told,
            is_doubted=ground.standing is Standing.DOUBTED,
            names_calls=one.names_calls,
            moments=tuple(moments),
            against=tally.against.made,
            against_failed=tally.against.failed,
            worked_since=tally.against.worked_since,
            followed=tally.followed.made,
            followed_failed=tally.followed.failed,
            followed_error=tally.followed.latest,
            failures=tuple(sorted(tally.failures, key=_by_time)),
            unwarned=_unwarned(tally.failures, moments),
            minutes=None if tally.lost is None else round(tally.lost / 60, 1),
        )


@dataclass(slots=True)
class _OpenFailure:
    """The failures of a lesson in a session until their cure comes, if it does; `unsure` ones wait for it."""

    certain: list[FailedStep] = field(default_factory=list[FailedStep])
    unsure: list[FailedStep] = field(default_factory=list[FailedStep])
    began: float | None = None
    lost: float | None = None

    def add(self, step: MadeStep, session: str, *, sure: bool = True) -> None:
        """Note a failure."""
        kept = self.certain if sure else self.unsure
        kept.append(_failed_step(step, session))
        if self.began is None:
            self.began = step.worked

    def cure(self, step: MadeStep) -> None:
        """Note that a call as the lesson says worked."""
        if self.began is None:
            return
        self.certain += self.unsure
        self.unsure = []
        self.lost = (self.lost or 0.0) + step.worked - self.began
        self.began = None


def _by_time(failure: FailedStep) -> tuple[float, int]:
    return failure.at or 0.0, failure.line


def _failed_step(step: MadeStep, session: str) -> FailedStep:
    return FailedStep(
        session=session,
        line=step.line,
        at=step.at,
        error=clip(clean_text(step.seen.line), _MOST_LINE),
    )


def _keys_of(one: ComparedLesson) -> set[str]:
    """Return the keys of the calls that may go against a lesson, or do as it says."""
    keys: set[str] = set()
    if one.calls.guard is not None:
        keys |= set(one.calls.guard.keys)
    for call in (one.calls.wrong, one.calls.right):
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
