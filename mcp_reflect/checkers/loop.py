"""Verify, critique, correct, verify again, bounded; then score, gate and action."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Final, Protocol, cast

from mcp_reflect.checkers.base import Finding, Work, split
from mcp_reflect.checkers.verify import CLAIM, Verified, Verify, correct, in_words
from mcp_reflect.config import DEFAULT, Limits, characters
from mcp_reflect.errors import InputError
from mcp_reflect.llm.json_replies import read_object
from mcp_reflect.models.common import RULES, Json
from mcp_reflect.models.critique import Action, Basis, Critique, Opinion, Score, Status, Stopped, Verdict
from mcp_reflect.security.redact import quoted

# The opinion of the host or a model on a piece of work, read and checked field by field.


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
        quality_score=_score_opinion(value.get("quality_score"), f"{field}.quality_score"),
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


def _score_opinion(value: Json, field: str) -> float | None:
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
        score = _score_opinion(given.get("score"), f"{field}.{quoted(name)}")
        if score is not None:
            found[name[:80]] = Score(
                score=score, reason=_text(given.get("reason"), f"{field}.{quoted(name)}.reason") or ""
            )
    return found


# verify → critique → correct → verify again, bounded. The best version seen wins, and it has been verified.


Critic = Callable[[Verified], Awaitable[Opinion | None]]
"""Asks a model for its opinion of a version; null where there is none to ask or it said nothing."""

Corrector = Callable[[Verified, Sequence[str]], Awaitable[tuple[str, ...]]]
"""Asks a model for steps without the issues; empty where there is none to ask or it said nothing."""


class Listener(Protocol):
    """Told of each iteration as it starts and ends."""

    async def on_verified(self, version: Verified) -> None: ...
    async def on_start(self, iteration: int, issues: tuple[str, ...]) -> None: ...
    async def on_complete(self, iteration: int, version: Verified) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A version of the steps: what checkers found, and what the critic thinks of it."""

    verified: Verified
    opinion: Opinion | None = None

    @property
    def issues(self) -> tuple[str, ...]:
        return (*self.verified.issues, *(self.opinion.issues if self.opinion else ()))

    @property
    def rank(self) -> tuple[int, float, int]:
        """Fewer failures first, then the critic's score, then more that passed."""
        score = self.opinion.quality_score if self.opinion and self.opinion.quality_score is not None else 0.0
        return -len(self.verified.failed), score, self.verified.passed

    @property
    def unjudged(self) -> bool:
        """Whether no critic spoke of it."""
        return self.opinion is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a loop came to: the version that was sent, the best one, corrections tried, why it ended."""

    first: Version
    best: Version
    iterations: int
    stopped: Stopped | None


async def run(
    steps: Sequence[str],
    *,
    goal: str,
    verify: Verify,
    critic: Critic,
    corrector: Corrector,
    max_iterations: int,
    listener: Listener,
    until: float,
) -> Run:
    """Correct until it passes, `max_iterations` are used, nothing changes, or `until` (monotonic seconds)."""
    verified = await asyncio.to_thread(verify, steps)
    await listener.on_verified(verified)
    current = first = best = Version(verified=verified, opinion=await critic(verified))
    stopped = Stopped.PASSED if not current.issues else Stopped.BUDGET
    iteration = 0
    while current.issues and iteration < max_iterations:
        if time.monotonic() >= until:
            stopped = Stopped.DEADLINE
            break
        iteration += 1
        await listener.on_start(iteration, current.issues)
        after = await _corrected(current, goal, verify, corrector)
        if after is None:
            stopped = Stopped.NO_CHANGE
            break
        before, current = current, Version(verified=after, opinion=await critic(after))
        await listener.on_complete(iteration, current.verified)
        best = max(best, current, key=lambda version: version.rank)
        if current.unjudged and not before.unjudged and not after.failed:
            # The critic had spoken and fell silent: nobody knows whether its issues are gone.
            stopped = Stopped.DEADLINE if time.monotonic() >= until else Stopped.BUDGET
            break
        stopped = Stopped.PASSED if not current.issues else Stopped.BUDGET
        if current.issues and set(current.issues) == set(before.issues):
            stopped = Stopped.SAME_ISSUES
            break
    return Run(first=first, best=best, iterations=iteration, stopped=stopped)


async def _corrected(version: Version, goal: str, verify: Verify, corrector: Corrector) -> Verified | None:
    """The next version: what can be computed is, the rest is asked for; null where nothing changes."""
    steps = version.verified.steps
    after = await asyncio.to_thread(_computed, version.verified, goal, verify)
    issues = (*after.issues, *(version.opinion.issues if version.opinion else ()))
    if issues:
        asked = await corrector(after, issues)
        after = await asyncio.to_thread(verify, asked) if asked else after
    return None if after.steps == steps else after


def _computed(verified: Verified, goal: str, verify: Verify) -> Verified:
    """The steps with what can be computed put right, verified."""

    def check(work: Work) -> Sequence[Finding]:
        return verify(work.steps).findings

    steps = correct(verified.steps, verified.findings, goal=goal, check=check)
    return verified if steps == verified.steps else verify(steps)


def capped(opinion: Opinion, verified: Verified) -> Opinion:
    """An opinion that says no better of the work than the verdicts allow.

    The score of correctness, and the whole score where something failed, are at most the share that passed.
    """
    share = verified.score
    if share is None:
        return opinion
    criteria = {
        name: replace(score, score=min(score.score, share)) if name.strip().lower() == "correctness" else score
        for name, score in opinion.criteria.items()
    }
    whole = opinion.quality_score
    if whole is not None and any(verdict.status is Status.FAIL for verdict in verified.verdicts):
        whole = min(whole, share)
    return replace(opinion, quality_score=whole, criteria=criteria)


# From a loop's run to the answer: score, gate, action, and what to do next.


_MOST_VERDICTS: Final = 40


def judged(
    run: Run,
    *,
    critique_id: str,
    thinker: str,
    note: str | None,
    tokens: Mapping[str, int],
    trigger: str | None,
    threshold: float,
    has_evidence: bool,
    max_iterations: int,
    milliseconds: int,
) -> Critique:
    """The answer to a call. `threshold` (0..1) is the least score that passes the gate."""
    first = run.first
    score, basis = _score_judging(first), _basis(first)
    gate = _gate(first, score, threshold)
    action = _action(first, basis, gate)
    better = run.best.verified.steps if run.best.verified.steps != first.verified.steps else ()
    done = bool(better) and not run.best.issues
    return Critique(
        critique_id=critique_id,
        thinker=thinker,
        note="; ".join(filter(None, (note, *first.verified.problems))) or None,
        passes_quality_gate=gate,
        quality_score=score,
        action=action,
        verdicts=_told(first.verified),
        first_error_step=first.verified.first_error,
        issues=_bounded(first.issues),
        suggested_fix=_fix(first),
        should_retry=action is not Action.KEEP and not done and run.iterations < max(max_iterations, 1),
        retry_guidance=_guidance(run.best, action, has_evidence, better=bool(better)),
        corrected_steps=better,
        criteria=first.opinion.criteria if first.opinion else {},
        iterations=run.iterations,
        stopped=None if basis is Basis.NONE and not run.iterations else run.stopped,
        basis=basis,
        tokens=tokens,
        triggered_by=trigger,
        reflection_time_ms=milliseconds,
        next=_next(run, critique_id, thinker, action),
    )


def _gate(version: Version, score: float | None, threshold: float) -> bool | None:
    """Whether the work passes: any fail closes it, and nothing known leaves it open."""
    if version.verified.failed:
        return False
    if score is None:
        return False if version.issues else None
    return score >= threshold


def _bounded(issues: tuple[str, ...]) -> tuple[str, ...]:
    more = len(issues) - _MOST_VERDICTS
    return issues if more <= 0 else (*issues[:_MOST_VERDICTS], f"and {more} more")


def critique_from(body: Mapping[str, Any]) -> Critique:
    """The answer that `asdict` made JSON of."""
    values: dict[str, Any] = {
        **body,
        "action": Action(body["action"]),
        "basis": Basis(body["basis"]),
        "stopped": None if body["stopped"] is None else Stopped(body["stopped"]),
        "verdicts": tuple(_verdict_from(one) for one in body["verdicts"]),
        "issues": tuple(body["issues"]),
        "corrected_steps": tuple(body["corrected_steps"]),
        "criteria": {name: Score(**one) for name, one in body["criteria"].items()},
    }
    return Critique(**values)


def _verdict_from(one: Mapping[str, Any]) -> Verdict:
    values: dict[str, Any] = {**one, "status": Status(one["status"])}
    return Verdict(**values)


def _score_judging(version: Version) -> float | None:
    """The model's or host's score, held to the verdicts; on rules the share that passed; else null."""
    if version.opinion is not None and version.opinion.quality_score is not None:
        return round(version.opinion.quality_score, 3)
    share = version.verified.score
    return None if share is None else round(share, 3)


def _basis(version: Version) -> Basis:
    if version.verified.basis is not Basis.NONE:
        return version.verified.basis
    return Basis.MODEL if version.opinion is not None else Basis.NONE


def _action(version: Version, basis: Basis, gate: bool | None) -> Action:
    if version.issues or gate is False:
        return Action.REVISE
    return Action.VERIFY_FIRST if basis in (Basis.NONE, Basis.MODEL) or version.verified.unchecked else Action.KEEP


def _told(verified: Verified) -> tuple[Verdict, ...]:
    """What is shown of the verdicts: all failures first, then what is open, then what passed; claims bounded."""
    order = {Status.FAIL: 0, Status.UNCHECKED: 1, Status.PASS: 2}
    kept = sorted(verified.verdicts, key=lambda verdict: order[verdict.status])[:_MOST_VERDICTS]
    return tuple(_short(verdict) for verdict in sorted(kept, key=lambda verdict: verdict.step))


def _short(verdict: Verdict) -> Verdict:
    if len(verdict.claim) <= CLAIM:
        return verdict
    return Verdict(
        step=verdict.step,
        status=verdict.status,
        checker=verdict.checker,
        claim=f"{verdict.claim[: CLAIM - 1]}…",
        expected=verdict.expected,
        detail=verdict.detail,
    )


def _fix(version: Version) -> str | None:
    if version.opinion is not None and version.opinion.suggested_fix:
        return version.opinion.suggested_fix
    for verdict in version.verified.failed:
        if verdict.expected:
            return f"Step {verdict.step}: {in_words(verdict)}"
    return None


def _guidance(best: Version, action: Action, has_evidence: bool, *, better: bool) -> str | None:
    verified = best.verified
    match action:
        case Action.KEEP:
            return None
        case Action.REVISE:
            if better and not best.issues:
                return "Take corrected_steps: they have been verified."
            from_ = "Take corrected_steps and go on from them. " if better else ""
            where = f"Start at step {verified.first_error}" if verified.first_error else "Start with the first issue"
            return (
                f"{from_}{where}, carry what changes through the steps after it, and send the result to critique again."
            )
        case Action.VERIFY_FIRST:
            return _cheapest(verified, has_evidence)


def _cheapest(verified: Verified, has_evidence: bool) -> str:
    """The cheapest check that would tell more."""
    if verified.unchecked:
        first = verified.unchecked[0]
        ask = "Run what shows it, and send its output" if not has_evidence else "Send the output that shows it"
        return f'Step {first.step} claims "{first.claim[:CLAIM]}" and nothing here shows it. {ask} in tool_results.'
    text = " ".join(verified.steps).lower()
    if any(word in text for word in ("test", "build", "lint", "code", "fix", "function", "```")):
        return "Nothing here can be computed. Run the tests, and send what they print in tool_results."
    return "Nothing here can be computed. Look up the one fact that matters most, and send it in tool_results."


def _next(run: Run, critique_id: str, thinker: str, action: Action) -> dict[str, object]:
    """A lesson to store where a wrong step was corrected, else what rules cannot judge."""
    failed = run.first.verified.failed
    fixed = run.best.verified.steps != run.first.verified.steps and not run.best.verified.failed
    if failed and fixed:
        place = failed[0].step - 1
        after = run.best.verified.steps[place] if place < len(run.best.verified.steps) else ""
        return {
            "why": "A wrong step was found and corrected: keep it, if it may happen again.",
            "tool": "store_lesson",
            "arguments": {
                "mistake": f"Wrong: {failed[0].claim[:CLAIM]}",
                "correction": f"Right: {in_words(failed[0]) if failed[0].expected else after[:CLAIM]}",
                "symptoms": [f"{failed[0].checker} check failed"],
            },
        }
    if thinker != RULES or action is Action.KEEP:
        return {}
    return {
        "why": "Rules check what can be computed or was shown. Judge the rest, and correct what is wrong.",
        "tool": "critique",
        "arguments": {
            "critique_id": critique_id,
            "analysis": {
                "quality_score": "0..1",
                "issues": ["step number, what is wrong, what shows it"],
                "suggested_fix": "what to change",
                "corrected_steps": ["every step, the wrong ones put right"],
            },
        },
    }
