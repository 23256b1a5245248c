"""Two values for the same thing in one work: "The timeout is 30 s." and later "The timeout is 60 s."."""

import re
from collections.abc import Iterator
from typing import Final

from mcp_reflect.checkers.base import Finding, Work
from mcp_reflect.checkers.evidence.rows import Figure, figures, stems
from mcp_reflect.checkers.sentences import sentences
from mcp_reflect.models.critique import Status

# A whole clause that gives one thing one value; anything more may say when, where or under which condition.
_STATED: Final = re.compile(
    r"(?:and |so |therefore )?(?:the|our) (?P<thing>[a-z][\w-]*(?: [a-z][\w-]*){0,2}) (?:is|are|equals) "
    r"(?:now )?(?P<value>[$€£]?[\d][\d.,'’]*\s?[^\W\d_]{0,12}%?)[.!]?$",
    re.IGNORECASE,
)
# A work that tells of a change or of several cases gives a thing several values.
_CHANGES: Final = re.compile(
    r"\b(?:chang\w+|before|after|first|then|now|later|old|new|previous\w*|rais\w+|lower\w+|increas\w+|reduc\w+|"
    r"instead|otherwise|if|when|case|each|option|either|or|example)\b",
    re.IGNORECASE,
)


class ConsistencyChecker:
    """The later of two values fails where both clauses say no more than this."""

    name = "consistency"

    def check(self, work: Work) -> Iterator[Finding]:
        """One finding for each thing that is given another value, in a work that tells of no change."""
        if any(_CHANGES.search(step) for step in work.steps):
            return
        known: dict[frozenset[str], tuple[int, str, Figure]] = {}
        for number, step in enumerate(work.steps, start=1):
            for clause in (clause for sentence in sentences(step) for clause in sentence.clauses if not clause.hedged):
                stated = _STATED.fullmatch(clause.text)
                figure = next(figures(stated["value"]), None) if stated else None
                if stated is None or figure is None:
                    continue
                place, text, first = known.setdefault(stems(stated["thing"]), (number, clause.text, figure))
                if first.kind == figure.kind and first.value != figure.value:
                    detail = f"step {place} says: {text}"
                    yield Finding(
                        step=number, status=Status.FAIL, claim=clause.text, expected=first.text, detail=detail
                    )
