"""When the agent stops: its last message is held once where the session does not show what it claims.

The *ledger* lists the runs of a session that prove something (tests, builds, deployments), each with a *step*, which is
the number of its call in the session, and the changes of files between them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from math import inf
from typing import Final, Literal

from mcp_reflect.evidence.easier_suite import easier_text
from mcp_reflect.evidence.kinds import ProofKind
from mcp_reflect.evidence.ledger import Ledger, Proof
from mcp_reflect.evidence.success_claims import SuccessClaim, claims_of, only_says_done
from mcp_reflect.evidence.word_lists import read_word_list
from mcp_reflect.models.session_state import LastWord
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.text.signature import digest

MOST_TEXT: Final = 600  # characters that the agent is told
_MOST_DOUBTS: Final = 3  # in one text
# Characters of what the line of a doubt shows.
_MOST_QUOTE: Final = 70
_MOST_COMMAND: Final = 100
_MOST_ERROR: Final = 140
_MOST_CHANGED: Final = 80


class DoubtKind(StrEnum):
    """What is wrong with a claim: its last run failed, something changed after it, or nothing was run.

    `UNSAID` is a last run that failed, of which a message that only says "Done." says nothing.
    """

    FAILED = "failed"
    UNSAID = "unsaid"
    STALE = "stale"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Doubt:
    """A claim that nothing shows: why, the run that speaks against it, and the file that changed after that run.

    `proof` is None where nothing was run, `changed` empty where no change is the reason.
    """

    claim: SuccessClaim
    verdict: DoubtKind
    proof: Proof | None = None
    changed: str = ""

    @property
    def key(self) -> str:
        """A key for the claim and the evidence against it, the same whenever both occur again."""
        words = " ".join(self.claim.text.lower().split())
        run = ""
        if self.proof is not None:
            run = f"{self.proof.command}\n{self.proof.outcome.line}"
        return digest(f"{self.verdict}\n{words}\n{run}\n{self.changed}", 12)


# The kinds of runs that show a claim of this kind as well: tests that ran show that the build works.
_SHOWN_BY: Final = {
    ProofKind.BUILD: {ProofKind.TYPES, ProofKind.IMAGE, ProofKind.DEPLOYMENT, ProofKind.TESTS},
    ProofKind.TYPES: {ProofKind.BUILD},
    ProofKind.FORMAT: {ProofKind.LINT, ProofKind.COMMIT},
    ProofKind.LINT: {ProofKind.FORMAT, ProofKind.COMMIT},
    ProofKind.IMAGE: {ProofKind.DEPLOYMENT},
    ProofKind.COMMIT: {ProofKind.PUSH},
    ProofKind.DEPLOYMENT: {ProofKind.PUSH},
    ProofKind.HEALTH: {ProofKind.DEPLOYMENT, ProofKind.TESTS},
    ProofKind.MIGRATION: {ProofKind.DEPLOYMENT, ProofKind.TESTS},
    ProofKind.PUSH: {ProofKind.DEPLOYMENT, ProofKind.IMAGE},
}
_NOT_STALE: Final = frozenset({ProofKind.COMMIT, ProofKind.PUSH})
# Programs that ask a service. One that was only started takes up changes by itself, as a development server.
_ASKS: Final = frozenset(
    "curl wget http https kubectl docker docker-compose systemctl fly helm".split()
)
_OF_A_SCHEMA: Final = lazy_compile(
    r"(?i)migrat|alembic|schema|models?\b|prisma|\.sql$|flyway|entit"
)


def doubts(message: str, ledger: Ledger) -> list[Doubt]:
    """Return the doubts about the claims of a message that the session does not show; an unsure case gives none.

    "All tests pass." after a failed `pytest -q` gives Doubt(…, DoubtKind.FAILED, the run of pytest).
    """
    doubts_or_none = [_doubt(claim, ledger) for claim in _claims(message, ledger)]
    if only_says_done(message):
        doubts_or_none.append(_unsaid_failure(message, ledger))
    return [doubt for doubt in doubts_or_none if doubt is not None]


_FINAL_RUNS: Final = (ProofKind.TESTS, ProofKind.BUILD, ProofKind.DEPLOYMENT)
"""The kinds of runs that a message may not pass over where they failed last."""


def _unsaid_failure(message: str, ledger: Ledger) -> Doubt | None:
    """Return the latest run of tests, a build or a deployment that failed and has not passed since.

    A run of a program that is not known, or the work of another agent, may have shown that all is well since.
    """
    last_of_each_kind = {run.kind: run for run in ledger.proofs if run.kind in _FINAL_RUNS}
    failed = [run for run in last_of_each_kind.values() if run.outcome.passed is False]
    if not failed:
        return None
    last_failure = max(failed, key=lambda run: run.step)
    unknown_runs_later = [
        run for run in ledger.proofs if run.step > last_failure.step and run.kind is ProofKind.ANY
    ]
    may_have_passed = any(run.outcome.passed is not False for run in unknown_runs_later)
    if may_have_passed or ledger.delegated > last_failure.step:
        return None
    claim = SuccessClaim(frozenset({last_failure.kind}), message.strip())
    return Doubt(claim, DoubtKind.UNSAID, last_failure)


def decides(message: str, ledger: Ledger) -> bool:
    """Return whether every claim of a message is of a kind that the ledger has a run of.

    The ledger may be that of a session's end alone: then no earlier part needs to be read.
    """
    kinds_run = {proof.kind for proof in ledger.proofs}
    return all(not kinds_run.isdisjoint(claim.kinds) for claim in _claims(message, ledger))


def _claims(message: str, ledger: Ledger) -> list[SuccessClaim]:
    """Return the claims of success in a message.

    The programs that the session ran are passed on by their kinds, so that "pytest passes" is known as a claim
    about tests.
    """
    programs: dict[str, set[ProofKind]] = {}
    for proof in ledger.proofs:
        programs.setdefault(proof.program.lower(), set()).add(proof.kind)
    return claims_of(message, programs)


def _doubt(claim: SuccessClaim, ledger: Ledger) -> Doubt | None:
    """Return why the session does not show a claim, None where it does or where that is not sure.

    The last run that bears on the claim decides:

    | the last run of the claim's kind           | doubt                                                  |
    |--------------------------------------------|--------------------------------------------------------|
    | there is none                              | NEVER, unless something else may show the claim        |
    | there is none, but one of an unknown kind  | as below, of that run; none if it may have worked      |
    | another agent worked after it              | none: that agent may have run it again                 |
    | failed                                     | FAILED                                                 |
    | ended in a way that nobody can tell        | none                                                   |
    | passed                                     | STALE if something changed after it, else none         |
    """
    runs = _runs_of(claim, ledger)
    if not runs:
        if _may_be_shown_otherwise(claim, ledger):
            return None
        runs = [proof for proof in ledger.proofs if proof.kind is ProofKind.ANY]
        if not runs:
            return Doubt(claim, DoubtKind.NEVER)
        if _has_not_failed_after(runs, _last_change(ledger)):
            return None
    last_step = runs[-1].step
    if ledger.delegated > last_step:
        return None
    latest = [proof for proof in runs if proof.step == last_step]  # one command may run several
    failed_runs = [proof for proof in latest if proof.outcome.passed is False]
    if failed_runs:
        return _doubt_of_failed(claim, failed_runs[0], runs, ledger)
    if any(proof.outcome.passed is None for proof in latest):
        return None
    return _doubt_of_stale(claim, latest[-1], ledger)


def _runs_of(claim: SuccessClaim, ledger: Ledger) -> list[Proof]:
    """Return the runs of the kinds that a claim speaks of; where it names the program of some, those alone.

    "pytest passes" speaks of the runs of pytest, and not of those of jest, which are tests as well.
    """
    words = _WORD.findall(claim.text.lower())
    runs = [proof for proof in ledger.proofs if proof.kind in claim.kinds]
    of_named_program = [proof for proof in runs if _is_named(proof, words)]
    return of_named_program or runs


_WORD: Final = lazy_compile(r"`?[\w./+-]*\w`?")
_EVERYDAY_WORDS: Final = frozenset(read_word_list("programs")["everyday words"])


def _is_named(proof: Proof, words: Sequence[str]) -> bool:
    """True where the words of a claim name the program of a run: "pytest passes", "./gradlew is green".

    A program whose name is an everyday word is named where it stands as code ("`make` passes") or before a word of its
    own command ("go test passes"), and not in "good to go" or "I will make a note".
    """
    program = proof.program.lower()
    words_of_command = proof.command.lower().split()
    for word, next_word in pairwise((*words, "")):
        plain = word.strip("`")
        if program not in (plain, plain.rpartition("/")[2]):
            continue
        stands_as_code = word.startswith("`")
        if program not in _EVERYDAY_WORDS or stands_as_code:
            return True
        if next_word.strip("`") in words_of_command:
            return True
    return False


def _may_be_shown_otherwise(claim: SuccessClaim, ledger: Ledger) -> bool:
    """Return whether something else than a run of the claim's kind may show it.

    That is a part of the session that the ledger lacks, another agent's work, or a run of a kind that includes it:
    see `_SHOWN_BY`.
    """
    if ledger.partial or ledger.delegated >= 0:
        return True
    kinds_run = {proof.kind for proof in ledger.proofs}
    return any(not kinds_run.isdisjoint(_SHOWN_BY.get(kind, ())) for kind in claim.kinds)


def _last_change(ledger: Ledger, *, before: float = inf) -> int:
    """Return the step of the last change before a step, 0 where there is none."""
    return max((change.step for change in ledger.changes if change.step < before), default=0)


def _has_not_failed_after(runs: Sequence[Proof], step: int) -> bool:
    """Return whether a run after a step passed, or ended in a way that nobody can tell."""
    return any(proof.step > step and proof.outcome.passed is not False for proof in runs)


def _doubt_of_failed(
    claim: SuccessClaim, failed: Proof, runs: Sequence[Proof], ledger: Ledger
) -> Doubt | None:
    """Return the doubt about a claim whose last run failed.

    There is none if the claim speaks of a part of the tests alone, and another run since the last change may have
    shown it.
    """
    changed = _last_change(ledger, before=failed.step)
    if claim.part and _has_not_failed_after(runs, changed):
        return None
    return Doubt(claim, DoubtKind.FAILED, failed)


def _doubt_of_stale(claim: SuccessClaim, proof: Proof, ledger: Ledger) -> Doubt | None:
    """Return the doubt about a claim whose last run passed, if something changed after that run.

    A commit or a push does not get out of date, nor a service that runs on by itself; a migration only where the
    schema changed.
    """
    if proof.kind in _NOT_STALE or _was_only_started(proof, claim):
        return None
    changed = [change.what for change in ledger.changes if change.step > proof.step]
    if proof.kind is ProofKind.MIGRATION:
        changed = [what for what in changed if _OF_A_SCHEMA.search(what)]
    return Doubt(claim, DoubtKind.STALE, proof, changed[-1]) if changed else None


def _was_only_started(proof: Proof, claim: SuccessClaim) -> bool:
    """Return whether a service was started rather than asked: it takes up changes by itself."""
    if proof.kind is not ProofKind.HEALTH:
        return False
    return proof.program not in _ASKS or "dev server" in claim.text.lower()


_ENDING: Final = "Run it and report what it shows, or correct your message."
_DOTS: Final = "..."


def text_of(doubts_found: Sequence[Doubt]) -> str:
    """Return what the agent is told of some doubts, in at most MOST_TEXT characters: the last ones are left out first."""
    room = MOST_TEXT - len("\n") - len(_ENDING)
    lines = [_line(doubt) for doubt in doubts_found[:_MOST_DOUBTS]]
    while len(lines) > 1 and len("\n".join(lines)) > room:
        lines.pop()
    if len("\n".join(lines)) > room:
        lines = [lines[0][: room - len(_DOTS)] + _DOTS]
    return "\n".join((*lines, _ENDING))


def _line(doubt: Doubt) -> str:
    """Return one doubt in a line: the words of the message, and what the session shows instead.

    'You say: "All tests pass." The last run of `pytest -q` failed: `1 failed, 3 passed in 2s`'
    """
    said = f'You say: "{_cut(doubt.claim.text, _MOST_QUOTE)}"'
    proof = doubt.proof
    if proof is None:
        kinds = " or ".join(sorted(doubt.claim.kinds))
        return f"{said} This session holds no run of {kinds} that shows it."
    command = f"`{_cut(proof.command, _MOST_COMMAND)}`"
    error_line = _cut(proof.outcome.line, _MOST_ERROR)
    match doubt.verdict:
        case DoubtKind.UNSAID:
            shown = f": {error_line}" if error_line else ""
            return f"The last run of {command} failed{shown}. Your message does not say so."
        case DoubtKind.FAILED:
            shown = f": `{error_line}`" if error_line else "."
            return f"{said} The last run of {command} failed{shown}"
        case _:
            changed = _cut(doubt.changed, _MOST_CHANGED)
            return f"{said} After the last run of {command}, {changed} changed."


def _cut(text: str, most: int) -> str:
    """Return a text in one line of at most `most` characters, without backticks, which would end the quote around it."""
    text = " ".join(text.split()).replace("`", "'")
    if len(text) <= most:
        return text
    return text[: most - len(_DOTS)] + _DOTS


_MOST_SAID: Final = 50  # keys of a session, the latest


@dataclass(frozen=True, slots=True)
class StopAnswer:
    """What an agent that stops is told so that it goes on, and what is noted. `text` is None where it may stop."""

    text: str | None
    notes: LastWord


def at_stop(
    message: str,
    ledger: Ledger,
    notes: LastWord,
    *,
    way: Literal["hold", "tell", "off"],
    again: bool,
) -> StopAnswer:
    """Return what is said about a last message; each doubt is said once a session.

    `way` is the setting: "hold" makes the agent go on, "tell" keeps the text for the next prompt, "off" says nothing.
    Tests that the session made easier hold no message: where there is no doubt, their text waits for the next prompt.
    `again`: the agent stops after its message was held, and is let go, however the message reads now.
    """
    doubts_found = doubts(message, ledger)
    notes = _with_what_followed(notes, doubts_found, ledger)
    if again or way == "off":
        return StopAnswer(None, notes)
    new_doubts = [doubt for doubt in doubts_found if doubt.key not in notes.said]
    easier_tests = _easier_suite(message, ledger, notes)
    notes = _noted_as_said(notes, new_doubts, easier_tests)
    if not new_doubts:
        return StopAnswer(None, replace(notes, due=easier_tests) if easier_tests else notes)
    text = "\n".join(filter(None, (text_of(new_doubts), easier_tests)))
    if way == "tell":
        return StopAnswer(None, replace(notes, due=text, told=notes.told + 1))
    kinds = frozenset[ProofKind]().union(*(doubt.claim.kinds for doubt in new_doubts))
    open_kinds = tuple(sorted(kinds))
    return StopAnswer(text, replace(notes, held=notes.held + 1, open=open_kinds, step=ledger.step))


def _noted_as_said(notes: LastWord, doubts_said: Sequence[Doubt], fact: str) -> LastWord:
    """Return the notes with the keys of what is said now, so that it is said once a session."""
    keys = [doubt.key for doubt in doubts_said]
    if fact:
        keys.append(_key_of_fact(fact))
    return replace(notes, said=(*notes.said, *keys)[-_MOST_SAID:])


def _key_of_fact(fact: str) -> str:
    """Return the key by which a session notes that it was told this text."""
    return digest(fact, 12)


def _easier_suite(message: str, ledger: Ledger, notes: LastWord) -> str:
    """Return the text about edits that made the tests easier which a message says to pass; empty where there is none.

    Each text is said once a session. It holds no message: the edits may be right, and the person decides.
    """
    claims = _claims(message, ledger)
    if not any(ProofKind.TESTS in claim.kinds and not claim.part for claim in claims):
        return ""
    facts = ledger.suite.facts()
    if not facts:
        return ""
    text = easier_text(facts)
    return "" if _key_of_fact(text) in notes.said else text


def _with_what_followed(notes: LastWord, doubts_found: Sequence[Doubt], ledger: Ledger) -> LastWord:
    """Return the notes, with a count of what the agent did after its message was held.

    It ran a command of the kind that it had claimed, repeated the claim, or else corrected its message. Nothing is
    counted where no message was held.
    """
    was_held = bool(notes.open)
    if not was_held:
        return notes
    if any(proof.step > notes.step and proof.kind in notes.open for proof in ledger.proofs):
        return replace(notes, open=(), ran=notes.ran + 1)
    if any(not doubt.claim.kinds.isdisjoint(notes.open) for doubt in doubts_found):
        return replace(notes, open=(), repeated=notes.repeated + 1)
    return replace(notes, open=(), corrected=notes.corrected + 1)
