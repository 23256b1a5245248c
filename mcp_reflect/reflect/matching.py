"""Whether a call is known to fail, by how it is like one that failed, and how certain that is.

The certainties are stated, not learnt; what is learnt moves them: each repeat that failed again and each
that worked counts as one case against a prior that is worth two.
"""

from collections.abc import Sequence
from typing import Final

from mcp_reflect.models.common import Json
from mcp_reflect.models.run import ErrorCategory as C
from mcp_reflect.models.warning import Due, KnownFailure, Match, SessionState
from mcp_reflect.reflect.forms import Forms, forms_of, undresses
from mcp_reflect.reflect.rules.tools import Kind, is_code_search, kind_of

CERTAINTY: Final = {Match.EXACT: 0.95, Match.LOOSE: 0.8, Match.TOOL_AND_ERROR: 0.7, Match.SIMILAR: 0.5}
PRIOR_CASES: Final = 2  # how many repeats the stated certainty is worth
PASSING: Final = 0.5  # of the certainty: these pass by themselves, until they are seen to stay
RESULT: Final = 0.2  # of the certainty: a test that fails says what it is asked
SAME_ERRORS: Final = 3  # calls with other arguments and one error, after which the tool itself is known to fail
LIKENESS: Final = 0.75  # shared words of two calls that are similar (Dice)

_PASSING: Final = frozenset({C.TIMEOUT, C.RATE_LIMIT, C.NETWORK, C.CONFLICT, C.RESOURCE_EXHAUSTION})
# What these rest on lies outside the values in the arguments: another id or date changes nothing.
_WHATEVER_VALUES: Final = frozenset({C.AUTH, C.PERMISSION, C.DEPENDENCY, C.SYNTAX})
_OF_THE_TOOL: Final = frozenset({C.AUTH, C.PERMISSION, C.DEPENDENCY, C.NETWORK, C.RATE_LIMIT, C.RESOURCE_EXHAUSTION})
# What these rest on is the call itself: nothing that is done elsewhere makes it work.
_OF_THE_CALL: Final = frozenset({C.VALIDATION, C.SYNTAX})


def due(
    tool: str,
    arguments: Json,
    forms: Forms,
    calls: Sequence[KnownFailure],
    heads: Sequence[KnownFailure],
    session: SessionState,
) -> Due | None:
    """The surest warning for a call, or null.

    `calls` are known failures with the same bare or loose form, `heads` failures of this session of what
    the call is a call of.
    """
    alive = [known for known in calls if known.worked_at is None]
    same = [known for known in alive if known.exact == forms.exact_key or _same_but_dress(forms, known)]
    same = [known for known in same if not _changed_since(tool, arguments, known, session)]
    if same:
        return _due(same, Match.EXACT)
    loose = [known for known in alive if known.loose == forms.loose_key and known.bare != forms.bare_key]
    if loose and (all(known.category in _WHATEVER_VALUES for known in loose) or _stays(loose)):
        return _due(loose, Match.LOOSE)
    recent = [known for known in heads if known.last_step > session.worked_step(forms.head)]
    recent = [known for known in recent if not _changed_since(tool, arguments, known, session)]
    return _of_the_tool(recent) or _similar(forms, recent)


def _due(found: Sequence[KnownFailure], match: Match) -> Due:
    """The latest of the failures stands for all; what is known of all of them counts."""
    latest = max(found, key=lambda known: (known.last_at, known.last_step, known.row))
    times, works = sum(known.times for known in found), sum(max(known.works, known.wrong) for known in found)
    stated = CERTAINTY[match] * _weight(latest.category)
    certainty = (PRIOR_CASES * stated + times - 1) / (PRIOR_CASES + times - 1 + works)
    return Due(known=latest, match=match, certainty=round(certainty, 2), times=times)


def _weight(category: C) -> float:
    if category is C.ASSERTION:
        return RESULT
    return PASSING if category in _PASSING else 1.0


def _same_but_dress(forms: Forms, known: KnownFailure) -> bool:
    """The same call in other quotation marks, unless it is the known one without them: that can be what works."""
    return known.bare == forms.bare_key and not undresses(forms, forms_of(known.tool, known.arguments))


def _changed_since(tool: str, arguments: Json, known: KnownFailure, session: SessionState) -> bool:
    """Whether this session has changed something since the call failed in it, which can have put it right."""
    if known.last_session != session.id or session.changed <= known.last_step:
        return False
    searches = kind_of(tool, arguments) is Kind.SEARCH and not is_code_search(tool, arguments)
    return known.category not in _OF_THE_CALL and not (searches and known.category is C.NO_RESULT)


def _stays(found: Sequence[KnownFailure]) -> bool:
    """It failed with two other values as well, so that the values are not what it rests on."""
    return len({known.exact for known in found}) > 1 and not any(known.works for known in found)


def _of_the_tool(recent: Sequence[KnownFailure]) -> Due | None:
    by_error: dict[str, list[KnownFailure]] = {}
    for known in recent:
        if known.category in _OF_THE_TOOL:
            by_error.setdefault(known.fingerprint, []).append(known)
    groups = [group for group in by_error.values() if len({known.exact for known in group}) >= SAME_ERRORS]
    if not groups:
        return None
    group = max(groups, key=len)
    latest = max(group, key=lambda known: known.last_step)
    return Due(
        known=latest,
        match=Match.TOOL_AND_ERROR,
        certainty=CERTAINTY[Match.TOOL_AND_ERROR],
        times=sum(known.times for known in group),
    )


def _similar(forms: Forms, recent: Sequence[KnownFailure]) -> Due | None:
    """Two calls much like this one failed with one error: then this one is likely to.

    Where a thing was not there, a similar call may name the thing that is.
    """
    words = set(forms.bare.split())
    alike = [
        known
        for known in recent
        if known.category not in (C.NO_RESULT, C.NOT_FOUND, C.ASSERTION)
        and _dice(words, set(forms_of(known.tool, known.arguments).bare.split())) >= LIKENESS
    ]
    errors = {known.fingerprint for known in alike}
    if len({known.exact for known in alike}) < 2 or len(errors) != 1:
        return None
    return _due(alike, Match.SIMILAR)


def _dice(first: set[str], second: set[str]) -> float:
    total = len(first) + len(second)
    return 2 * len(first & second) / total if total else 0.0
