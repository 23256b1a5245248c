"""The critique that the host or a model sends, read and checked field by field."""

import re
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Final, cast

from mcp_reflect.checkers.base import split
from mcp_reflect.checkers.verify import Verified
from mcp_reflect.config import DEFAULT, Limits, characters
from mcp_reflect.errors import InputError
from mcp_reflect.llm.json_replies import as_mapping, read_object
from mcp_reflect.models.common import Json
from mcp_reflect.models.critique import Opinion, Status, Verdict
from mcp_reflect.models.reflection import Score
from mcp_reflect.security.redact import quoted

FIELDS: Final = ("quality_score", "claims", "issues", "suggested_fix", "criteria", "corrected_steps")
_NONE: Final = frozenset(("", "none", "n/a", "nothing"))
_NO_ISSUES: Final = re.compile(
    r"(?:there (?:are|were) )?no (?:\w+ )?(?:issues?|faults?|errors?)(?: (?:was|were))?(?: found)?"
)
_HEAD: Final = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]*)?[*_]{0,2}((?:quality[ _])?score|claims|issues|suggested[ _]fix|corrected[ _]steps)"
    r"(?:[*_]{0,2}:[*_]{0,2}|[*_]{0,2}[ \t]*$)",
    re.IGNORECASE | re.MULTILINE,
)
_BULLET: Final = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_FAULT: Final = re.compile(
    r"\b(?:wrong|incorrect|errors?|mistakes?|missing|contradict\w*|should (?:be|have|say|read)|does not|doesn't|"
    r"do not|is not|isn't|are not|was not|unsupported|false|fails?|invalid|inconsistent|lacks?|must be)\b",
    re.IGNORECASE,
)
_PRAISE: Final = re.compile(
    r"\b(?:correct|right|good|fine|sound|accurate|consistent|well|great|no (?:\w+ )?(?:issues?|errors?|faults?))\b",
    re.IGNORECASE,
)
_COUNTED: Final = dict.fromkeys(("claims", "issues", "corrected_steps"), "max_steps") | {
    "criteria": "max_judgement_items"
}
_VERDICTS: Final = {
    "supported": Status.PASS,
    "contradicted": Status.FAIL,
    "unsupported": Status.UNSUPPORTED,
    "opinion": Status.UNCHECKED,
}
_CLAIM_LINE: Final = re.compile(rf"(.+?)[*_]*\s*[:—–-]+\s*[*_]*((?:{'|'.join(_VERDICTS)})\b.*)", re.IGNORECASE)
_VERDICT: Final = re.compile(rf"\W*({'|'.join(_VERDICTS)})\b[\s:;,.—–-]*", re.IGNORECASE)
_FIX: Final = f"Send {{{', '.join(FIELDS)}}}."


def read_opinion(value: Json, field: str = "analysis", limits: Limits = DEFAULT) -> Opinion:
    """Read an opinion from an object, or from text with JSON, headings or prose.

    InputError names the field, the fault and the fix.
    """
    limits.refuse_more("max_analysis_chars", field, characters(value))
    if isinstance(value, str):
        if _is_none(value):
            return Opinion()
        parsed = read_object(value, set(FIELDS)) or _read_headings(value) or _read_prose(value)
        if parsed is None:
            raise InputError(field, "it names no score, no issue and no correction", _FIX)
        value = parsed
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
        if isinstance(items := value.get(name), list | dict):
            limits.refuse_more(limit, f"{field}.{name}", len(items), "items")
    claims = _claims(value.get("claims"), f"{field}.claims")
    contradicted = [
        f"{claim.rstrip('. ')}: contradicted{f' ({why})' if why else ''}"
        for claim, (said, why) in claims.items()
        if said is Status.FAIL
    ]
    issues = [text for text in _texts(value.get("issues"), f"{field}.issues") if not _is_none(text)]
    steps, steps_field = value.get("corrected_steps"), f"{field}.corrected_steps"  # one text is split as a response is
    return Opinion(
        quality_score=_score(value.get("quality_score"), f"{field}.quality_score"),
        claims={claim: said for claim, (said, _) in claims.items()},
        issues=(*contradicted, *issues),
        suggested_fix=_text(value.get("suggested_fix"), f"{field}.suggested_fix"),
        criteria=_criteria(value.get("criteria"), f"{field}.criteria"),
        corrected_steps=split(steps) if isinstance(steps, str) and not _is_none(steps) else _texts(steps, steps_field),
    )


def letters(text: str) -> str:
    """The letters and digits of a text, so that a quotation is found however it was wrapped."""
    return "".join(filter(str.isalnum, text)).casefold()


def disputed(opinion: Opinion | None, verified: Verified) -> tuple[Verdict, ...]:
    """Return the claims that rules say results contradict, and that the judge calls supported.

    Reading results can go wrong; what is computed cannot be disputed.
    """
    supported = [letters(claim) for claim, said in opinion.claims.items() if said is Status.PASS] if opinion else []
    return tuple(
        verdict
        for verdict in verified.failed
        if verdict.checker == "evidence" and any(letters(verdict.claim) in quote for quote in supported)
    )


