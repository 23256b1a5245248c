"""What the commands of a shell prove: of each chain, `cd src && pytest | tail`, what its commands show and how they ended."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mcp_reflect.evidence.answered_call import AnsweredCall, exit_code
from mcp_reflect.evidence.chains import ChainedCommand, ends_the_chain, is_shown_by_all, prepares
from mcp_reflect.evidence.command_kinds import kinds_looked_at, kinds_of, may_show_any
from mcp_reflect.evidence.kinds import ProofKind
from mcp_reflect.evidence.outcomes import ReportedEnding
from mcp_reflect.evidence.proofs import MOST_SHOWN, SessionProofs
from mcp_reflect.evidence.unknown_scripts import (
    RecordedTexts,
    is_script,
    kinds_named_by,
    kinds_that_end,
)

_LISTING_OPTIONS: Final = frozenset(
    "-l --list-different --check -check --check-only --dry-run --test --diff".split()
)
"""Options with which formatters print the files that they would change, and nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredScript:
    """A call that ran a `script` in a shell; `step` is its number.

    `is_unended` says that the script goes on in the background, or was stopped: how it ended is not known.
    """

    script: str
    call: AnsweredCall
    step: int
    is_unended: bool


@dataclass(slots=True)
class ChainReader:
    """Notes what the commands of a shell prove among the `proofs` of the session.

    `programs` extends the table of proofs, and `texts` has what the session recorded of its scripts.
    """

    proofs: SessionProofs
    texts: RecordedTexts
    programs: tuple[str, ...]

    def note_chain(
        self, links: Sequence[ChainedCommand], run: AnsweredScript, *, is_alone: bool
    ) -> None:
        """Note what each command of a chain shows, with how it ended as far as the end of the chain says it.

        `is_alone` says that no other chain of the script decides its exit code.
        """
        kinds = [kinds_of(link.words, self.programs) for link in links]
        is_known = run.call.answered and not run.is_unended
        for index, link in enumerate(links):
            self._note_look(link.words, run)
            shown_kinds = kinds[index]
            if not prepares(link.words) and may_show_any(link.words, shown_kinds, self.programs):
                shown_kinds |= self._note_unknown(link.words, shown_kinds, run)
            for kind in sorted(shown_kinds):
                ending: ReportedEnding | None = None
                if is_known:
                    ending = ReportedEnding(
                        exit_code(run.call),
                        is_own_code=is_alone and ends_the_chain(links, index, run.script),
                        is_only_program=is_shown_by_all(kind, links, kinds, index),
                        lists_files=kind is ProofKind.FORMAT and _lists_files(link.words),
                    )
                self._add(kind, link.words[0], _shown_script(link, run), run, ending)

    def _add(
        self,
        kind: ProofKind,
        program: str,
        command: str,
        run: AnsweredScript,
        ending: ReportedEnding | None = None,
    ) -> None:
        """Keep a proof that the call gives; without an `ending` nobody knows how its run ended."""
        self.proofs.add(
            kind,
            program=program,
            command=command,
            step=run.step,
            answer=run.call.answer,
            ending=ending,
        )

    def _note_look(self, words: Sequence[str], run: AnsweredScript) -> None:
        """Note a command that only looks as one that may show its kinds, where no run shows them: it takes none back."""
        looked_at = kinds_looked_at(words)
        if looked_at:
            shown_kinds = {proof.kind for proof in self.proofs.proofs}
            self._add_possible(looked_at - shown_kinds, words[0], run)

    def _note_unknown(
        self, words: Sequence[str], known_kinds: frozenset[ProofKind], run: AnsweredScript
    ) -> frozenset[ProofKind]:
        """Note what a run may show that the table does not know; return what it surely shows beside the known kinds."""
        if is_script(words):
            return self._note_script(words, known_kinds, run)
        return self._note_unknown_program(words, known_kinds, run)

    def _note_unknown_program(
        self, words: Sequence[str], known_kinds: frozenset[ProofKind], run: AnsweredScript
    ) -> frozenset[ProofKind]:
        """Note a program that is not known, which may be the proof of anything: `frobnicate --all` shows `ANY`.

        Where it has not failed, it also may show what its words name (`frobnicate test`) or its output ends with.
        """
        if not _has_failed(run.call):
            named = kinds_named_by(words, self.programs) | kinds_that_end(run.call.answer)
            self._add_possible(named - known_kinds, words[0], run)
        return frozenset({ProofKind.ANY})

    def _note_script(
        self, words: Sequence[str], known_kinds: frozenset[ProofKind], run: AnsweredScript
    ) -> frozenset[ProofKind]:
        """Note a script, such as `python tool.py`: it shows what its output ends with, and may show what its text names.

        | output and text | the script | it shows                                                                  |
        |-----------------|------------|---------------------------------------------------------------------------|
        | tell a kind     | any        | what its output ends with; what else is named is noted as possible        |
        | tell none       | failed     | `ANY`                                                                     |
        | tell none       | worked     | nothing; it may have put right an unknown run that failed before, so that |
        |                 |            | these no longer count                                                     |
        """
        answer = run.call.answer
        ended = kinds_that_end(answer)
        possible = self.texts.kinds_of_run(words, answer, self.programs) - ended - known_kinds
        self._add_possible(possible, words[0], run)
        if ended or possible or known_kinds:
            return ended
        if _has_failed(run.call):
            return frozenset({ProofKind.ANY})
        self.proofs.drop_unknown_failures()
        return frozenset()

    def _add_possible(self, kinds: frozenset[ProofKind], program: str, run: AnsweredScript) -> None:
        """Keep what a run may show; how it ended is not known."""
        for kind in sorted(kinds):
            self._add(kind, program, run.script, run)


def _has_failed(call: AnsweredCall) -> bool:
    """Return whether a call ended with an exit code other than 0."""
    return exit_code(call) not in (0, None)


def _lists_files(words: Sequence[str]) -> bool:
    """Return whether a formatter was told to list the files at fault: `prettier --check .`."""
    return not _LISTING_OPTIONS.isdisjoint(words)


def _shown_script(link: ChainedCommand, run: AnsweredScript) -> str:
    """Return the script as a proof shows it; of a long one only the command itself."""
    if len(run.script) <= MOST_SHOWN:
        return run.script
    return " ".join(link.command.line)
