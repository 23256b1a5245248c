"""What was found in a session, each thing once, with the lines of its file that show it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from mcp_reflect.models.finding import Finding, Seen
from mcp_reflect.sessions.text import clip

_MOST_EVIDENCE: Final = 300  # characters of a line of evidence
MOST_LINES: Final = 8  # lines of evidence of one finding


class EvidenceLine(NamedTuple):
    """A line of evidence: where it stands in the session's file, and its words."""

    number: int
    text: str


class FoundInSession(NamedTuple):
    """Something that a session teaches, with the evidence for it."""

    finding: Finding
    seen: Seen


@dataclass(slots=True)
class SessionFindings:
    """The findings of a session of a `host`, by the thing that each is about, with `most_lines` of evidence at most."""

    host: str
    most_lines: int = MOST_LINES
    _by_thing: dict[str, FoundInSession] = field(default_factory=dict[str, FoundInSession])

    def add(
        self,
        finding: Finding,
        lines: Sequence[EvidenceLine],
        *,
        time: float | None,
        seconds: float = 0.0,
    ) -> None:
        """Keep a finding with its evidence; `seconds` are the work that it cost, `time` is that of its last record.

        Of two findings about one thing the first stays, unless the later one alone has the call that worked. The evidence
        of the later one is added to what the first has.
        """
        shown = tuple(f"{line.number}: {clip(line.text, _MOST_EVIDENCE)}" for line in lines)
        seen = Seen(session="", host=self.host, at=time, seconds=round(seconds, 1), lines=shown)
        before = self._by_thing.get(finding.thing)
        if before is not None:
            if before.finding.worked or not finding.worked:
                finding = before.finding
            seen = _with_another_time(before.seen, seen, self.most_lines)
        self._by_thing[finding.thing] = FoundInSession(finding, seen)

    def remove(self, thing: str) -> None:
        """Take back what was found about a thing, if anything was."""
        self._by_thing.pop(thing, None)

    def of_session(self, session: str) -> list[FoundInSession]:
        """Return all findings with the session's name, which may stand in any of its records, so that it comes last."""
        return [
            FoundInSession(finding, replace(seen, session=session))
            for finding, seen in self._by_thing.values()
        ]


def _with_another_time(before: Seen, once_more: Seen, most_lines: int) -> Seen:
    """Return the evidence `before` with that of one more time: the seconds of both, and the first lines of both.

    `before` may be of many times, `once_more` is of one.
    """
    lines = sorted(dict.fromkeys((*before.lines, *once_more.lines)), key=_number_of_evidence)
    return replace(
        before,
        seconds=before.seconds + once_more.seconds,
        times=before.times + once_more.times,
        lines=tuple(lines[:most_lines]),
    )


def _number_of_evidence(text: str) -> int:
    """Return the number of the line in a piece of evidence: 12 of "12: `npm test`: 1 failed"."""
    return int(text.partition(":")[0])
