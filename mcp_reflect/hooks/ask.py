"""The ask for a lesson: what was hard-won, with a draft that the agent sends as it is, rewrites, or leaves."""

import json
from collections.abc import Sequence
from typing import Any, Final

from mcp_reflect.models.common import Json
from mcp_reflect.models.finding import Draft

MOST_CHARS: Final = 500  # of an ask
_AT_CALL: Final = (
    "mcp-reflect: that worked after a failure. To keep it, call store_lesson with this draft as it is or, better, as a "
    "rule that holds for other tasks. Doing nothing is fine."
)
_AGAIN: Final = (
    "mcp-reflect: nobody has kept this. To keep it, call store_lesson with this draft, as it is or in better words; "
    "else it waits in `mcp-reflect lessons review`. Doing nothing is fine."
)
_TOLD: Final = "Say here what put it right."


def ask_at_call(draft: Draft) -> str:
    """Return the ask right after the call that worked."""
    return f"{_AT_CALL}\n{_arguments(draft, MOST_CHARS - len(_AT_CALL) - 1)}"


def ask_again(drafts: Sequence[Draft]) -> str:
    """Return the ask about what a session did not keep, as many drafts as fit, the first at least."""
    lines = [_AGAIN, _arguments(drafts[0], MOST_CHARS - len(_AGAIN) - 1)]
    for draft in drafts[1:]:
        left = MOST_CHARS - len("\n".join(lines)) - 1
        line = _json(texts_of(draft))
        lines += [line] if len(line) <= left else []
    return "\n".join(lines)


def _arguments(draft: Draft, limit: int) -> str:
    """Return the draft as arguments of store_lesson within a limit: without the calls, then cut."""
    texts = texts_of(draft)
    calls = {"wrong_call": _short(draft.wrong_call), "right_call": _short(draft.right_call)}
    for sent in ({**texts, **calls}, texts) if draft.guards else (texts,):
        line = _json(sent)
        if len(line) <= limit:
            return line
    over = len(_json(texts)) - limit
    return _json({**texts, "mistake": texts["mistake"][: max(len(texts["mistake"]) - 2 * over - 1, 40)] + "…"})


def texts_of(draft: Draft) -> dict[str, Any]:
    """Return mistake and correction of a draft as they are shown."""
    return {"mistake": draft.mistake, "correction": draft.correction or _TOLD}


def _short(call: Json) -> Json:
    arguments = call.get("arguments") if isinstance(call, dict) else None
    command = arguments.get("command") if isinstance(arguments, dict) and len(arguments) == 1 else None
    return command if isinstance(command, str) else call


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
