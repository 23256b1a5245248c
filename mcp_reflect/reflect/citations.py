"""Events that an analysis cites must be in the trace: a judgement about what did not happen is not kept."""

import re
from collections.abc import Collection, Sequence

from mcp_reflect.errors import InputError
from mcp_reflect.reflect.fields import quoted

_ID = re.compile(r"[eE]\d{1,9}")
_PLAIN = re.compile(r"e\d+")
_CITED = re.compile(
    r"\[\s*(e\d{1,9}(?:\s*[,;]\s*e\d{1,9})*)\s*\]|\bevents?\s+(e\d{1,9}(?:(?:\s*,\s*|\s+)(?:and\s+|or\s+)?e\d{1,9})*)\b",
    re.IGNORECASE,
)


def check_listed(field: str, cited: Sequence[str], event_ids: Collection[str]) -> None:
    """Refuse an id that is not among the trace's, where the trace is known."""
    for place, one in enumerate(cited):
        if event_ids and one not in event_ids:
            raise InputError(
                f"{field}[{place}]", f"cites {quoted(one)}, which is no event of this trace", _fix(event_ids)
            )


def cited_in(field: str, text: str | None, event_ids: Collection[str]) -> tuple[str, ...]:
    """The events that a text cites as `event e7` or `[e7]`; refuses one that is not there.

    Read only where the trace's own ids are of that form: elsewhere `[e7]` may mean anything.
    """
    if not text or not event_ids or not all(_PLAIN.fullmatch(one) for one in event_ids):
        return ()
    cited = [found.lower() for match in _CITED.finditer(text) for found in _ID.findall(match[0])]
    for one in cited:
        if one not in event_ids:
            raise InputError(field, f"cites event {one}, which is not in this trace", _fix(event_ids))
    return tuple(dict.fromkeys(cited))


def _fix(event_ids: Collection[str]) -> str:
    named = list(event_ids)
    shown = ", ".join(quoted(one).strip('"') for one in named[:5])
    return f"Cite ids from the trace ({shown}{', …' if len(named) > 5 else ''}) or leave them out."
