"""Which lines have what a claim is on in particular, and not only words that many lines have.

"All is done through return values" is not decided by any line of a help text that has "done" and "values".
"""

from typing import Final

from mcp_reflect.evidence.bound_lines import BoundLine
from mcp_reflect.evidence.claim_terms import ClaimTerms

_LEAST_OF_WORDS: Final = 1.0
"""What two rare words weigh together: one of five outputs has each, or fewer."""
_LINES_WITH_SUBJECT: Final = 3
"""Lines of an output from which on a name in them is what the whole output is on."""


def has_particular(line: BoundLine, claim: ClaimTerms) -> bool:
    """Return whether a line has what the claim is on in particular.

    That is the end of the run on which the claim is, what it quotes, a number, a name that few lines of the output have,
    two or more rare words, or a word where the claim names the file. Beside "chart-view renders legends by itself",
    ".chart-view .row7 {}" has none where other lines have "chart-view" as well.
    """
    if line.place is None or line.tells_result:
        return True
    output = line.output
    shared = output.terms_by_line[line.place] & claim.weights.keys()
    if claim.quotes_in(output.lines[line.place]) or any(term[0].isdigit() for term in shared):
        return True
    names = {term for term in shared if claim.is_name(term)}
    if any(len(output.places_of[name]) < _LINES_WITH_SUBJECT for name in names):
        return True
    words = {term for term in shared if claim.tells(term) and not any(term in one for one in names)}
    if words and any(map(claim.is_name, output.tool_terms & claim.weights.keys())):
        return True
    return len(words) > 1 and sum(claim.weights[word] for word in words) >= _LEAST_OF_WORDS
