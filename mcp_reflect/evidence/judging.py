"""The opinion of a judge, the host or a model, on a work: from an object, or from text in any of its forms."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Final

from mcp_reflect.errors import InputError
from mcp_reflect.evidence.opinion_fields import (
    MOST_NAME,
    read_criteria,
    read_share,
    read_text,
    read_texts,
)
from mcp_reflect.evidence.plain_opinions import HEAD, NONE, read_plain_words
from mcp_reflect.evidence.sent_verdicts import read_verdicts
from mcp_reflect.evidence.work import split
from mcp_reflect.limits import DEFAULT, Limits, characters
from mcp_reflect.llm.json_replies import objects_in, read_object
from mcp_reflect.models.common import Json
from mcp_reflect.models.critique import Claim, Opinion
from mcp_reflect.security.redact import quoted

FIELDS: Final = (
    "verdicts",
    "quality_score",
    "issues",
    "suggested_fix",
    "criteria",
    "corrected_steps",
)
_FIX: Final = f"Send {{{', '.join(FIELDS)}}}."

_STEP: Final = re.compile(r"^[ \t]*(?:step )?\d{1,3}[.):]\s+\S", re.IGNORECASE | re.MULTILINE)
_STEP_NUMBER: Final = re.compile(r"^\s*(?:step )?\d{1,3}[.):]\s+", re.IGNORECASE)

_OTHER_NAMES: Final = {
    **dict.fromkeys(
        ("qualityscore", "quality", "rating", "overallscore", "grade"), "quality_score"
    ),
    **dict.fromkeys(("issues", "issuesfound", "problems", "faults", "errors"), "issues"),
    **dict.fromkeys(("suggestedfix", "fix", "suggestion", "recommendation"), "suggested_fix"),
}


def read_opinion(
    value: Json,
    field: str = "analysis",
    limits: Limits = DEFAULT,
    claims: Sequence[Claim] | None = None,
    judge: str = "",
) -> Opinion:
    """Read the opinion of a judge from an object, or from text with JSON, headings, a list or prose.

    InputError names the field, the fault and the fix. Without `claims`, verdicts are passed over.
    """
    limits.refuse_more("max_analysis_chars", field, characters(value))
    if isinstance(value, str):
        return _read_words(value, field, limits, claims, judge)
    if not isinstance(value, dict):
        raise InputError(field, "it is not an object", _FIX)
    _refuse_what_is_no_opinion(value, field, limits)
    sent_verdicts = value.get("verdicts") or value.get("claims")
    verdicts: tuple[Claim, ...] = ()
    if sent_verdicts and claims is not None:
        verdicts = read_verdicts(sent_verdicts, claims, judge, f"{field}.verdicts")
    issues = read_texts(value.get("issues"), f"{field}.issues")
    score = value.get("quality_score", value.get("score"))
    return Opinion(
        verdicts=verdicts,
        issues=tuple(text for text in issues if not NONE.fullmatch(text)),
        quality_score=read_share(score, f"{field}.quality_score"),
        suggested_fix=read_text(value.get("suggested_fix"), f"{field}.suggested_fix"),
        criteria=read_criteria(value.get("criteria"), f"{field}.criteria"),
        corrected_steps=_corrected_steps(value.get("corrected_steps"), f"{field}.corrected_steps"),
    )


def _read_words(
    text: str, field: str, limits: Limits, claims: Sequence[Claim] | None, judge: str
) -> Opinion:
    """Read the opinion from text: with JSON in it, with headings, as a list, or in prose."""
    if not text.strip():
        raise InputError(field, "it is empty", _FIX)
    if NONE.fullmatch(text):
        return Opinion(accepts=True)
    parsed = _read_fields(text) or read_plain_words(text)
    if parsed is None:
        raise InputError(field, "it names no score, no issue and no correction", _FIX)
    opinion = read_opinion(parsed, field, limits, claims, judge)
    return replace(opinion, accepts=parsed == {"issues": []})


def _read_fields(text: str) -> dict[str, Json] | None:
    """Return the object with fields of an opinion that stands in a text, also by other names; None if there is none."""
    names = {*FIELDS, "claims", "score"}
    fields_by_known_names = read_object(text, names)
    if fields_by_known_names is not None:
        return with_known_names(fields_by_known_names)
    renamed = map(with_known_names, objects_in(text))
    return next((fields for fields in renamed if fields.keys() & names), None)


def with_known_names(fields: Mapping[str, Json]) -> dict[str, Json]:
    """Return an object by the names that the prompt asks for: `qualityScore`, `Quality Score`, `rating`, `problems`."""
    named: dict[str, Json] = {}
    for key, value in fields.items():
        plain = re.sub(r"[\W_]+", "", key).lower()
        named.setdefault(_OTHER_NAMES.get(plain, key), value)
    return named


def _refuse_what_is_no_opinion(value: Mapping[str, Json], field: str, limits: Limits) -> None:
    """Raise InputError for too much, for a field that is not known, and for an object without any that is."""
    names = {*FIELDS, "claims", "score"}
    unknown = [name for name in value if name not in names]
    # A model's own extra fields are not worth asking again.
    if unknown and field == "analysis":
        near = get_close_matches(unknown[0][:MOST_NAME], FIELDS, n=1)
        fix = f"Did you mean {near[0]}?" if near else _FIX
        raise InputError(f"{field}.{quoted(unknown[0])}", "there is no such field", fix)
    if not value.keys() & names:
        raise InputError(field, "it names no score, no issue and no correction", _FIX)
    limits.refuse_long_texts("max_judgment_chars", field, value)
    for name in ("verdicts", "claims", "issues", "corrected_steps"):
        items = value.get(name)
        if isinstance(items, list | dict):
            limits.refuse_more("max_steps", f"{field}.{name}", len(items), "items")


def _corrected_steps(steps: Json, field: str) -> tuple[str, ...]:
    """Return the steps; one text, a numbered list perhaps, is split as a response is."""
    if isinstance(steps, str) and not NONE.fullmatch(steps):
        return _unnumbered(split(steps))
    return read_texts(steps, field)


def read_steps(text: str) -> tuple[str, ...]:
    """Return the steps of a numbered list, as a corrector may write them in plain text."""
    body = text
    for head in HEAD.finditer(text):
        if head[1].lower().startswith(("corr", "impr")):
            body = text[head.end() :]
            break
    first = _STEP.search(body)
    if first is None:
        raise InputError(
            "reply.corrected_steps",
            "there is no list of steps",
            "Send all steps, with the wrong ones corrected.",
        )
    return _unnumbered(split(body[first.start() :]))


def _unnumbered(steps: tuple[str, ...]) -> tuple[str, ...]:
    """Return steps without their numbers: "Step 2. Add the tax." -> "Add the tax."."""
    return tuple(_STEP_NUMBER.sub("", step, count=1) for step in steps)
