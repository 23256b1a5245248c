"""From a run of the loop to the answer of `critique`: gate, score, action, and what to do next."""

import re
from collections.abc import Sequence
from typing import Any, Final

from mcp_reflect.critique.loop import MODEL, Run, Version
from mcp_reflect.critique.verify import quoted_claim
from mcp_reflect.models.critique import NO_OUTPUT, Action, Claim, Critique, Line, Verdict

_MOST_ISSUES: Final = 40
_SEND: Final = "critique_id with verdicts [{claim: 1, verdict: holds | wrong | not_shown, correction if wrong}]"
_NOTHING: Final = "it states nothing to check; send the goal too to judge it as a whole"
_SUMS: Final = "the result is right; judge if it is the sum to make"


def answer_of(
    run: Run,
    *,
    thinker: str,
    note: str | None,
    threshold: float,
    criteria: Sequence[str],
    max_iterations: int,
    **about: Any,
) -> Critique:
    """Return the answer to a call. `threshold` (0..1) is the least score that passes the gate.

    `about` are the fields of the answer that the run does not decide.
    """
    first, best = run.first, run.best
    gate = _gate(first, threshold)
    nothing = not first.verified.claims and first.opinion is None  # to judge
    unshown = [claim.number for claim in first.claims if claim.verdict is Verdict.NOT_SHOWN]
    action = (
        Action.KEEP
        if gate or (nothing and not first.issues and not criteria)
        else Action.REVISE
        if first.issues or (gate is False and not unshown)
        else Action.VERIFY_FIRST
    )
    corrected = best.verified.steps if best.verified.steps != first.verified.steps else ()
    done = bool(corrected) and not best.issues
    unscored = (
        "rules cannot score criteria"
        if criteria and first.opinion is None and first.issues
        else None
    )
    issues, more = first.issues[:_MOST_ISSUES], len(first.issues) - _MOST_ISSUES
    return Critique(
        thinker=thinker,
        note="; ".join(text for text in (note, unscored, _NOTHING if nothing else None) if text)
        or None,
        passes_quality_gate=gate,
        quality_score=_score(first),
        action=action,
        claims=first.claims,
        first_error_step=_first_error(first),
        issues=(*issues, f"and {more} more") if more > 0 else issues,
        suggested_fix=first.opinion.suggested_fix if first.opinion else None,
        should_retry=action is not Action.KEEP
        and not done
        and run.iterations < max(max_iterations, 1),
        retry_guidance=_guidance(run, action, unshown),
        corrected_steps=corrected,
        corrected_by=(thinker if best.author == MODEL else best.author) if corrected else None,
        criteria=first.opinion.criteria if first.opinion else {},
        iterations=run.iterations,
        stopped=run.stopped if run.iterations or gate is not None else None,
        next=_next(run, criteria),
        **about,
    )


def _gate(version: Version, threshold: float) -> bool | None:
    """False if something is wrong or not shown, True if a judge found that everything holds, else None."""
    if version.issues:
        return False
    if version.opinion is None or version.unjudged:
        return None
    if any(claim.verdict is Verdict.NOT_SHOWN for claim in version.claims):
        return False
    score = version.opinion.quality_score
    return score is None or score >= threshold


def _score(version: Version) -> float | None:
    """Return the share of claims that hold, and no more than the judge's own score; None until all are judged."""
    if version.opinion is None or version.unjudged:
        return None
    holds = sum(claim.verdict in (Verdict.HOLDS, None) for claim in version.claims) / max(
        len(version.claims), 1
    )
    said = version.opinion.quality_score
    return round(
        holds
        if said is None
        else min(holds, said)
        if version.opinion.verdicts or version.verified.wrong
        else said,
        3,
    )


def _first_error(version: Version) -> int | None:
    wrong = [finding.step for finding in version.verified.wrong]
    wrong += [claim.step for claim in version.claims if claim.verdict is Verdict.WRONG]
    return min(wrong, default=None)


def _guidance(run: Run, action: Action, unshown: Sequence[int]) -> str | None:
    if action is Action.KEEP:
        return None
    missing = (
        f"Nothing shows claim {_listed(unshown)}: run what shows it, or take it out."
        if unshown
        else ""
    )
    if action is Action.VERIFY_FIRST:
        return missing or None
    if run.uncorrected:
        numbers = _listed(run.uncorrected)
        missing = f"Claim {numbers} still needs a correction: send it in verdicts, or corrected_steps. {missing}".strip()
    if waiting := [claim.number for claim in _waiting(run)]:
        missing = f"Not judged yet: claim {_listed(waiting)}. {missing}".strip()
    if run.best.verified.steps != run.first.verified.steps and not run.best.issues:
        return f"Take corrected_steps; nothing in them is certainly wrong. {missing}".strip()
    return f"Correct this and what follows from it, and critique the new work. {missing}".strip()


