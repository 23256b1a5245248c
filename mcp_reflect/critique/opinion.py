"""The opinion of the host or a model on a piece of work, read and checked field by field."""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Final, cast

from mcp_reflect.config import DEFAULT, Limits, characters
from mcp_reflect.critique.steps import split
from mcp_reflect.errors import InputError
from mcp_reflect.llm.json_replies import read_object
from mcp_reflect.models.common import Json
from mcp_reflect.models.critique import Opinion, Score
from mcp_reflect.security.redact import quoted

FIELDS: Final = ("quality_score", "issues", "suggested_fix", "criteria", "corrected_steps")
_NONE: Final = {"", "none", "no issues", "no issues found", "no issues found.", "none.", "n/a", "nothing"}
_NO_ISSUES: Final = re.compile(
    r"(?:there (?:are|were) )?no (?:\w+ )?(?:issues?|faults?|errors?)(?: (?:was|were))?(?: found)?"
)
_NAMES: Final = {
    "quality score": "quality_score",
    "score": "quality_score",
    "issues": "issues",
    "suggested fix": "suggested_fix",
    "corrected steps": "corrected_steps",
}
_HEAD: Final = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]*)?[*_]{0,2}(quality[ _]score|score|issues|suggested[ _]fix|corrected[ _]steps)"
    r"(?:[*_]{0,2}:[*_]{0,2}|[*_]{0,2}[ \t]*$)",
    re.IGNORECASE | re.MULTILINE,
)
_BULLET: Final = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+")
_COUNTED: Final = {"issues": "max_steps", "corrected_steps": "max_steps", "criteria": "max_judgement_items"}
_FIX: Final = "Send {quality_score, issues, suggested_fix, criteria, corrected_steps}."


def read_opinion(value: Json, field: str = "analysis", limits: Limits = DEFAULT) -> Opinion:
    """An opinion from an object, or text that holds one. InputError names the field, the fault and the fix."""
    limits.refuse_more("max_analysis_chars", field, characters(value))
    if isinstance(value, str):
        found = read_object(value, set(FIELDS)) or _headed(value)
        if not found:
            if _is_none(value):
                return Opinion()
            raise InputError(field, "it holds neither a JSON object nor headings", _FIX)
        value = found
    if not isinstance(value, dict):
        raise InputError(field, "it is no object", _FIX)
    for name in value if field == "analysis" else ():  # a model's own extra fields are not worth asking again
        if name not in FIELDS:
            near = get_close_matches(name[:80], FIELDS, n=1)
            raise InputError(
                f"{field}.{quoted(name)}", "there is no such field", f"Did you mean {near[0]}?" if near else _FIX
            )
    limits.refuse_long_texts("max_judgement_chars", field, value)
    for name, limit in _COUNTED.items():
        if isinstance(told := value.get(name), list | dict):
            limits.refuse_more(limit, f"{field}.{name}", len(told), "items")
    return Opinion(
        quality_score=_score(value.get("quality_score"), f"{field}.quality_score"),
        issues=tuple(text for text in _texts(value.get("issues"), f"{field}.issues") if not _is_none(text)),
        suggested_fix=_text(value.get("suggested_fix"), f"{field}.suggested_fix"),
        criteria=_criteria(value.get("criteria"), f"{field}.criteria"),
        corrected_steps=_steps(value.get("corrected_steps"), f"{field}.corrected_steps"),
    )


def _is_none(text: str) -> bool:
    """Whether a text says that there is nothing: "None", "No issues found"."""
    plain = text.strip().strip("*_.!-• ").lower()
    return plain in _NONE or bool(_NO_ISSUES.fullmatch(plain))


def _steps(value: Json, field: str) -> tuple[str, ...]:
    """A list of steps; one text is split as a response is."""
    if isinstance(value, str) and not _is_none(value):
        return split(_text(value, field) or "")
    return _texts(value, field)


def _headed(text: str) -> dict[str, Json]:
    """The fields of markdown whose headings name them: `## Issues`, `**Suggested fix:** …`, `Quality score: 0.8`."""
    found: dict[str, Json] = {}
    heads = list(_HEAD.finditer(text))
    for place, head in enumerate(heads):
        name = _NAMES[re.sub(r"[ _]+", " ", head[1].lower())]
        body = text[head.end() : heads[place + 1].start() if place + 1 < len(heads) else len(text)].strip()
        if name == "quality_score":
            number = re.match(r"[*\s]*(\d+(?:\.\d+)?)", body)
            found[name] = float(number[1]) if number else None
        elif name == "issues":
            found[name] = [_BULLET.sub("", line).strip() for line in body.splitlines() if line.strip()]
        else:
            found[name] = body
    return found


def _score(value: Json, field: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InputError(field, f"{quoted(value, 40)} is not in 0..1", "Send a number from 0 to 1, or leave it out.")
    return float(value)


def _text(value: Json, field: str) -> str | None:
    if value is None or (isinstance(value, str) and _is_none(value)):
        return None
    if not isinstance(value, str):
        raise InputError(field, "it is no text", "Send text.")
    return value.strip()


def _texts(value: Json, field: str) -> tuple[str, ...]:
    if value is None or (isinstance(value, str) and _is_none(value)):
        return ()
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list):
        raise InputError(field, "it is no list of texts", "Send a list of texts.")
    found = [_text(item, f"{field}[{place}]") for place, item in enumerate(items)]
    return tuple(text for text in found if text)


def _criteria(value: Json, field: str) -> Mapping[str, Score]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InputError(field, "it is no object", "Send {name: {score, reason}}.")
    found: dict[str, Score] = {}
    for name, item in value.items():
        given = cast("dict[str, Any]", item) if isinstance(item, dict) else {"score": item}
        score = _score(given.get("score"), f"{field}.{quoted(name)}")
        if score is not None:
            found[name[:80]] = Score(
                score=score, reason=_text(given.get("reason"), f"{field}.{quoted(name)}.reason") or ""
            )
    return found
