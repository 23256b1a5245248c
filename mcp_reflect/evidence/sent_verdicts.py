"""The verdicts of a judge on the claims of a work, as a list or by claims, read entry by entry."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from mcp_reflect.errors import InputError
from mcp_reflect.evidence.opinion_fields import read_text
from mcp_reflect.evidence.verifying import letters
from mcp_reflect.models.critique import Claim, Verdict
from mcp_reflect.security.redact import quoted

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
_ALL_OTHERS: Final = frozenset("others other all rest the_rest all_others".split())
_LEAST_LETTERS: Final = 4
"""Of the words that stand for a claim: fewer are in too many of them."""


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
        correction = read_text(sent_correction, f"{name}.correction")
    reason = read_text(sent_reason, f"{name}.reason") or reason_behind
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
