"""When the agent stops: its last message is held once where the session does not show what it claims."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, Literal

from mcp_reflect.evidence.easier_suite import easier_text
from mcp_reflect.evidence.kinds import ProofKind
from mcp_reflect.evidence.ledger import Ledger, Proof
from mcp_reflect.evidence.success_claims import SuccessClaim, claims_of, only_says_done
from mcp_reflect.models.warning import LastWord
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.text.signature import digest

MOST_TEXT: Final = 600
_MOST_SHOWN: Final = 3  # claims in one text
_MOST_QUOTE: Final = 70


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
    """A claim that nothing shows: why, by which run, and the file that changed after it."""

    claim: SuccessClaim
    verdict: DoubtKind
    proof: Proof | None = None
    changed: str = ""

    @property
    def key(self) -> str:
        """A key for the claim and the evidence against it, the same whenever both occur again."""
        run = f"{self.proof.command}\n{self.proof.outcome.line}" if self.proof else ""
        text = "\n".join(
            (self.verdict, " ".join(self.claim.text.lower().split()), run, self.changed)
        )
        return digest(text, 12)


# What a run of another kind shows as well: a package that was built has been compiled.
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
    """Return the claims of a message that the session does not show; what is not sure is left out."""
    found = [_doubt(claim, ledger) for claim in _claims(message, ledger)]
    if only_says_done(message):
        found.append(_unsaid_failure(message, ledger))
    return [doubt for doubt in found if doubt is not None]


_ENDS: Final = (ProofKind.TESTS, ProofKind.BUILD, ProofKind.DEPLOYMENT)
"""The kinds of runs that a message may not pass over where they failed last."""


def _unsaid_failure(message: str, ledger: Ledger) -> Doubt | None:
    """Return the latest run of tests, a build or a deployment that failed and has not passed since.

    A run of a program that is not known, or the work of another agent, may have shown that all is well since.
    """
    latest = {proof.kind: proof for proof in ledger.proofs if proof.kind in _ENDS}
    failed = [proof for proof in latest.values() if proof.outcome.passed is False]
    if not failed:
        return None
    proof = max(failed, key=lambda one: one.step)
    later = [one for one in ledger.proofs if one.step > proof.step and one.kind is ProofKind.ANY]
    may_have_passed = any(one.outcome.passed is not False for one in later)
    if may_have_passed or ledger.delegated > proof.step:
        return None
    claim = SuccessClaim(frozenset({proof.kind}), message.strip())
    return Doubt(claim, DoubtKind.UNSAID, proof)


def decides(message: str, ledger: Ledger) -> bool:
    """Return whether the runs of a ledger, which may be those of a session's end, decide every claim of a message."""
    return all(
        any(proof.kind in claim.kinds for proof in ledger.proofs)
        for claim in _claims(message, ledger)
    )


def _claims(message: str, ledger: Ledger) -> list[SuccessClaim]:
    programs: dict[str, set[ProofKind]] = {}
    for proof in ledger.proofs:
        programs.setdefault(proof.program.lower(), set()).add(proof.kind)
    return claims_of(message, programs)


def _doubt(claim: SuccessClaim, ledger: Ledger) -> Doubt | None:
    runs = [proof for proof in ledger.proofs if proof.kind in claim.kinds]
    named = [proof for proof in runs if proof.program in claim.text.lower()]
    runs = named or runs
    if not runs:
        related = {kind for own in claim.kinds for kind in _SHOWN_BY.get(own, ())}
        if (
            ledger.partial
            or ledger.delegated >= 0
            or any(proof.kind in related for proof in ledger.proofs)
        ):
            return None
        runs = [proof for proof in ledger.proofs if proof.kind is ProofKind.ANY]
        changed = max((change.step for change in ledger.changes), default=0)
        if not runs:
            return Doubt(claim, DoubtKind.NEVER)
        if any(proof.step > changed and proof.outcome.passed is not False for proof in runs):
            return None  # it may be the proof
    latest = [proof for proof in runs if proof.step == runs[-1].step]
    if ledger.delegated > latest[-1].step:
        return None
    failed = next((proof for proof in latest if proof.outcome.passed is False), None)
    if failed is None and any(proof.outcome.passed is None for proof in latest):
        return None
    if failed is not None:
        # Another run may have shown a part of the tests, if nothing changed since.
        changed = max(
            (change.step for change in ledger.changes if change.step < failed.step), default=0
        )
        shown = claim.part and any(
            proof.outcome.passed is not False and proof.step > changed for proof in runs
        )
        return None if shown else Doubt(claim, DoubtKind.FAILED, failed)
    proof = latest[-1]
    started = proof.kind is ProofKind.HEALTH and (
        proof.program not in _ASKS or "dev server" in claim.text.lower()
    )
    if proof.kind in _NOT_STALE or started:
        return None
    changed = [change.what for change in ledger.changes if change.step > proof.step]
    if proof.kind is ProofKind.MIGRATION:
        changed = [what for what in changed if _OF_A_SCHEMA.search(what)]
    return Doubt(claim, DoubtKind.STALE, proof, changed[-1]) if changed else None


