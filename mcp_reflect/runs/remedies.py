"""The lessons that rules write by themselves: findings whose correction is a form, or a preference of the user.

All else stays a finding, for the agent, a person or a model to write from.
"""

import re
from collections.abc import Sequence
from typing import Final

from mcp_reflect.models.finding import Draft, Finding
from mcp_reflect.models.run import Correction, ErrorCategory
from mcp_reflect.runs.calls import Call
from mcp_reflect.runs.hard_won import found_after, session_call
from mcp_reflect.runs.text import COMMON_WORDS, sentence, unique, without_own_values

MAX_CORRECTIONS: Final = 5
MAX_KEYWORDS: Final = 8

_IDENTIFIER: Final = re.compile(r"[A-Za-z_][\w.-]{2,60}")


def findings_in(tried: Sequence[Call]) -> list[Finding]:
    """What was hard-won in a run; the number of a call is its index and one."""
    calls = [session_call(item.index + 1, item) for item in tried]
    found = (found_after(calls[:place], call) for place, call in enumerate(calls) if tried[place].worked)
    return [finding for finding in found if finding is not None]


def corrections_from(tried: Sequence[Call], found: Sequence[Finding]) -> tuple[Correction, ...]:
    """The lessons of a run; failures with one remedy are one lesson."""
    lessons: dict[tuple[str, str], Correction] = {}
    for finding in found:
        failed, worked = [tried[number - 1] for number in finding.failed], tried[finding.worked - 1]
        says = worked.answer.strip() not in ("", "(empty)")  # silence proves little
        if finding.form and says and _lasted(tried, failed[0], worked):
            _add(lessons, failed, worked, finding.draft, finding.line)
    return tuple(lessons.values())[:MAX_CORRECTIONS]


def _add(
    lessons: dict[tuple[str, str], Correction], failed: Sequence[Call], worked: Call, draft: Draft, line: str
) -> None:
    mistake, correction = f"{without_own_values(draft.mistake).rstrip('.')}.", without_own_values(draft.correction)
    before = lessons.get((mistake, correction))
    error = sentence(without_own_values(line), 200)
    names = [name.strip(".-") for name in _IDENTIFIER.findall(f"{error} {correction}")]
    telling = [name for name in names if name.lower() not in COMMON_WORDS and len(name) >= 3]
    category = failed[0].category or ErrorCategory.UNKNOWN
    events = [*((*before.also, before.failed_event_id) if before else ()), *(item.failing_event for item in failed)]
    lessons[mistake, correction] = Correction(
        failed_event_id=failed[-1].failing_event,
        worked_event_id=worked.failing_event,
        also=tuple(name for name in dict.fromkeys(events) if name != failed[-1].failing_event),
        tool=failed[0].tool,
        category=category,
        mistake=mistake,
        correction=correction,
        symptoms=(error,),
        keywords=unique([failed[0].tool, category.short, *telling])[:MAX_KEYWORDS],
    )


def _lasted(tried: Sequence[Call], failed: Call, worked: Call) -> bool:
    """True unless the call that worked failed again later with the same error."""
    later = (item for item in tried[worked.index + 1 :] if item.failed and item.fingerprint == failed.fingerprint)
    return all(item.exact != worked.exact for item in later)
