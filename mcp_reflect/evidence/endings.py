"""How a session ended, as far as its own runs prove it."""

from typing import Final

from mcp_reflect.evidence.kinds import ProofKind
from mcp_reflect.evidence.ledger import Ledger
from mcp_reflect.evidence.proofs import Proof

_DECIDING: Final = (ProofKind.TESTS, ProofKind.BUILD, ProofKind.TYPES)


def ended_well(ledger: Ledger) -> bool | None:
    """Return whether a session ended well; None where its runs do not prove it.

    The latest run of tests, of a build and of a type check decide. One is no proof once a file was changed behind it, and
    none is where the beginning is not known, or another agent worked since.
    """
    if ledger.partial:
        return None
    changed = max((change.step for change in ledger.changes), default=0)
    latest: dict[ProofKind, Proof] = {}
    for proof in ledger.proofs:
        if proof.kind in _DECIDING:
            latest[proof.kind] = proof
    deciding = [one for one in latest.values() if one.step > max(changed, ledger.last_unseen_step)]
    outcomes = {one.outcome.passed for one in deciding}
    if not outcomes or None in outcomes or len(deciding) < len(latest):
        return None
    return False not in outcomes
