"""After a call: what is said of a failure that was seen before, and which failure a call that worked corrects.

The seam of an ask after a call that worked: `corrected` names the failures of this session that it may put right.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from mcp_reflect.hooks.before import WatchedCall, due, lesson_of, lesson_words, new_advice, shown_with
from mcp_reflect.hooks.texts import correction_text
from mcp_reflect.models.run import ErrorCategory, Failure
from mcp_reflect.models.warning import KnownFailure, Match
from mcp_reflect.runs.known_failures import forms_of

_LOOK_BACK: Final = 30  # calls of a session in which a failure may be corrected by a call that works
# Where the error only says that a thing does not exist, another call's correction names another thing.
_OF_ONE_CALL: Final = frozenset({ErrorCategory.NO_RESULT, ErrorCategory.NOT_FOUND, ErrorCategory.ASSERTION})


@dataclass(frozen=True, slots=True)
class Corrected:
    """What is said after a failure: a known correction, the lesson in it, and what is noted as shown."""

    text: str
    lesson_id: str | None
    shown: tuple[str, ...]


def recurs(call: WatchedCall) -> KnownFailure | None:
    """Return the known failure that a call which failed repeats, None for a new failure."""
    expected = due(call, failed=True)
    return expected.known if expected is not None and expected.match is Match.EXACT else None


def after_failure(
    call: WatchedCall, failure: Failure, again: KnownFailure | None, same_error: Iterable[KnownFailure]
) -> Corrected | None:
    """Return the known correction of a call that failed: of the same call, else of another one with the same error."""
    if again is not None:
        return _told(call, again, same_call=True)
    others = () if failure.category in _OF_ONE_CALL else same_error
    akin = (known for known in others if known.exact != call.forms.exact_key and _is_akin(known, call))
    told = (_told(call, known, same_call=False) for known in akin)
    return next(filter(None, told), None)


def _is_akin(known: KnownFailure, call: WatchedCall) -> bool:
    """Return whether two calls have one program, or one tool: "not done" of another program is another error."""
    heads = (forms_of(known.tool, known.arguments).head, call.forms.head)
    return len({head.partition(" ")[0].partition(":")[2] for head in heads}) == 1


def corrected(call: WatchedCall) -> Iterator[KnownFailure]:
    """Return the latest failures of the session that a call which worked may have put right, to be compared."""
    oldest = call.session.step - _LOOK_BACK
    return (known for known in call.known.same_head if known.worked is None and known.last_step > oldest)


def _told(call: WatchedCall, known: KnownFailure, *, same_call: bool) -> Corrected | None:
    lesson = lesson_of(call, known)
    if not new_advice(call, known, lesson):
        return None
    text = correction_text(known, lesson_words(call, lesson), same_call=same_call)
    return Corrected(text, lesson and lesson.id, shown_with(known, lesson))
