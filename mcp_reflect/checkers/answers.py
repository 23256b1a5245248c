"""From a run of the loop to the answer of `critique`: coverage, score, gate, action, and what to do next."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from mcp_reflect.checkers.loop import MODEL, Run, Version
from mcp_reflect.checkers.verify import Verified, issue_of, quoted_claim
from mcp_reflect.models.common import HOST, RULES
from mcp_reflect.models.critique import Action, Basis, Critique, Status, Verdict

_MOST_VERDICTS: Final = 40
_MOST_QUESTIONS: Final = 5
_FEWEST_WORDS: Final = 3  # of work that can state something
_NUMERAL = frozenset("0123456789")
_ANALYSIS: Final = (
    'critique_id with analysis {quality_score, claims {"its words": "supported, contradicted, unsupported or opinion: '
    'what shows it"}, issues, corrected_steps'
)


def answer_of(
    run: Run,
    *,
    critique_id: str,
    thinker: str,
    note: str | None,
    tokens: Mapping[str, int],
    trigger: str | None,
    threshold: float,
    criteria: Sequence[str],
    max_iterations: int,
    milliseconds: int,
) -> Critique:
    """Return the answer to a call. `threshold` (0..1) is the least score of a judge that passes the gate."""
    first, best = run.first, run.best
    gate = _gate(first, threshold)
    action = Action.REVISE if gate is False else Action.KEEP if gate else Action.VERIFY_FIRST
    corrected = best.verified.steps if best.verified.steps != first.verified.steps else ()
    done = bool(corrected) and not best.issues
    unscored = criteria if first.opinion is None else ()
    scoring = f"rules cannot score criteria: {', '.join(unscored)}"[:300] if unscored else None
    notes = (note, *first.verified.problems, scoring)
    basis = first.verified.basis
    if basis is Basis.NONE and first.opinion is not None:
        basis = Basis.MODEL
    issues, more = first.issues[:_MOST_VERDICTS], len(first.issues) - _MOST_VERDICTS
    return Critique(
        critique_id=critique_id,
        thinker=thinker,
        note="; ".join(text for text in notes if text) or None,
        passes_quality_gate=gate,
        quality_score=_score(first),
        action=action,
        coverage=first.verified.coverage,
        verdicts=_listed(first.verified),
        first_error_step=min((verdict.step for verdict in first.failed), default=None),
        issues=(*issues, f"and {more} more") if more > 0 else issues,
        suggested_fix=_fix(first),
        should_retry=action is not Action.KEEP and not done and run.iterations < max(max_iterations, 1),
        retry_guidance=_guidance(run, action),
        corrected_steps=corrected,
        corrected_by=(thinker if best.author == MODEL else best.author) if corrected else None,
        criteria=first.opinion.criteria if first.opinion else {},
        iterations=run.iterations,
        stopped=run.stopped if run.iterations or gate is not None else None,
        basis=basis,
        tokens=tokens,
        triggered_by=trigger,
        reflection_time_ms=milliseconds,
        next=_next(run, thinker, action, unscored),
    )


def _gate(version: Version, threshold: float) -> bool | None:
    """True if nothing is contradicted and rules or a judge settled every claim; None where that is unknown."""
    opinion = version.opinion
    if version.issues:
        return False
    if opinion is not None and opinion.quality_score is not None and opinion.quality_score < threshold:
        return False
    if version.unsettled or version.needs_change:
        return None
    return True if opinion is not None or version.verified.complete else None


def _score(version: Version) -> float | None:
    """Return the judge's score, held to the verdicts; on rules the share that passed if every claim was checked."""
    if version.opinion is not None and version.opinion.quality_score is not None:
        return round(version.opinion.quality_score, 3)
    share = version.verified.share if version.verified.complete else None
    return None if share is None else round(share, 3)


def _listed(verified: Verified) -> tuple[Verdict, ...]:
    """Return the verdicts to show, by step: failures are kept first, then what is open, then what passed."""
    order = {Status.FAIL: 0, Status.UNSUPPORTED: 1, Status.UNCHECKED: 2, Status.PASS: 3}
    kept = sorted(verified.verdicts, key=lambda verdict: order[verdict.status])[:_MOST_VERDICTS]
    kept.sort(key=lambda verdict: verdict.step)
    return tuple(replace(verdict, claim=quoted_claim(verdict.claim)) for verdict in kept)


def _fix(version: Version) -> str | None:
    if version.opinion is not None and version.opinion.suggested_fix:
        return version.opinion.suggested_fix
    return next((issue_of(verdict) for verdict in version.failed if verdict.expected), None)


