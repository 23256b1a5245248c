"""The doubts about an agent's last message: what it claims to have succeeded, and its session does not show.

The *ledger* lists the runs of a session that prove something (tests, builds, deployments), each with a *step*, which is
the number of its call in the session, and the changes of files between them. "All tests pass." is doubted where the last
run of tests failed, where a file changed after it, and where no test ever ran.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from math import inf
from typing import Final

from mcp_reflect.evidence.admissions import tells_failure
from mcp_reflect.evidence.kinds import ProofKind
from mcp_reflect.evidence.ledger import Ledger
from mcp_reflect.evidence.proofs import Proof
from mcp_reflect.evidence.success_claims import (
    SuccessClaim,
    admitted_kinds,
    claims_of,
    only_says_done,
)
from mcp_reflect.evidence.word_lists import read_word_list
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.text.signature import digest


class DoubtKind(StrEnum):
    """What is wrong with a claim."""

    FAILED = "failed"  # its last run failed
    UNSAID = "unsaid"  # a last run failed, and the message says "Done." without naming it
    STALE = "stale"  # its last run passed, and something changed after it
    NEVER = "never"  # nothing was run


@dataclass(frozen=True, slots=True)
class Doubt:
    """A claim that the session does not show, and the reason.

    `proof` is the run that speaks against the claim, None where nothing was run; `changed` is the file that changed after
    that run, empty where no change is the reason.
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


