"""The verdicts of the host or a model on the claims of a work, and its critique, read field by field."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Final, cast

from mcp_reflect.errors import InputError
from mcp_reflect.evidence.plain_opinions import HEAD, NONE, read_plain_words
from mcp_reflect.evidence.scores import read_score
from mcp_reflect.evidence.verifying import letters
from mcp_reflect.evidence.work import split
from mcp_reflect.limits import DEFAULT, Limits, characters
from mcp_reflect.llm.json_replies import as_mapping, objects_in, read_object
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
_MOST_NAME: Final = 80  # characters of the name of a field or a criterion
_FIX: Final = f"Send {{{', '.join(FIELDS)}}}."
_EXAMPLE: Final = 'Send [{"claim": 1, "verdict": "holds"}], with holds, wrong or not_shown.'
_NAMES_OF_FIELDS: Final = (
    "claim number id text",
    "verdict status judgement",
    "reason shown_by why",
    "correction correct fix right",
)
"""The names that judges give to the claim, the verdict, the reason and the correction of an entry."""

_WORDS_OF_VERDICTS: Final = {
    Verdict.HOLDS: "holds hold supported true right correct yes ok pass passes shown opinion",
    Verdict.WRONG: "wrong contradicted false incorrect no fail fails",
    Verdict.NOT_SHOWN: "not_shown notshown unsupported unshown unknown unverified missing open",
}
_VERDICT_OF_WORD: Final = {
    word: verdict for verdict, words in _WORDS_OF_VERDICTS.items() for word in words.split()
}
_STEP: Final = re.compile(r"^[ \t]*(?:step )?\d{1,3}[.):]\s+\S", re.IGNORECASE | re.MULTILINE)
_STEP_NUMBER: Final = re.compile(r"^\s*(?:step )?\d{1,3}[.):]\s+", re.IGNORECASE)

_ALL_OTHERS: Final = frozenset("others other all rest the_rest all_others".split())
_LEAST_LETTERS: Final = 4
"""Of the words that stand for a claim: fewer are in too many of them."""
_OTHER_NAMES: Final = {
    **dict.fromkeys(
        ("qualityscore", "quality", "rating", "overallscore", "grade"), "quality_score"
    ),
    **dict.fromkeys(("issues", "issuesfound", "problems", "faults", "errors"), "issues"),
    **dict.fromkeys(("suggestedfix", "fix", "suggestion", "recommendation"), "suggested_fix"),
}
_ISSUE_NAMES: Final = ("issue", "description", "text", "message", "problem", "reason")


def read_verdicts(
    value: Any, claims: Sequence[Claim], judge: str, field: str = "verdicts"
) -> tuple[Claim, ...]:
    """Return the claims that are judged, with their verdicts.

    `value` is a list of objects, or {claim: verdict}, such as {"2": "wrong", "others": "holds"}. The verdict on
    "others" is that of each claim without one, in this call or an earlier one: who judges forty claims names the few
    that are wrong. Its reason is left out, since it cannot be that of each of them.

    InputError names a claim that is not there, and a claim (or the others) with two verdicts.
    """
    judged: dict[int, Claim] = {}  # by their numbers
    on_others: _SentVerdict | None = None
    for index, entry in enumerate(_entries(value, field)):
        name = f"{field}[{index}]"
        sent = _sent_verdict(entry, claims, name)
        if sent.claim is None:
            if on_others is not None:
                fix = "Send one verdict for all others."
                raise InputError(f"{name}.claim", "the others have a verdict already", fix)
            on_others = sent
            continue
        number = sent.claim.number
        if number in judged:
            fault = f"claim {number} has a verdict already"
            raise InputError(f"{name}.claim", fault, "Send one verdict for a claim.")
        judged[number] = replace(
            sent.claim,
            verdict=sent.verdict,
            reason=sent.reason,
            correction=sent.correction,
            judge=judge,
        )
    if on_others is not None:
        for claim in claims:
            if claim.number not in judged and claim.verdict is None:
                judged[claim.number] = replace(claim, verdict=on_others.verdict, judge=judge)
    return tuple(judged.values())


def _entries(value: Any, field: str) -> Iterator[Mapping[str, Any]]:
    """Yield the entries of a list or of {claim: verdict}, their names in lower case."""
    if isinstance(value, dict):
        value = _as_list(cast("dict[str, Any]", value))
    if not isinstance(value, list | tuple):
        raise InputError(field, "it is not a list", _EXAMPLE)
    for index, entry in enumerate(cast("Sequence[Any]", value)):
        if not isinstance(entry, dict):
            raise InputError(f"{field}[{index}]", "it is not an object", _EXAMPLE)
        yield {str(key).lower(): item for key, item in cast("dict[Any, Any]", entry).items()}


def _as_list(verdicts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return {claim: verdict} as a list of objects; a verdict may be an object itself, with its reason."""
    entries: list[dict[str, Any]] = []
    for claim, verdict in verdicts.items():
        fields = {"verdict": verdict}
        if isinstance(verdict, dict):
            fields = cast("dict[str, Any]", verdict)
        entries.append({"claim": claim, **fields})
    return entries


@dataclass(frozen=True, slots=True)
class _SentVerdict:
    """One entry of a list of verdicts. `claim` is None where it is for all claims without one of their own."""

    claim: Claim | None
    verdict: Verdict
    reason: str | None
    correction: str | None


