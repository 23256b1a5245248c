"""When the agent stops: its last message is held once where the session does not show what it claims."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from mcp_reflect.hooks.last_word import Doubt, doubts, text_of, unsaid
from mcp_reflect.models.warning import LastWord
from mcp_reflect.proofs.ledger import Ledger

_MOST_SAID: Final = 50  # keys of a session, the latest


@dataclass(frozen=True, slots=True)
class Stopped:
    """What is said to an agent that stops (None: nothing), whether that holds its message, and what is noted."""

    text: str | None
    notes: LastWord


def at_stop(
    message: str, ledger: Ledger, notes: LastWord, *, way: Literal["hold", "tell", "off"], again: bool
) -> Stopped:
    """Return what is said about a last message. `again`: the agent stops after its message was held.

    A claim is doubted once a session. With `tell` the text waits for the next prompt.
    """
    found = doubts(message, ledger)
    notes = _settled(notes, found, ledger)
    new = [] if again or way == "off" else unsaid(found, notes.said)
    if not new:
        return Stopped(None, notes)
    text = text_of(new)
    said = (*notes.said, *(doubt.key for doubt in new))[-_MOST_SAID:]
    kinds = tuple(sorted({kind for doubt in new for kind in doubt.claim.kinds}))
    if way == "tell":
        return Stopped(None, replace(notes, said=said, due=text, told=notes.told + 1))
    return Stopped(text, replace(notes, said=said, held=notes.held + 1, open=kinds, step=ledger.step))


def _settled(notes: LastWord, found: Sequence[Doubt], ledger: Ledger) -> LastWord:
    """Count what came of a message that was held: the agent ran it, said it again, or corrected it."""
    if not notes.open:
        return notes
    if any(proof.step > notes.step and proof.kind in notes.open for proof in ledger.proofs):
        return replace(notes, open=(), ran=notes.ran + 1)
    if any(kind in notes.open for doubt in found for kind in doubt.claim.kinds):
        return replace(notes, open=(), repeated=notes.repeated + 1)
    return replace(notes, open=(), corrected=notes.corrected + 1)
