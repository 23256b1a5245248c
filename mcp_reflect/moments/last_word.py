"""When an agent stops: its last message is held once where the session does not show what it claims.

`services/last_message.py` reads the session; here its doubts become the text for the agent, and the notes of what the
session was told.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from mcp_reflect.evidence.easier_suite import easier_text
from mcp_reflect.evidence.kinds import ProofKind
from mcp_reflect.evidence.ledger import Ledger
from mcp_reflect.models.session_state import LastWord
from mcp_reflect.moments.doubts import Doubt, DoubtKind, claims_in, doubts
from mcp_reflect.text.signature import digest

MOST_TEXT: Final = 600  # characters that the agent is told
_MOST_DOUBTS: Final = 3  # in one text
# Characters of what the line of a doubt shows.
_MOST_QUOTE: Final = 70
_MOST_COMMAND: Final = 100
_MOST_ERROR: Final = 140
_MOST_CHANGED: Final = 80
_ENDING: Final = "Run it and report what it shows, or correct your message."
_DOTS: Final = "..."
_MOST_KEYS: Final = 50
"""Keys of what a session was told; the latest are kept."""


def text_of(doubts_found: Sequence[Doubt]) -> str:
    """Return what the agent is told of some doubts, in at most MOST_TEXT characters.

    Where they are too long together, the last doubts are left out, and the first one is cut.
    """
    room = MOST_TEXT - len("\n") - len(_ENDING)
    lines = [_line(doubt) for doubt in doubts_found[:_MOST_DOUBTS]]
    while len(lines) > 1 and len("\n".join(lines)) > room:
        lines.pop()
    text = "\n".join(lines)
    if len(text) > room:
        text = text[: room - len(_DOTS)] + _DOTS
    return f"{text}\n{_ENDING}"


def _line(doubt: Doubt) -> str:
    """Return one doubt in a line: the words of the message, and what the session shows instead.

    | the doubt | its line                                                                            |
    |-----------|-------------------------------------------------------------------------------------|
    | FAILED    | You say: "All tests pass." The last run of `pytest -q` failed: `1 failed, 3 passed` |
    | UNSAID    | The last run of `pytest -q` failed: 1 failed. Your message does not say so.         |
    | STALE     | You say: "All tests pass." After the last run of `pytest -q`, app/cart.py changed.  |
    | NEVER     | You say: "All tests pass." This session holds no run of tests that shows it.        |
    """
    quotation = f'You say: "{_cut(doubt.claim.text, _MOST_QUOTE)}"'
    proof = doubt.proof
    if proof is None:
        kinds = " or ".join(sorted(doubt.claim.kinds))
        return f"{quotation} This session holds no run of {kinds} that shows it."
    command = f"`{_cut(proof.command, _MOST_COMMAND)}`"
    error_line = _cut(proof.outcome.line, _MOST_ERROR)
    match doubt.verdict:
        case DoubtKind.UNSAID:
            error = f": {error_line}" if error_line else ""
            return f"The last run of {command} failed{error}. Your message does not say so."
        case DoubtKind.FAILED:
            error = f": `{error_line}`" if error_line else "."
            return f"{quotation} The last run of {command} failed{error}"
        case _:
            changed = _cut(doubt.changed, _MOST_CHANGED)
            return f"{quotation} After the last run of {command}, {changed} changed."


def _cut(text: str, most: int) -> str:
    """Return a text in one line of at most `most` characters, without backticks, which would end the quote around it."""
    text = " ".join(text.split()).replace("`", "'")
    if len(text) <= most:
        return text
    return text[: most - len(_DOTS)] + _DOTS


@dataclass(frozen=True, slots=True)
class StopAnswer:
    """The answer to an agent that stops: `text` makes it go on, None lets it stop; `notes` are kept for its session."""

    text: str | None
    notes: LastWord


def at_stop(
    message: str,
    ledger: Ledger,
    notes: LastWord,
    *,
    mode: Literal["hold", "tell", "off"],
    again: bool,
) -> StopAnswer:
    """Return what is said about a last message; each doubt is said once a session.

    `mode` is what the setting does with a doubt, and `again` says that the agent stops after its message was held:

    | the message                             | the agent | text for the next prompt |
    |-----------------------------------------|-----------|--------------------------|
    | any, where `mode` is "off"              | may stop  | none                     |
    | comes after a held one (`again`)        | may stop  | none                     |
    | has no new doubt                        | may stop  | the tests made easier    |
    | has a new doubt, where `mode` is "tell" | may stop  | doubts, tests            |
    | has a new doubt, where `mode` is "hold" | goes on   | none: it is told now     |

    An agent is held once at a stop, however its message reads then: it may be right.
    """
    doubts_found = doubts(message, ledger)
    notes = _with_what_followed(notes, doubts_found, ledger)
    if again or mode == "off":
        return StopAnswer(None, notes)
    new_doubts = [doubt for doubt in doubts_found if doubt.key not in notes.said]
    easier_tests = _new_text_on_easier_tests(message, ledger, notes)
    notes = _noted_as_said(notes, new_doubts, easier_tests)
    if not new_doubts:
        if easier_tests:
            notes = replace(notes, due=easier_tests)
        return StopAnswer(None, notes)
    text = "\n".join(filter(None, (text_of(new_doubts), easier_tests)))
    if mode == "tell":
        return StopAnswer(None, replace(notes, due=text, told=notes.told + 1))
    kinds = frozenset[ProofKind]().union(*(doubt.claim.kinds for doubt in new_doubts))
    open_kinds = tuple(sorted(kinds))
    return StopAnswer(text, replace(notes, held=notes.held + 1, open=open_kinds, step=ledger.step))


def _noted_as_said(notes: LastWord, new_doubts: Sequence[Doubt], easier_tests: str) -> LastWord:
    """Return the notes with the keys of both texts of this moment, so that each is said once a session."""
    keys = [doubt.key for doubt in new_doubts]
    if easier_tests:
        keys.append(_key_of_text(easier_tests))
    return replace(notes, said=(*notes.said, *keys)[-_MOST_KEYS:])


def _key_of_text(text: str) -> str:
    """Return the key by which a session notes that it was told this text."""
    return digest(text, 12)


def _new_text_on_easier_tests(message: str, ledger: Ledger, notes: LastWord) -> str:
    """Return the text about edits that made the tests easier which a message says to pass.

    It is empty where there are none, and where this session was told the same text before. The text never holds a
    message: the edits may be right, and the person decides.
    """
    claims = claims_in(message, ledger)
    if not any(ProofKind.TESTS in claim.kinds and not claim.part for claim in claims):
        return ""
    facts = ledger.suite.facts()
    if not facts:
        return ""
    text = easier_text(facts)
    if _key_of_text(text) in notes.said:
        return ""
    return text


def _with_what_followed(notes: LastWord, doubts_found: Sequence[Doubt], ledger: Ledger) -> LastWord:
    """Return the notes, with a count of what the agent did after its message was held.

    | since the held message                        | counted as  |
    |-----------------------------------------------|-------------|
    | a command of a claimed kind was run           | `ran`       |
    | no such command, and the claim is still there | `repeated`  |
    | no such command, and the claim is gone        | `corrected` |

    Nothing is counted where no message was held.
    """
    was_held = bool(notes.open)
    if not was_held:
        return notes
    if any(proof.step > notes.step and proof.kind in notes.open for proof in ledger.proofs):
        return replace(notes, open=(), ran=notes.ran + 1)
    if any(not doubt.claim.kinds.isdisjoint(notes.open) for doubt in doubts_found):
        return replace(notes, open=(), repeated=notes.repeated + 1)
    return replace(notes, open=(), corrected=notes.corrected + 1)
