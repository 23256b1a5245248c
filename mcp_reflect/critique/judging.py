"""The verdicts of the host or a model on the claims of a work, and its critique, read field by field."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Final, cast

from mcp_reflect.config import DEFAULT, Limits, characters
from mcp_reflect.critique.verify import letters
from mcp_reflect.critique.work import split
from mcp_reflect.errors import InputError
from mcp_reflect.llm.json_replies import as_mapping, read_object
from mcp_reflect.models.common import Json
from mcp_reflect.models.critique import Claim, Opinion, Verdict
from mcp_reflect.models.reflection import Score
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
_EXAMPLE: Final = 'Send [{"claim": 1, "verdict": "holds"}], with holds, wrong or not_shown.'
_NAMES: Final = (
    "claim number id text",
    "verdict status judgement",
    "reason shown_by why",
    "correction correct fix right",
)
_WORDS: Final = {
    Verdict.HOLDS: "holds hold supported true right correct yes ok pass passes shown opinion",
    Verdict.WRONG: "wrong contradicted false incorrect no fail fails",
    Verdict.NOT_SHOWN: "not_shown notshown unsupported unshown unknown unverified missing open",
}
_MEANINGS: Final = {word: verdict for verdict, words in _WORDS.items() for word in words.split()}
_NONE: Final = re.compile(
    r"\W*+(?:none|n/a|nothing|(?:there (?:are|were) )?no (?:\w+ )?(?:issues?|faults?|errors?|"
    r"problems?)(?: (?:was|were))?(?: found)?)?\W*",
    re.IGNORECASE,
)
_HEAD: Final = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]*)?[*_]{0,2}((?:quality[ _])?score|issues|suggested[ _]fix|corrected[ _]steps|"
    r"improved reasoning)"
    r"(?:[*_]{0,2}:[*_]{0,2}|[*_]{0,2}[ \t]*$)",
    re.IGNORECASE | re.MULTILINE,
)
_BULLET: Final = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+")
_STEP: Final = re.compile(r"^\s*(?:step )?\d{1,3}[.):]\s+\S", re.IGNORECASE | re.MULTILINE)
_STEP_NUMBER: Final = re.compile(r"^\s*(?:step )?\d{1,3}[.):]\s+", re.IGNORECASE)
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_FAULT: Final = re.compile(
    r"\b(?:wrong|incorrect|errors?|mistakes?|missing|contradict\w*|should (?:be|have|say|read)|does not|doesn't|do not|"
    r"is not|isn't|are not|was not|unsupported|false|fail\w*|invalid|inconsistent|lacks?|must be|poor)\b",
    re.IGNORECASE,
)
PRAISE: Final = re.compile(
    r"\b(?:correct|right|good|fine|sound|accurate|complete|consistent|well|great|excellent|no \w+)\b",
    re.IGNORECASE,
)


def read_verdicts(
    value: Any, claims: Sequence[Claim], judge: str, field: str = "verdicts"
) -> tuple[Claim, ...]:
    """Return the claims that a list of objects or {claim: verdict} judges, with their verdicts.

    InputError names a claim that is not there, and one with two verdicts.
    """
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        value = [
            {"claim": claim, **(said if isinstance(said, dict) else {"verdict": said})}
            for claim, said in items
        ]
    if not isinstance(value, list | tuple):
        raise InputError(field, "it is not a list", _EXAMPLE)
    found: dict[int, Claim] = {}
    for place, entry in enumerate(cast("Sequence[Any]", value)):
        name = f"{field}[{place}]"
        if not isinstance(entry, dict):
            raise InputError(name, "it is not an object", _EXAMPLE)
        judged = _judged(
            {str(key).lower(): each for key, each in cast("dict[Any, Any]", entry).items()},
            claims,
            name,
        )
        if judged.number in found:
            fault = f"claim {judged.number} has a verdict already"
            raise InputError(f"{name}.claim", fault, "Send one verdict for a claim.")
        found[judged.number] = replace(judged, judge=judge)
    return tuple(found.values())


def _judged(entry: Mapping[str, Any], claims: Sequence[Claim], name: str) -> Claim:
    named, said, reason, correction = (
        next((entry[key] for key in keys.split() if entry.get(key) is not None), None)
        for keys in _NAMES
    )
    claim = _named(named, claims)
    if claim is None:
        fix = f"Send a number from 1 to {len(claims)}, as critique listed them."
        fix = fix if claims else "It lists none: critique the work with its goal."
        raise InputError(
            f"{name}.claim", f"{quoted(named, 60)} is not a claim of this critique", fix
        )
    if isinstance(said, bool):
        said = "holds" if said else "wrong"
    word, _, rest = str(said or "").strip().replace("not shown", "not_shown").partition(":")
    verdict = _MEANINGS.get(word.strip(" .*_").lower().replace("-", "_").replace(" ", "_"))
    if verdict is None:
        raise InputError(f"{name}.verdict", f"{quoted(said, 40)} is not a verdict", _EXAMPLE)
    right = _text(correction, f"{name}.correction") if verdict is Verdict.WRONG else None
    reason = _text(reason, f"{name}.reason") or rest.strip() or None
    return replace(claim, verdict=verdict, reason=reason, correction=right)


def _named(said: Any, claims: Sequence[Claim]) -> Claim | None:
    """Return the claim with a number, or with words that are in it or that it is in."""
    text = str(said).strip().lstrip("#").removesuffix(".")
    if text.isdigit():
        return next((claim for claim in claims if str(claim.number) == text), None)
    own = letters(text) if isinstance(said, str) else ""
    fitting = (
        claim for claim in claims if own in letters(claim.text) or letters(claim.text) in own
    )
    return next(fitting, None) if len(own) > 3 else None


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
    accepts = False
    if isinstance(value, str):
        if _NONE.fullmatch(value):
            return Opinion(accepts=True)
        parsed = (
            read_object(value, {*FIELDS, "claims"}) or _read_headings(value) or _read_prose(value)
        )
        if parsed is None:
            raise InputError(field, "it names no score, no issue and no correction", _FIX)
        accepts, value = parsed == {"issues": []}, parsed
    if not isinstance(value, dict):
        raise InputError(field, "it is not an object", _FIX)
    for name in (
        value if field == "analysis" else ()
    ):  # a model's own extra fields are not worth asking again
        if name not in (*FIELDS, "claims"):
            near = get_close_matches(name[:80], FIELDS, n=1)
            fix = f"Did you mean {near[0]}?" if near else _FIX
            raise InputError(f"{field}.{quoted(name)}", "there is no such field", fix)
    limits.refuse_long_texts("max_judgment_chars", field, value)
    for name in ("verdicts", "claims", "issues", "corrected_steps"):
        if isinstance(items := value.get(name), list | dict):
            limits.refuse_more("max_steps", f"{field}.{name}", len(items), "items")
    said = value.get("verdicts") or value.get("claims")
    steps, steps_field = (
        value.get("corrected_steps"),
        f"{field}.corrected_steps",
    )  # one text is split as a response is
    return Opinion(
        accepts=accepts,
        verdicts=read_verdicts(said, claims, judge, f"{field}.verdicts")
        if said and claims is not None
        else (),
        issues=tuple(
            text
            for text in _texts(value.get("issues"), f"{field}.issues")
            if not _NONE.fullmatch(text)
        ),
        quality_score=_score(value.get("quality_score"), f"{field}.quality_score"),
        suggested_fix=_text(value.get("suggested_fix"), f"{field}.suggested_fix"),
        criteria=_criteria(value.get("criteria"), f"{field}.criteria"),
        corrected_steps=_unnumbered(split(steps))
        if isinstance(steps, str) and not _NONE.fullmatch(steps)
        else _texts(steps, steps_field),
    )


def read_steps(text: str) -> tuple[str, ...]:
    """Return the steps of a numbered list, as a corrector may write them in plain text."""
    head = next(
        (found for found in _HEAD.finditer(text) if found[1].lower()[:4] in ("corr", "impr")), None
    )
    body = text[head.end() :] if head else text
    first = _STEP.search(body)
    if first is None:
        raise InputError(
            "reply.corrected_steps",
            "there is no list of steps",
            "Send all steps, with the wrong ones corrected.",
        )
    return _unnumbered(split(body[first.start() :]))


def _unnumbered(steps: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(_STEP_NUMBER.sub("", step, count=1) for step in steps)


def _read_headings(text: str) -> dict[str, Json]:
    """Read markdown whose headings name the fields: `## Issues`, `**Suggested fix:** …`, `Quality score: 0.8`."""
    fields: dict[str, Json] = {}
    heads = list(_HEAD.finditer(text))
    for place, head in enumerate(heads):
        name = re.sub(r"[ _]+", "_", head[1].lower())
        body = text[
            head.end() : heads[place + 1].start() if place + 1 < len(heads) else len(text)
        ].strip()
        if name.endswith("score"):
            number = re.match(r"[*\s]*(\d+(?:\.\d+)?)", body)
            fields["quality_score"] = float(number[1]) if number else None
        elif name == "issues":
            fields[name] = [
                _BULLET.sub("", line).strip() for line in body.splitlines() if line.strip()
            ]
        else:
            fields["corrected_steps" if name == "improved_reasoning" else name] = body
    return fields


def _read_prose(text: str) -> dict[str, Json] | None:
    """Read plain prose: sentences that name a fault are issues; praise without a fault is an opinion without any."""
    parts = [
        _BULLET.sub("", part).strip() for part in _SENTENCE.split(text[:20_000]) if part.strip()
    ]
    faults: list[Json] = [
        part for part in parts if _FAULT.search(part) and not _NONE.fullmatch(part)
    ]
    if faults:
        return {"issues": faults}
    return {"issues": []} if PRAISE.search(text) else None


def _score(value: Json, field: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InputError(
            field,
            f"{quoted(value, 40)} is not in 0..1",
            "Send a number from 0 to 1, or leave it out.",
        )
    return float(value)


def _text(value: Json, field: str) -> str | None:
    if value is None or (isinstance(value, str) and _NONE.fullmatch(value)):
        return None
    if isinstance(value, int | float):
        return str(value)
    if not isinstance(value, str):
        raise InputError(field, "it is not text", "Send text.")
    return value.strip()


def _texts(value: Json, field: str) -> tuple[str, ...]:
    if value is None or isinstance(value, str):
        return tuple(text for text in (_text(value, field),) if text)
    if not isinstance(value, list):
        raise InputError(field, "it is not a list of texts", "Send a list of texts.")
    texts = [_text(item, f"{field}[{place}]") for place, item in enumerate(value)]
    return tuple(text for text in texts if text)


def _criteria(value: Json, field: str) -> Mapping[str, Score]:
    value = as_mapping(value, "criterion")
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InputError(field, "it is not an object", "Send {name: {score, reason}}.")
    criteria: dict[str, Score] = {}
    for name, item in value.items():
        entry = cast("dict[str, Any]", item) if isinstance(item, dict) else {"score": item}
        label = f"{field}.{quoted(name)}"
        score = _score(entry.get("score"), label)
        if score is not None:
            criteria[name[:80]] = Score(
                score=score, reason=_text(entry.get("reason"), f"{label}.reason") or ""
            )
    return criteria