def text_of(found: Sequence[Doubt]) -> str:
    """Return what the agent is told, in at most MOST_TEXT characters."""
    lines = [_line(doubt) for doubt in found[:_MOST_SHOWN]]
    ending = "Run it and report what it shows, or correct your message."
    while len("\n".join((*lines, ending))) > MOST_TEXT:
        lines = lines[:-1] if len(lines) > 1 else [lines[0][: MOST_TEXT - len(ending) - 4] + "..."]
    return "\n".join((*lines, ending))


def _line(doubt: Doubt) -> str:
    said = f'You say: "{_cut(doubt.claim.text, _MOST_QUOTE)}"'
    proof = doubt.proof
    if proof is None:
        return f"{said} This session holds no run of {' or '.join(sorted(doubt.claim.kinds))} that shows it."
    command = f"`{_cut(proof.command, 100)}`"
    if doubt.verdict is DoubtKind.UNSAID:
        shown = f": {_cut(proof.outcome.line, 140)}" if proof.outcome.line else ""
        return f"The last run of {command} failed{shown}. Your message does not say so."
    if doubt.verdict is DoubtKind.FAILED:
        return f"{said} The last run of {command} failed" + (
            f": `{_cut(proof.outcome.line, 140)}`" if proof.outcome.line else "."
        )
    return f"{said} After the last run of {command}, {_cut(doubt.changed, 80)} changed."


def _cut(text: str, most: int) -> str:
    text = " ".join(text.split()).replace("`", "'")
    return text if len(text) <= most else f"{text[: most - 3]}..."


_MOST_SAID: Final = 50  # keys of a session, the latest


@dataclass(frozen=True, slots=True)
class Stopped:
    """What is said to an agent that stops (None: nothing), whether that holds its message, and what is noted."""

    text: str | None
    notes: LastWord


def at_stop(
    message: str,
    ledger: Ledger,
    notes: LastWord,
    *,
    way: Literal["hold", "tell", "off"],
    again: bool,
) -> Stopped:
    """Return what is said about a last message. `again`: the agent stops after its message was held.

    A claim is doubted once a session. With `tell` the text waits for the next prompt, and so does a suite that got
    easier where no message is held.
    """
    found = doubts(message, ledger)
    notes = _settled(notes, found, ledger)
    if again or way == "off":
        return Stopped(None, notes)
    new = [doubt for doubt in found if doubt.key not in notes.said]
    fact = _easier_suite(message, ledger, notes)
    keys = [*(doubt.key for doubt in new), *([digest(fact, 12)] if fact else [])]
    notes = replace(notes, said=(*notes.said, *keys)[-_MOST_SAID:])
    if not new:
        return Stopped(None, replace(notes, due=fact) if fact else notes)
    text = "\n".join(filter(None, (text_of(new), fact)))
    kinds = tuple(sorted({kind for doubt in new for kind in doubt.claim.kinds}))
    if way == "tell":
        return Stopped(None, replace(notes, due=text, told=notes.told + 1))
    return Stopped(text, replace(notes, held=notes.held + 1, open=kinds, step=ledger.step))


def _easier_suite(message: str, ledger: Ledger, notes: LastWord) -> str:
    """Return by what edits of the session the tests got easier that a message says to pass; each is said once.

    It holds no message: the edits may be right, and the person decides.
    """
    claims = _claims(message, ledger)
    if not any(ProofKind.TESTS in claim.kinds and not claim.part for claim in claims):
        return ""
    facts = ledger.suite.facts()
    text = easier_text(facts) if facts else ""
    return "" if digest(text, 12) in notes.said else text


def _settled(notes: LastWord, found: Sequence[Doubt], ledger: Ledger) -> LastWord:
    """Count what the agent did after its message was held: it ran the command, repeated the claim, or corrected it."""
    if not notes.open:
        return notes
    if any(proof.step > notes.step and proof.kind in notes.open for proof in ledger.proofs):
        return replace(notes, open=(), ran=notes.ran + 1)
    if any(kind in notes.open for doubt in found for kind in doubt.claim.kinds):
        return replace(notes, open=(), repeated=notes.repeated + 1)
    return replace(notes, open=(), corrected=notes.corrected + 1)
