"""What came after a failed call or an empty search: the values that then worked, and the search that then found."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final

from mcp_reflect.models.run import Event, EventType
from mcp_reflect.sessions.calls import CallWithAnswer
from mcp_reflect.sessions.text import quote, sentence
from mcp_reflect.sessions.tools import is_shell

_WORD: Final = re.compile(r"[^\W\d_]{2,}")
HORIZON: Final = 30  # later calls that are looked at
MOST_VALUES: Final = 3  # arguments that are named
MOST_VALUE: Final = 80  # characters of an argument that is named
MOST_FOUND: Final = 160  # characters of what a search found


def differing_values(call: CallWithAnswer, other: CallWithAnswer) -> str:
    """The arguments of a call that another one has otherwise, in words: `per_page 500`.

    Empty where nothing differs, where either has no named arguments, and for a shell, whose command is shown whole.
    """
    named, others = call.arguments, other.arguments
    if not isinstance(named, dict) or not isinstance(others, dict) or is_shell(call.tool):
        return ""
    differing = [
        name for name, value in named.items() if name not in others or others[name] != value
    ]
    shown = [f"{name} {_value(named[name])}" for name in differing[:MOST_VALUES]]
    return ", ".join(shown)


def worked_with_other_values(
    tried: Sequence[CallWithAnswer], failed: CallWithAnswer
) -> CallWithAnswer | None:
    """The next call of the same tool that worked with other values under the same names.

    Whether it does the same is not known: it is told as what was seen. A shell does something else with each command.
    """
    if is_shell(failed.tool):
        return None
    if not isinstance(failed.arguments, dict):  # a call in words
        return _worked_in_other_words(tried, failed)
    if not failed.tool:
        return None
    names = failed.arguments.keys()
    for later in tried[failed.index + 1 : failed.index + 1 + HORIZON]:
        if later.tool != failed.tool or not isinstance(later.arguments, dict):
            continue
        if later.worked and later.arguments.keys() == names and later.exact != failed.exact:
            return later
    return None


def _worked_in_other_words(
    tried: Sequence[CallWithAnswer], failed: CallWithAnswer
) -> CallWithAnswer | None:
    """The next call in words that worked and has most words of the failed one: `GET /items?limit=500` for `…=1000`.

    None where the next such call is the failed one itself: it did not need other values.
    """
    words = _words(failed.text)
    for later in tried[failed.index + 1 : failed.index + 1 + HORIZON]:
        if not (later.is_call and later.worked) or isinstance(later.arguments, dict):
            continue
        others = _words(later.text)
        has_most_words = 2 * len(words & others) > max(len(words), len(others))
        if not has_most_words:
            continue
        if later.text == failed.text:
            return None
        return later
    return None


def _words(text: str) -> frozenset[str]:
    """The words of a text in lower case, without numbers and single letters."""
    return frozenset(_WORD.findall(text.lower()))


def model_call_after(events: Sequence[Event], failing_event: str) -> Event | None:
    """The next call of a language model that was answered, where the failing event is a call of one; else None."""
    index = next((index for index, event in enumerate(events) if event.id == failing_event), None)
    if index is None or events[index].type is not EventType.LLM_CALL:
        return None
    for event in events[index + 1 :]:
        is_answered = event.type is EventType.LLM_CALL and event.content.strip()
        if is_answered and not event.error:
            return event
    return None


def search_that_found(tried: Sequence[CallWithAnswer], empty: Sequence[CallWithAnswer]) -> str:
    """The sentence about the next search of the same tool that found something, empty where none did.

    " Then search "Nick Park" found "Nick Park is a director" (e9)."
    """
    last = empty[-1]
    for later in _following(tried, last):
        if later.tool == last.tool and later.worked and later.answer.strip():
            line = quote(sentence(later.answer, MOST_FOUND), 2 * MOST_FOUND)
            return f" Then {later.text} found {line} ({later.failing_event})."
    return ""


def _following(tried: Sequence[CallWithAnswer], call: CallWithAnswer) -> Iterator[CallWithAnswer]:
    """Yield the calls soon after one, without searches that found nothing."""
    for later in tried[call.index + 1 : call.index + 1 + HORIZON]:
        if not later.empty:
            yield later


def _value(value: object) -> str:
    """A value as JSON, cut where it is long."""
    text = json.dumps(value, ensure_ascii=False)
    if len(text) <= MOST_VALUE:
        return text
    return f"{text[: MOST_VALUE - 1]}…"
