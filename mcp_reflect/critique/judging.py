"""From a loop's run to the answer: score, gate, action, and what to do next."""

from collections.abc import Mapping
from typing import Any, Final

from mcp_reflect.critique.loop import Run, Version
from mcp_reflect.critique.verify import CLAIM, Verified, in_words
from mcp_reflect.models.common import RULES
from mcp_reflect.models.critique import Action, Basis, Critique, Score, Status, Stopped, Verdict

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
    score, basis = _score(first), _basis(first)
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


def _score(version: Version) -> float | None:
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
