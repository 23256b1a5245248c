"""Which lines have what a claim is on in particular, and not only words that many lines have.

"All is done through return values" is not decided by any line of a help text that has "done" and "values".
"""

from collections.abc import Set as AbstractSet
from typing import Final

from mcp_reflect.evidence.bound_lines import BoundLine
from mcp_reflect.evidence.claim_terms import ClaimTerms

_LEAST_OF_WORDS: Final = 1.0
"""What two rare words weigh together: one of five outputs has each, or fewer."""
_LINES_WITH_SUBJECT: Final = 3
"""Lines of an output from which on a name in them is what the whole output is on."""


def has_particular(line: BoundLine, claim: ClaimTerms) -> bool:
    """Return whether a line has what the claim is on in particular; the first row that fits decides.

    | the line                                                     | has it                                        |
    |--------------------------------------------------------------|-----------------------------------------------|
    | tells how the run ended on which the claim is, or is no line | yes                                           |
    | has what the claim quotes, or a number of it                 | yes                                           |
    | has a name of the claim                                      | yes, if few lines of the output have the name |
    | has a telling word of the claim                              | yes, if the claim names the file              |
    | has two such words or more                                   | yes, if they are rare together                |

    Beside "chart-view renders legends by itself", ".chart-view .row7 {}" has none where other lines have "chart-view" as
    well.
    """
    if line.place is None or line.tells_result:
        return True
    output = line.output
    shared = output.terms_by_line[line.place] & claim.weights.keys()
    has_number = any(term[0].isdigit() for term in shared)
    if has_number or claim.quotes_in(output.lines[line.place]):
        return True
    names = {term for term in shared if claim.is_name(term)}
    if any(len(output.places_of[name]) < _LINES_WITH_SUBJECT for name in names):
        return True
    words = _words_beside_names(shared, names, claim)
    names_its_file = any(map(claim.is_name, output.tool_terms & claim.weights.keys()))
    if words and names_its_file:
        return True
    return len(words) > 1 and sum(claim.weights[word] for word in words) >= _LEAST_OF_WORDS


def _words_beside_names(
    shared: AbstractSet[str], names: AbstractSet[str], claim: ClaimTerms
) -> set[str]:
    """Return the telling words that a line shares with a claim, without those that are a part of a shared name."""
    words = {term for term in shared if claim.tells(term)}
    return {word for word in words if not any(word in name for name in names)}