def beside_verdicts(opinion: Opinion, verified: Verified) -> Opinion:
    """Return an opinion that names the steps of contradicted claims, and rates no better than the verdicts allow.

    The criterion `correctness`, and the whole score where something failed, are at most the share that passed.
    """
    contradicted = [letters(claim) for claim, said in opinion.claims.items() if said is Status.FAIL]
    steps = [letters(step) for step in verified.steps]
    issues = list(opinion.issues)  # those of contradicted claims come first
    for place, claim in enumerate(contradicted):
        step = next((number for number, text in enumerate(steps, start=1) if claim in text), None)
        issues[place] = f"Step {step}: {issues[place]}" if step else issues[place]
    opinion = replace(opinion, issues=tuple(issues))
    share = verified.share
    if share is None:
        return opinion
    criteria = {
        name: replace(item, score=min(item.score or 0.0, share)) if name.strip().lower() == "correctness" else item
        for name, item in opinion.criteria.items()
    }
    limit = share if len(verified.failed) > len(disputed(opinion, verified)) else 1.0
    whole = None if opinion.quality_score is None else min(opinion.quality_score, limit)
    return replace(opinion, quality_score=whole, criteria=criteria)


def _is_none(text: str) -> bool:
    """True for a text that says there is nothing: "None", "No issues found"."""
    plain = text.strip().strip("*_.!-• ").lower()
    return plain in _NONE or bool(_NO_ISSUES.fullmatch(plain))


def _read_headings(text: str) -> dict[str, Json]:
    """Read markdown whose headings name the fields: `## Issues`, `**Suggested fix:** …`, `Quality score: 0.8`."""
    fields: dict[str, Json] = {}
    heads = list(_HEAD.finditer(text))
    for place, head in enumerate(heads):
        name = re.sub(r"[ _]+", "_", head[1].lower())
        body = text[head.end() : heads[place + 1].start() if place + 1 < len(heads) else len(text)].strip()
        if name.endswith("score"):
            number = re.match(r"[*\s]*(\d+(?:\.\d+)?)", body)
            fields["quality_score"] = float(number[1]) if number else None
        elif name in ("issues", "claims"):
            lines = [_BULLET.sub("", line).strip() for line in body.splitlines() if line.strip()]
            verdicts = {said[1]: said[2] for line in lines if (said := _CLAIM_LINE.match(line))}
            fields[name] = cast("Json", verdicts if name == "claims" else lines)
        else:
            fields[name] = body
    return fields


def _read_prose(text: str) -> dict[str, Json] | None:
    """Read plain prose: sentences that name a fault are issues; praise without a fault is an opinion without any."""
    parts = [_BULLET.sub("", part).strip() for part in _SENTENCE.split(text[:20_000]) if part.strip()]
    faults: list[Json] = [part for part in parts if _FAULT.search(part) and not _is_none(part)]
    if faults:
        return {"issues": faults}
    return {"issues": []} if _PRAISE.search(text) else None


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
    if value is None or isinstance(value, str):
        return tuple(text for text in (_text(value, field),) if text)
    if not isinstance(value, list):
        raise InputError(field, "it is no list of texts", "Send a list of texts.")
    texts = [_text(item, f"{field}[{place}]") for place, item in enumerate(value)]
    return tuple(text for text in texts if text)


def _claims(value: Json, field: str) -> dict[str, tuple[Status, str | None]]:
    """Return the verdict on each claim and what shows it, from `{claim: "supported: why"}` or a list of objects."""
    value = as_mapping(value, "claim")
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InputError(field, "it is no object", 'Send {"the claim": "supported: what shows it"}.')
    claims: dict[str, tuple[Status, str | None]] = {}
    for claim, item in value.items():
        name = f"{field}.{quoted(claim)}"
        if claim.strip(" #.").isdigit():
            raise InputError(name, "it is a number, no claim", "Send the words of the claim.")
        entry = cast("dict[str, Any]", item) if isinstance(item, dict) else {"verdict": item}
        said = _VERDICT.match(str(entry.get("verdict")))
        if not said:
            fix = f"Begin with {', '.join(_VERDICTS)}; then say what shows it."
            raise InputError(name, "it has no verdict", fix)
        shown = _text(entry.get("shown_by"), f"{name}.shown_by") or said.string[said.end() :].strip()
        claims[claim] = _VERDICTS[said[1].lower()], shown or None
    return claims


def _criteria(value: Json, field: str) -> Mapping[str, Score]:
    value = as_mapping(value, "criterion")
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InputError(field, "it is no object", "Send {name: {score, reason}}.")
    criteria: dict[str, Score] = {}
    for name, item in value.items():
        entry = cast("dict[str, Any]", item) if isinstance(item, dict) else {"score": item}
        label = f"{field}.{quoted(name)}"
        score = _score(entry.get("score"), label)
        if score is not None:
            criteria[name[:80]] = Score(score=score, reason=_text(entry.get("reason"), f"{label}.reason") or "")
    return criteria