def _sent_verdict(entry: Mapping[str, Any], claims: Sequence[Claim], name: str) -> _SentVerdict:
    """Read one entry; InputError names its claim, its verdict or its texts, in this order."""
    sent_claim, sent_verdict, sent_reason, sent_correction = (
        _first_given(entry, names) for names in _NAMES_OF_FIELDS
    )
    claim = None
    if not _means_all_others(sent_claim):
        claim = _claim_meant(sent_claim, claims, name)
    verdict, reason_behind = _verdict_meant(sent_verdict, name)
    correction = None
    if verdict is Verdict.WRONG:  # of a claim that holds there is nothing to correct
        correction = _text(sent_correction, f"{name}.correction")
    reason = _text(sent_reason, f"{name}.reason") or reason_behind
    return _SentVerdict(claim, verdict, reason, correction)


def _first_given(entry: Mapping[str, Any], names: str) -> Any:
    """Return the value of the first of some names that has one: judges name the same field differently."""
    return next((entry[name] for name in names.split() if entry.get(name) is not None), None)


def _means_all_others(sent_claim: Any) -> bool:
    """True for "others" and "the rest". Asked before the words of claims are: "rest" is in "the REST API" as well."""
    return str(sent_claim).strip().lower().replace(" ", "_") in _ALL_OTHERS


def _claim_meant(sent_claim: Any, claims: Sequence[Claim], name: str) -> Claim:
    """Return the claim that an entry names; InputError where there is none such."""
    claim = _claim_named(sent_claim, claims)
    if claim is not None:
        return claim
    fix = "It lists none: critique the work with its goal."
    if claims:
        fix = f"Send a number from 1 to {len(claims)}, as critique listed them."
    fault = f"{quoted(sent_claim, 60)} is not a claim of this critique"
    raise InputError(f"{name}.claim", fault, fix)


def _verdict_meant(sent_verdict: Any, name: str) -> tuple[Verdict, str | None]:
    """Return the verdict, and the reason that may stand behind it: "wrong: step 2 says 4", `true`, "Not shown."."""
    if isinstance(sent_verdict, bool):
        sent_verdict = "holds" if sent_verdict else "wrong"
    words = str(sent_verdict or "").strip().replace("not shown", "not_shown")
    word, _, reason = words.partition(":")
    verdict = _VERDICT_OF_WORD.get(word.strip(" .*_").lower().replace("-", "_").replace(" ", "_"))
    if verdict is None:
        fault = f"{quoted(sent_verdict, 40)} is not a verdict"
        raise InputError(f"{name}.verdict", fault, _EXAMPLE)
    return verdict, reason.strip() or None


def _claim_named(name: Any, claims: Sequence[Claim]) -> Claim | None:
    """Return the claim of a name, None for none: its number ("3", "#3"), or words that are in it or that it is in."""
    text = str(name).strip().lstrip("#").removesuffix(".")
    if text.isdigit():
        return next((claim for claim in claims if str(claim.number) == text), None)
    sent_words = letters(text)
    if not isinstance(name, str) or len(sent_words) < _LEAST_LETTERS:
        return None
    for claim in claims:
        words = letters(claim.text)
        if sent_words in words or words in sent_words:
            return claim
    return None


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
    issues = _texts(value.get("issues"), f"{field}.issues")
    score = value.get("quality_score", value.get("score"))
    return Opinion(
        verdicts=verdicts,
        issues=tuple(text for text in issues if not NONE.fullmatch(text)),
        quality_score=_score(score, f"{field}.quality_score"),
        suggested_fix=_text(value.get("suggested_fix"), f"{field}.suggested_fix"),
        criteria=_criteria(value.get("criteria"), f"{field}.criteria"),
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
        near = get_close_matches(unknown[0][:_MOST_NAME], FIELDS, n=1)
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
    return _texts(steps, field)


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


def _score(value: Json, field: str) -> float | None:
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


def _text(value: Json, field: str) -> str | None:
    """Return a text without blanks around it; None for "none", "N/A" and the like, which say that there is nothing."""
    if value is None or (isinstance(value, str) and NONE.fullmatch(value)):
        return None
    if isinstance(value, int | float):
        return str(value)
    if not isinstance(value, str):
        raise InputError(field, "it is not text", "Send text.")
    return value.strip()


def _texts(value: Json, field: str) -> tuple[str, ...]:
    """Return a list of texts; a plain text is a list of one, since judges send both."""
    if value is None or isinstance(value, str):
        return tuple(text for text in (_text(value, field),) if text)
    if not isinstance(value, list):
        raise InputError(field, "it is not a list of texts", "Send a list of texts.")
    texts = [_text(_text_of_issue(item), f"{field}[{index}]") for index, item in enumerate(value)]
    return tuple(text for text in texts if text)


def _text_of_issue(item: Json) -> Json:
    """Return what an issue says that is an object, such as {"description": "…", "severity": "high"}."""
    if not isinstance(item, dict):
        return item
    return next((item[name] for name in _ISSUE_NAMES if isinstance(item.get(name), str)), item)


def _criteria(value: Json, field: str) -> Mapping[str, Score]:
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
        score = _score(entry.get("score"), label)
        if score is not None:
            criteria[name[:_MOST_NAME]] = Score(
                score=score, reason=_text(entry.get("reason"), f"{label}.reason") or ""
            )
    return criteria