def _guidance(run: Run, action: Action) -> str | None:
    best, verified = run.best, run.best.verified
    if action is Action.KEEP:
        return None
    corrected = verified.steps != run.first.verified.steps
    if action is Action.VERIFY_FIRST or not run.first.issues:
        check = _cheapest_check(run.first)
        return f"{check} Or take corrected_steps, which do not claim it." if corrected else check
    if corrected and not best.issues:
        counted = verified.coverage
        author = {HOST: "Your corrected_steps were", MODEL: "The model's corrected_steps were"}.get(
            best.author or "", "In corrected_steps the computed values are replaced; they were"
        )
        end = "." if verified.complete else f": {counted.checked} of {counted.claims} claims could be checked."
        return f"Take corrected_steps. {author} checked again, and nothing in them is contradicted{end}"
    take = "Take corrected_steps and go on from them. " if corrected else ""
    where = f"Start at step {verified.first_error}" if verified.first_error else "Start with the first issue"
    return f"{take}{where}, carry what changes through the steps after it, and send the result to critique again."


def _cheapest_check(version: Version) -> str:
    """Say which one check would tell most."""
    verified = version.verified
    if verified.unsupported:
        return "No tool result shows the first open claim. Run what shows it, and send its output in tool_results."
    if version.disputed:
        claim = quoted_claim(version.disputed[0].claim)
        return f'Rules and the judge read a result differently: "{claim}". Run what decides it, and send its output.'
    if version.opinion is not None and version.unsettled:
        return f"Still open: {len(version.unsettled)}. Send results that show these claims, or a verdict on each."
    counted = verified.coverage
    if counted.open_claims:
        return f"{counted.checked} of {counted.claims} claims were checked. Check the first open claim, or judge it."
    if _is_empty(version):
        return "There is nothing to check: the work makes no claim. Send its whole text, steps or code."
    return "The work states nothing that rules can read. Judge it yourself against the goal."


def _is_empty(version: Version) -> bool:
    """True for work of a word or two, such as "Done.", without a number or code."""
    counted = version.verified.coverage
    return not counted.claims and len(" ".join(version.verified.steps).split()) < _FEWEST_WORDS


def _next(run: Run, thinker: str, action: Action, criteria: Sequence[str]) -> dict[str, object]:
    """Return questions on what rules and the judge left open, and how to answer; nothing where both have spoken."""
    first = run.first
    is_corrected = bool(first.failed) and not run.best.verified.failed
    is_settled = len(first.unsettled) == len(first.disputed) and (thinker != RULES or is_corrected)
    if is_settled or (_is_empty(first) and not criteria) or (action is Action.KEEP and not criteria):
        return {}
    following: dict[str, object] = {"questions": _questions(first, criteria, is_corrected=is_corrected)}
    if first.opinion is None or not first.opinion.claims:  # who has judged a claim knows the form
        following["send"] = f"{_ANALYSIS}{', criteria {name: {score, reason}}' if criteria else ''}}}"
    return following


def _questions(version: Version, criteria: Sequence[str], *, is_corrected: bool) -> list[str]:
    """Ask one short question for each claim that is wrong or not settled, which it quotes, and each criterion."""
    verified = version.verified
    several = len(verified.steps) > 1
    unshown = {verdict.claim for verdict in verified.unsupported}

    def place(step: int) -> str:
        return f"Step {step}: " if several else ""

    questions = [
        f'{place(verdict.step)}what is right in the place of "{quoted_claim(verdict.claim)}"?'
        for verdict in (() if is_corrected else version.failed)
    ]
    for step, text in version.unsettled[len(version.disputed) :]:  # what is disputed was answered
        claim = quoted_claim(text)
        if text in unshown:
            question = f'which tool result shows "{claim}"?'
        elif "block: " in claim:
            question = f'"{claim}": what does it print or return on one real input and on an empty one?'
        elif _NUMERAL & set(claim):
            question = f'from which result or sum do the numbers in "{claim}" come?'
        else:
            question = f'what shows that "{claim}" holds?'
        questions.append(place(step) + question)
    if not questions:
        questions.append("Does the work do what the goal asks, completely?")
    asked = [f"How far is the criterion met: {name}?" for name in criteria[:_MOST_QUESTIONS]]
    return [*list(dict.fromkeys(questions))[: max(_MOST_QUESTIONS - len(asked), 1)], *asked][:_MOST_QUESTIONS]
