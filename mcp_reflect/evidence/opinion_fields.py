"""The values of a judge's opinion: scores, texts, lists of texts and criteria, in the forms that judges send them.

InputError names the field, the fault and the fix.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

from mcp_reflect.errors import InputError
from mcp_reflect.evidence.plain_opinions import NONE
from mcp_reflect.evidence.scores import read_score
from mcp_reflect.llm.json_replies import as_mapping
from mcp_reflect.models.common import Json
from mcp_reflect.models.reflection import Score
from mcp_reflect.security.redact import quoted

MOST_NAME: Final = 80
"""The largest length of the name of a field or a criterion."""
_ISSUE_NAMES: Final = ("issue", "description", "text", "message", "problem", "reason")


def read_share(value: Json, field: str) -> float | None:
    """Return a share in 0..1; of ten, of a hundred or in percent where the text says so."""
    if value is None or (isinstance(value, str) and NONE.fullmatch(value)):
        return None
    score = read_score(value)
    if score is None:
        raise InputError(
            field,
            f"{quoted(value, 40)} is not in 0..1",
            'Send a number from 0 to 1, or "8 of 10", or leave it out.',
        )
    return score


def read_text(value: Json, field: str) -> str | None:
    """Return a text without blanks around it; None for "none", "N/A" and the like, which say that there is nothing."""
    if value is None or (isinstance(value, str) and NONE.fullmatch(value)):
        return None
    if isinstance(value, int | float):
        return str(value)
    if not isinstance(value, str):
        raise InputError(field, "it is not text", "Send text.")
    return value.strip()


def read_texts(value: Json, field: str) -> tuple[str, ...]:
    """Return a list of texts; a plain text is a list of one, since judges send both."""
    if value is None or isinstance(value, str):
        return tuple(text for text in (read_text(value, field),) if text)
    if not isinstance(value, list):
        raise InputError(field, "it is not a list of texts", "Send a list of texts.")
    texts = [
        read_text(_text_of_issue(item), f"{field}[{index}]") for index, item in enumerate(value)
    ]
    return tuple(text for text in texts if text)


def _text_of_issue(item: Json) -> Json:
    """Return what an issue says that is an object, such as {"description": "…", "severity": "high"}."""
    if not isinstance(item, dict):
        return item
    return next((item[name] for name in _ISSUE_NAMES if isinstance(item.get(name), str)), item)


def read_criteria(value: Json, field: str) -> Mapping[str, Score]:
    """Return the score of each criterion; {"clarity": 0.8} is read as {"clarity": {"score": 0.8}}."""
    value = as_mapping(value, "criterion")
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InputError(field, "it is not an object", "Send {name: {score, reason}}.")
    criteria: dict[str, Score] = {}
    for name, item in value.items():
        entry: dict[str, Any] = {"score": item}
        if isinstance(item, dict):
            entry = cast("dict[str, Any]", item)
        label = f"{field}.{quoted(name)}"
        score = read_share(entry.get("score"), label)
        if score is not None:
            criteria[name[:MOST_NAME]] = Score(
                score=score, reason=read_text(entry.get("reason"), f"{label}.reason") or ""
            )
    return criteria
