"""The opinion of the host or a model on a piece of work, read and checked field by field."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Final, cast

from mcp_reflect.errors import InputError
from mcp_reflect.llm.parsing import read_object
from mcp_reflect.records.critique import Opinion, Score
from mcp_reflect.records.json import Json

FIELDS: Final = ("quality_score", "issues", "suggested_fix", "criteria", "corrected_steps")
_NONE: Final = {"", "none", "no issues", "no issues found", "no issues found.", "none.", "n/a", "nothing"}
_MOST: Final = 50
_LONGEST: Final = 20_000
_FIX: Final = "Send {quality_score, issues, suggested_fix, criteria, corrected_steps}."


def read_opinion(value: Json, field: str = "analysis") -> Opinion:
    """An opinion from an object, or text that holds one. InputError names the field, the fault and the fix."""
    if isinstance(value, str):
        found = read_object(value, set(FIELDS))
        if found is None:
            if value.strip().lower() in _NONE:
                return Opinion()
            raise InputError(field, "it holds no JSON object", _FIX)
        value = found
    if not isinstance(value, dict):
        raise InputError(field, "it is no object", _FIX)
    for name in value:
        if name not in FIELDS:
            near = get_close_matches(name[:80], FIELDS, n=1)
            raise InputError(
                f"{field}.{name[:80]}", "there is no such field", f"Did you mean {near[0]}?" if near else _FIX
            )
    return Opinion(
        quality_score=_score(value.get("quality_score"), f"{field}.quality_score"),
        issues=tuple(text for text in _texts(value.get("issues"), f"{field}.issues") if text.lower() not in _NONE),
        suggested_fix=_text(value.get("suggested_fix"), f"{field}.suggested_fix"),
        criteria=_criteria(value.get("criteria"), f"{field}.criteria"),
        corrected_steps=_texts(value.get("corrected_steps"), f"{field}.corrected_steps"),
    )


def _score(value: Json, field: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InputError(field, f"{str(value)[:40]} is not in 0..1", "Send a number from 0 to 1, or leave it out.")
    return float(value)


def _text(value: Json, field: str) -> str | None:
    if value is None or (isinstance(value, str) and value.strip().lower() in _NONE):
        return None
    if not isinstance(value, str) or len(value) > _LONGEST:
        raise InputError(field, "it is no text, or too long", f"Send at most {_LONGEST} characters of text.")
    return value.strip()


def _texts(value: Json, field: str) -> tuple[str, ...]:
    if value is None or (isinstance(value, str) and value.strip().lower() in _NONE):
        return ()
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list) or len(items) > _MOST * 4:
        raise InputError(field, "it is no list of texts", "Send a list of texts.")
    found = [_text(item, f"{field}[{place}]") for place, item in enumerate(items)]
    return tuple(text for text in found if text)


def _criteria(value: Json, field: str) -> Mapping[str, Score]:
    if value is None:
        return {}
    if not isinstance(value, dict) or len(value) > _MOST:
        raise InputError(field, "it is no object", "Send {name: {score, reason}}.")
    found: dict[str, Score] = {}
    for name, item in value.items():
        given = cast("dict[str, Any]", item) if isinstance(item, dict) else {"score": item}
        score = _score(given.get("score"), f"{field}.{name[:80]}")
        if score is not None:
            found[name[:80]] = Score(
                score=score, reason=_text(given.get("reason"), f"{field}.{name[:80]}.reason") or ""
            )
    return found