def _listed(numbers: Sequence[int]) -> str:
    more = f" and {len(numbers) - 5} more" if len(numbers) > 5 else ""
    return ", ".join(map(str, numbers[:5])) + more


def _waiting(run: Run) -> tuple[Claim, ...]:
    """Return the claims to be judged; after a fault, only those that the judge has not reached yet."""
    first, best = run.first, run.best
    if first.issues and (
        first.verified.claims_nothing
        or (first.opinion and not first.opinion.verdicts)
        or (best is not first and best.opinion)
    ):
        return ()
    return first.unjudged


def _next(run: Run, criteria: Sequence[str]) -> dict[str, object]:
    waiting = _waiting(run)
    unscored = bool(criteria) and run.first.opinion is None
    if not (waiting or (unscored and not run.first.issues)):
        return {}
    computes: dict[str, object] = (
        {"computes": _SUMS} if any(claim.computes for claim in waiting) else {}
    )
    return {
        "send": f"{_SEND}; analysis {{criteria: {{name: score}}}}" if unscored else _SEND
    } | computes


_MOST_CHARS: Final = 560  # of the claims of a short answer
_CLAIM_CHARS: Final = 80
_LINE_CHARS: Final = 150
_TOOL_CHARS: Final = 40


def short_claims(critique: Critique) -> list[str]:
    """Return the claims without a verdict as texts: as many claims as fit with one line each, then more lines."""
    waiting = [
        claim
        for claim in critique.claims
        if claim.verdict is None and (critique.next or claim.lines)
    ]
    has_evidence = critique.evidence != NO_OUTPUT
    counts: list[int] = []  # of lines of each claim that is shown

    def fits(numbers: Sequence[int]) -> bool:
        return sum(map(len, _texts(waiting, numbers, has_evidence=has_evidence))) <= _MOST_CHARS

    for _ in waiting:
        if counts and not fits([*counts, 1]):
            break
        counts.append(1)
    for number in (2, 3):
        for place in range(len(counts)):
            more = [*counts[:place], number, *counts[place + 1 :]]
            if len(waiting[place].lines) >= number and fits(more):
                counts = more
    left = len(waiting) - len(counts)
    texts = _texts(waiting, counts, has_evidence=has_evidence)
    return [*texts, f"(more claims follow after these: {left})"] if left else texts


def _texts(claims: Sequence[Claim], counts: Sequence[int], *, has_evidence: bool) -> list[str]:
    """Return each claim with its lines; each line appears once, at the claim that it fits best."""
    pairs = list(zip(claims, counts, strict=False))
    shown: dict[Line, int] = {
        claim.lines[0]: claim.number for claim, _ in reversed(pairs) if claim.lines
    }
    texts: list[str] = []
    for claim, count in pairs:
        parts: list[str] = []
        before = None
        for line in claim.lines[:count]:
            if (owner := shown.setdefault(line, claim.number)) != claim.number:
                parts += [see] if (see := f"see {owner}") not in parts else []
                continue
            exit_code = "" if line.exit_code is None else f", exit {line.exit_code}"
            head = (
                ""
                if line.result == before
                else f"{_tool(line.tool or f'result {line.result}')}{exit_code}: "
            )
            parts.append(f"{head}{quoted_claim(line.text, _LINE_CHARS)}")
            before = line.result
        behind = f" <- {' | '.join(parts)}" if parts else ""
        if not parts and (claim.computes or has_evidence):
            behind = " (computes)" if claim.computes else " (no output about this)"
        texts.append(f"{claim.number}. {quoted_claim(claim.text, _CLAIM_CHARS)}{behind}")
    return texts


def _tool(name: str) -> str:
    """Return the start of a command without `cd FOLDER &&`, or the end of a path."""
    name = re.sub(r"^(?:\(?\s*+cd\s[^;&|\n]{1,300}(?:&&|;)\s*+)+(?=\S)", "", name)
    if len(name) > _TOOL_CHARS and " " not in name and "/" in name:
        return f"…{name[1 - _TOOL_CHARS :]}"
    return quoted_claim(name, _TOOL_CHARS)
