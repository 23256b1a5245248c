"""A rule of the recogniser: what its text must hold, where the match must stand, and the reason in words."""

import re
from typing import Final, NamedTuple

from mcp_reflect.redaction import compiled

# Where an imperative can stand: at the start of a clause, or after words that lead up to it.
_LEAD: Final = re.compile(
    r"(?:^|[.!?:;,\n\])>*#\"'`|-]\s{0,4}|\b(?:please|and|also|then|now|must|should|shall|to continue,?|have to"
    r"|has to|need to|"
    r"required to|authori[sz]ed to|allowed to|free to|want you to|will|may|can|you|instead|agents?|assistants?|llms?|"
    r"models?|rule|lesson|remember|always|simply|just|important|first|permanently)\s{1,3})$",
    re.IGNORECASE,
)
_NEGATED: Final = re.compile(r"(?:never|not|n't|avoid|without|instead of) (?:\w+ ){0,1}$", re.IGNORECASE)
_LEAD_CHARS: Final = 24


class Rule(NamedTuple):
    """A reason, words of which one is in every text that the pattern matches, and the pattern.

    Where it `leads`, the match has to stand where an imperative can stand, and not behind a negation.
    """

    reason: str
    gate: tuple[str, ...]
    pattern: str
    leads: bool

    def finds(self, text: str, folded: str) -> bool:
        """Whether the rule holds for a text, given with its lower case."""
        if not any(word in folded for word in self.gate):
            return False
        found = compiled(self.pattern, re.IGNORECASE).finditer(text)
        return any(not self.leads or _is_order(text, one.start()) for one in found)


def _is_order(text: str, start: int) -> bool:
    before = text[max(start - _LEAD_CHARS, 0) : start]
    return bool(_LEAD.search(before)) and not _NEGATED.search(before)


def rule(reason: str, gate: str, pattern: str, *, leads: bool = False) -> Rule:
    """A rule; the words of its gate are parted by spaces, a space within one is written `+`."""
    return Rule(reason, tuple(word.replace("+", " ") for word in gate.split()), pattern, leads)