_KINDS_THAT_SHOW: Final = {
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
"""By the kind of a claim, the kinds of runs that show it as well: tests that ran show that the
build works.
"""

_NEVER_STALE: Final = frozenset({ProofKind.COMMIT, ProofKind.PUSH})
_FINAL_RUNS: Final = (ProofKind.TESTS, ProofKind.BUILD, ProofKind.DEPLOYMENT)
"""The kinds of runs that a message may not pass over where they failed last."""

_ASKING_PROGRAMS: Final = frozenset(
    "curl wget http https kubectl docker docker-compose systemctl fly helm".split()
)
"""Programs that ask a service. One that was only started takes up changes by itself, as a
development server.
"""

_NAME_OF_SCHEMA: Final = lazy_compile(
    r"(?i)migrat|alembic|schema|models?\b|prisma|\.sql$|flyway|entit"
)
_WORD: Final = lazy_compile(r"`?[\w./+-]*\w`?")
_EVERYDAY_WORDS: Final = frozenset(read_word_list("programs")["everyday words"])
"""Names of programs that are words of every text: `go`, `make`."""


def doubts(message: str, ledger: Ledger) -> list[Doubt]:
    """Return the doubts about the claims of a message that the session does not show; an unsure case gives none.

    "All tests pass." after a failed `pytest -q` gives Doubt(…, DoubtKind.FAILED, the run of pytest).
    """
    results = [_doubt(claim, ledger) for claim in claims_in(message, ledger)]
    if only_says_done(message):
        results.append(_unsaid_failure(message, ledger))
    return [doubt for doubt in results if doubt and not _is_told(doubt, message, ledger)]


def _is_told(doubt: Doubt, message: str, ledger: Ledger) -> bool:
    """Return whether a message that claims what a failed run does not show tells why that run failed."""
    failed = doubt.proof
    if doubt.verdict is not DoubtKind.FAILED or failed is None:
        return False
    kinds = frozenset(proof.kind for proof in ledger.proofs if proof.step == failed.step)
    return tells_failure(message, admitted_kinds(message), failed, kinds)


def _unsaid_failure(message: str, ledger: Ledger) -> Doubt | None:
    """Return the doubt about a message that passes over a failure: the last run of tests, a build or a deployment.

    "Done." after a failed `pytest -q` gives Doubt(…, DoubtKind.UNSAID, the run of pytest). There is none where a later
    run of an unknown program, or the work of another agent, may have shown that all is well.
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
    if may_have_passed or ledger.last_unseen_step > last_failure.step:
        return None
    claim = SuccessClaim(frozenset({last_failure.kind}), message.strip())
    return Doubt(claim, DoubtKind.UNSAID, last_failure)


def covers_all_claims(message: str, ledger: Ledger) -> bool:
    """Return whether every claim of a message is of a kind that the ledger has a run of.

    A session is read from its end. Where its last part covers all claims, the runs in it decide, and the earlier part
    need not be read.
    """
    kinds_run = {proof.kind for proof in ledger.proofs}
    return all(not kinds_run.isdisjoint(claim.kinds) for claim in claims_in(message, ledger))


def claims_in(message: str, ledger: Ledger) -> list[SuccessClaim]:
    """Return the claims of success in a message.

    The ledger says what the programs of the session are for, so that "pytest passes" is known as a claim about tests.
    """
    programs: dict[str, set[ProofKind]] = {}
    for proof in ledger.proofs:
        programs.setdefault(proof.program.lower(), set()).add(proof.kind)
    return claims_of(message, programs)


def _doubt(claim: SuccessClaim, ledger: Ledger) -> Doubt | None:
    """Return why the session does not show a claim, None where it does or where that is not sure.

    The last run that bears on the claim decides:

    | the last run of the claim's kind          | doubt                                             |
    |-------------------------------------------|---------------------------------------------------|
    | there is none                             | NEVER, unless something else may show the claim   |
    | there is none, but one of an unknown kind | as below, of that run; none if it may have worked |
    | another agent worked after it             | none: that agent may have run it again            |
    | failed                                    | FAILED                                            |
    | ended in a way that nobody can tell       | none                                              |
    | passed                                    | STALE if something changed after it, else none    |
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
    if ledger.last_unseen_step > last_step:
        return None
    latest = [proof for proof in runs if proof.step == last_step]  # one command may run several
    failed_runs = [proof for proof in latest if proof.outcome.passed is False]
    if failed_runs:
        return _doubt_of_failed(claim, failed_runs[0], runs, ledger)
    if any(proof.outcome.passed is None for proof in latest):
        return None
    return _doubt_of_stale(claim, latest[-1], ledger)


def _runs_of(claim: SuccessClaim, ledger: Ledger) -> list[Proof]:
    """Return the runs that a claim speaks of: those of the program that it names, else all of its kinds.

    "All tests pass" speaks of the runs of pytest and of jest, "pytest passes" of those of pytest alone.
    """
    words = _WORD.findall(claim.text.lower())
    runs = [proof for proof in ledger.proofs if proof.kind in claim.kinds]
    of_named_program = [proof for proof in runs if _is_named(proof, words)]
    return of_named_program or runs


def _is_named(proof: Proof, words: Sequence[str]) -> bool:
    """Return whether the words of a claim name the program of a run: "pytest passes", "./gradlew is green".

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

    A part of the session that the ledger lacks may, and so may another agent's work. So may a run of a kind that
    includes the claimed one (`_KINDS_THAT_SHOW`): a deployment builds, too.
    """
    another_agent_worked = ledger.last_unseen_step >= 0
    if ledger.partial or another_agent_worked:
        return True
    kinds_run = {proof.kind for proof in ledger.proofs}
    return any(not kinds_run.isdisjoint(_KINDS_THAT_SHOW.get(kind, ())) for kind in claim.kinds)


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

    "The tests of the cart pass" speaks of a part of the tests alone. Another run since the last change may have shown
    that part, and then there is no doubt.
    """
    last_change = _last_change(ledger, before=failed.step)
    if claim.part and _has_not_failed_after(runs, last_change):
        return None
    return Doubt(claim, DoubtKind.FAILED, failed)


def _doubt_of_stale(claim: SuccessClaim, proof: Proof, ledger: Ledger) -> Doubt | None:
    """Return the doubt about a claim whose last run passed, if something changed after that run.

    | the run                    | goes out of date with        |
    |----------------------------|------------------------------|
    | a commit or a push         | nothing: it was done         |
    | a service that was started | nothing: it takes up changes |
    | a migration                | a change of the schema       |
    | any other                  | any change                   |
    """
    if proof.kind in _NEVER_STALE or _was_only_started(proof, claim):
        return None
    changed = [change.what for change in ledger.changes if change.step > proof.step]
    if proof.kind is ProofKind.MIGRATION:
        changed = [what for what in changed if _NAME_OF_SCHEMA.search(what)]
    if not changed:
        return None
    return Doubt(claim, DoubtKind.STALE, proof, changed[-1])


def _was_only_started(proof: Proof, claim: SuccessClaim) -> bool:
    """Return whether a service was started (`npm run dev`) rather than asked (`curl localhost`).

    A development server takes up changes by itself, so that its start shows them as well.
    """
    if proof.kind is not ProofKind.HEALTH:
        return False
    return proof.program not in _ASKING_PROGRAMS or "dev server" in claim.text.lower()
