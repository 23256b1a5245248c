"""The runs of a session that show something, such as a run of tests, each with what it shows and how it ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from mcp_reflect.evidence.answered_call import AnsweredCall
from mcp_reflect.evidence.background import task_asked_for, task_end
from mcp_reflect.evidence.kinds import ProofKind
from mcp_reflect.evidence.outcomes import ReportedEnding, RunEnding, read_outcome
from mcp_reflect.models.common import Json

MOST_SHOWN: Final = 120  # characters of a command that are shown

_MOST_PROOFS: Final = 400  # proofs of a session, the latest
_MOST_IN_BACKGROUND: Final = 100  # tasks in the background, the latest
_MOST_AT_EITHER_END: Final = 40_000  # characters of an answer that are kept at either end


@dataclass(frozen=True, kw_only=True)
class Proof:
    """A run that shows something: its kind, program and command, and the number of its call (`step`).

    `ending` is None where nobody tells how the run ended. Its output is parsed only when `outcome` is read, because few
    runs of a session are needed.
    """

    kind: ProofKind
    program: str
    command: str
    step: int
    answer: str
    ending: ReportedEnding | None

    @cached_property
    def outcome(self) -> RunEnding:
        """Whether it passed, and the line that says so."""
        if self.ending is None:
            return RunEnding(passed=None)
        return read_outcome(self.kind, self.answer, self.ending)


@dataclass(slots=True)
class SessionProofs:
    """The proofs of a session, in the order of their calls; those of tasks in the background by the ids of the tasks."""

    proofs: list[Proof] = field(default_factory=list[Proof])
    _in_background: dict[str, list[Proof]] = field(default_factory=dict[str, list[Proof]])

    def add(
        self,
        kind: ProofKind,
        *,
        program: str,
        command: str,
        step: int,
        answer: str,
        ending: ReportedEnding | None = None,
    ) -> None:
        """Keep a run, with the start of its command, and of a long answer the start and the end, which tell most."""
        if len(answer) > 2 * _MOST_AT_EITHER_END:
            answer = f"{answer[:_MOST_AT_EITHER_END]}\n{answer[-_MOST_AT_EITHER_END:]}"
        proof = Proof(
            kind=kind,
            program=program,
            command=_shown_command(command),
            step=step,
            answer=answer,
            ending=ending,
        )
        self.proofs.append(proof)

    def drop_excess(self) -> None:
        """Keep a bounded number of runs. Those of an unknown kind say less, so that they go first, the oldest one before."""
        while len(self.proofs) > _MOST_PROOFS:
            del self.proofs[self._index_to_drop()]

    def _index_to_drop(self) -> int:
        """Return the index of the oldest run of an unknown kind, else of the oldest run."""
        for index, proof in enumerate(self.proofs):
            if proof.kind is ProofKind.ANY:
                return index
        return 0

    def drop_unknown_failures(self) -> None:
        """Forget failed runs of unknown programs, since a later good end outdates them."""
        self.proofs = [
            proof
            for proof in self.proofs
            if proof.kind is not ProofKind.ANY or proof.outcome.passed is not False
        ]

    def keep_for_task(self, task_id: str, proofs: list[Proof]) -> None:
        """Note which proofs a task in the background gives, whose end is told by a later answer."""
        self._in_background[task_id] = proofs
        while len(self._in_background) > _MOST_IN_BACKGROUND:
            oldest = next(iter(self._in_background))
            del self._in_background[oldest]

    def note_output_of_task(self, call: AnsweredCall, arguments: Mapping[str, Json]) -> bool:
        """Read what a task in the background has printed since; return whether the call asks for one.

        Where the answer tells the end of the task, its proofs get that end. A task that failed without an exit code
        counts as one that ended with 1.
        """
        task_id = task_asked_for(arguments, self._in_background)
        if task_id is None:
            return False
        end = task_end(call.answer, call.code, failed=call.failed)
        if end is None:
            return True
        code = end.code
        if code is None and end.failed:
            code = 1
        ending = ReportedEnding(code, is_own_code=code is not None)
        for proof in self._in_background[task_id]:
            ended = replace(proof, answer=end.output, ending=ending)
            if ended.outcome.passed is not None and proof in self.proofs:
                self.proofs[self.proofs.index(proof)] = ended
        return True


def _shown_command(command: str) -> str:
    """Return the start of a command on one line."""
    shown = " ".join(command[: 2 * MOST_SHOWN].split())
    if len(shown) <= MOST_SHOWN:
        return shown
    return f"{shown[: MOST_SHOWN - 3]}..."
