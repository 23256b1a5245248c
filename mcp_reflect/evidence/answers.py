"""From a loop to the answer of `critique`: gate, score, action, and what to do next."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from mcp_reflect.evidence.loop import MODEL, LoopResult, Version, quoted_claim
from mcp_reflect.models.critique import Action, Claim, Critique, Opinion, Verdict

_MOST_ISSUES: Final = 40
_MOST_NUMBERS: Final = 5  # numbers of claims in a sentence
_MOST_CHARS: Final = 2_000  # characters of the claims of a short answer
_CLAIM_CHARS: Final = 110
_OTHERS: Final = "(these share most with the claims, and may decide none:)"
_SEND: Final = (
    "critique_id with verdicts [{claim: 1, verdict: holds | wrong | not_shown, correction if wrong}]; "
    'claim "others" stands for all that are left'
)
_SEND_WITH_SCORES: Final = f"{_SEND}; analysis {{criteria: {{name: score}}}}"
_SUMS: Final = "the result is right; judge if it is the sum to make"
NOTHING_BEARS: Final = "no output bears on this work; nothing was judged"
NO_STATEMENT: Final = "it states nothing that could be judged"
NO_CRITERIA: Final = "criteria are for a judge to score"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """What a critique is judged by: the least score that passes, the criteria, the most corrections."""

    threshold: float
    criteria: Sequence[str]
    max_iterations: int


def answer_of(
    result: LoopResult, judging: Judging, *, thinker: str, note: str | None, **about: Any
) -> Critique:
    """Return the answer to a call. `about` are the fields of the answer that the loop does not decide."""
    first, best = result.first, result.best
    gate = gate_of(first, judging.threshold)
    action = _action(first, gate, judging)
    corrected: tuple[str, ...] = ()
    if best.verified.steps != first.verified.steps:
        corrected = best.verified.steps
    is_done = bool(corrected) and not best.issues
    nothing_to_do = _states_nothing(first, judging) or _nothing_bears(first)
    is_open = action is not Action.KEEP and not nothing_to_do
    opinion = first.opinion or Opinion()
    stopped = result.stopped if result.iterations or gate is not None else None
    tries_are_left = result.iterations < max(judging.max_iterations, 1)
    return Critique(
        thinker=thinker,
        note="; ".join(_notes(first, judging, note)) or None,
        passes_quality_gate=gate,
        quality_score=score_of(first),
        action=action,
        claims=first.claims,
        outputs=first.verified.digest.shown,
        other_outputs=first.verified.digest.left_out,
        left_out=first.verified.left_out,
        first_error_step=_first_error(first),
        issues=_at_most(first.issues),
        suggested_fix=opinion.suggested_fix,
        should_retry=is_open and not is_done and tries_are_left,
        retry_guidance=_guidance(result, action),
        corrected_steps=corrected,
        corrected_by=_author(best, thinker) if corrected else None,
        criteria=opinion.criteria,
        iterations=result.iterations,
        stopped=stopped,
        next=_next(result, judging.criteria),
        **about,
    )


def gate_of(version: Version, threshold: float) -> bool | None:
    """False if something is wrong or not shown, True if a judge found that everything holds, else None."""
    if version.issues:
        return False
    if version.opinion is None or version.unjudged:
        return None
    if any(claim.verdict is Verdict.NOT_SHOWN for claim in version.claims):
        return False
    score = version.opinion.quality_score
    return score is None or score >= threshold


def score_of(version: Version) -> float | None:
    """Return the score of the work.

    A score that the judge names for the whole, without verdicts, is given as it is. Verdicts give the share of claims
    that hold once all are judged, which the judge's own score can only lower.
    """
    opinion = version.opinion
    if opinion is None:
        return None
    if opinion.quality_score is not None and not opinion.verdicts and not version.verified.faults:
        return round(opinion.quality_score, 3)
    if version.unjudged:
        return None
    if opinion.quality_score is None:
        return round(version.share_that_holds, 3)
    return round(min(version.share_that_holds, opinion.quality_score), 3)


def _action(first: Version, gate: bool | None, judging: Judging) -> Action | None:
    """Return what to do with the work; the first row that fits decides.

    | the work                                                   | what to do                                         |
    |------------------------------------------------------------|----------------------------------------------------|
    | states nothing, or no output bears on it                   | None: that is no reason to hand it over            |
    | passes the gate                                            | KEEP: hand it over                                 |
    | has issues                                                 | REVISE                                             |
    | has a claim that nothing shows                             | VERIFY_FIRST                                       |
    | is not judged as a whole                                   | None: its claims are to be judged                  |
    | has too low a score                                        | REVISE                                             |
    """
    if _states_nothing(first, judging) or _nothing_bears(first):
        return None
    if gate:
        return Action.KEEP
    if first.issues:
        return Action.REVISE
    if any(claim.verdict is Verdict.NOT_SHOWN or _lacks_evidence(claim) for claim in first.claims):
        return Action.VERIFY_FIRST
    if gate is None:
        return None
    return Action.REVISE


def _lacks_evidence(claim: Claim) -> bool:
    """Return whether a claim without a verdict says that something went well, which no run shows."""
    return claim.unproven and claim.verdict is None


def _states_nothing(first: Version, judging: Judging) -> bool:
    """Return whether nothing can be judged: the work has no claims, and nobody asks for scores or found an issue."""
    is_unjudged = first.opinion is None and not first.issues
    return not first.verified.claims and is_unjudged and not judging.criteria


def _nothing_bears(first: Version) -> bool:
    """True where outputs are there, and none has to do with the work: then nothing is asked of the caller."""
    has_outputs = first.verified.has_evidence and not first.verified.digest.shown
    return has_outputs and first.opinion is None and not first.issues


def _notes(first: Version, judging: Judging, note: str | None) -> list[str]:
    """Return what is noted beside the answer: the caller's `note`, and why something was not judged."""
    notes: list[str] = []
    if note:
        notes.append(note)
    if judging.criteria and first.opinion is None and first.issues:
        notes.append(NO_CRITERIA)
    if _states_nothing(first, judging):
        notes.append(NO_STATEMENT)
    if _nothing_bears(first):
        notes.append(NOTHING_BEARS)
    return notes


def _at_most(issues: Sequence[str]) -> tuple[str, ...]:
    """Return the first issues, and how many more there are."""
    more = len(issues) - _MOST_ISSUES
    if more > 0:
        return (*issues[:_MOST_ISSUES], f"and {more} more")
    return tuple(issues)


def _author(best: Version, thinker: str) -> str | None:
    """Return who corrected the steps: rules, or the model by its own name; None for nobody."""
    if best.author == MODEL:
        return thinker
    return best.author


def _first_error(version: Version) -> int | None:
    """Return the number of the first step with a certain fault or a wrong claim, None where there is none."""
    wrong = [fault.step for fault in version.verified.faults]
    wrong += [claim.step for claim in version.claims if claim.verdict is Verdict.WRONG]
    return min(wrong, default=None)


def _guidance(result: LoopResult, action: Action | None) -> str | None:
    """Say what to do next, in the order in which it is done."""
    if action is None or action is Action.KEEP:
        return None
    unshown = [
        claim.number
        for claim in result.first.claims
        if claim.verdict is Verdict.NOT_SHOWN or _lacks_evidence(claim)
    ]
    missing = ""
    if unshown:
        missing = f"Nothing shows claim {_listed(unshown)}: run what shows it, or take it out."
    if action is Action.VERIFY_FIRST:
        return missing or None
    sentences = [_correcting(result)]
    waiting = [claim.number for claim in _claims_to_judge(result)]
    if waiting:
        sentences.append(f"Not judged yet: claim {_listed(waiting)}.")
    if result.uncorrected:
        sentences.append(
            f"Claim {_listed(result.uncorrected)} still needs a correction: send it in verdicts, or corrected_steps."
        )
    return " ".join(sentence for sentence in (*sentences, missing) if sentence)


def _correcting(result: LoopResult) -> str:
    """Return how the work is corrected: by the corrected steps, where these have no issue, else by the caller."""
    is_corrected = result.best.verified.steps != result.first.verified.steps
    if is_corrected and not result.best.issues:
        return "Take corrected_steps; nothing in them is certainly wrong."
    return "Correct this and what follows from it, and critique the new work."


def _listed(numbers: Sequence[int]) -> str:
    """Return the first numbers, and how many more there are: "1, 2, 3, 4, 5 and 3 more"."""
    listed = ", ".join(map(str, numbers[:_MOST_NUMBERS]))
    if len(numbers) <= _MOST_NUMBERS:
        return listed
    return f"{listed} and {len(numbers) - _MOST_NUMBERS} more"


def _claims_to_judge(result: LoopResult) -> tuple[Claim, ...]:
    """Return the claims that the caller is asked to judge.

    There are none for a work with issues that was judged as a whole, without verdicts on its claims, or whose corrected
    version was judged: the work is to be changed first.
    """
    first, best = result.first, result.best
    has_judged_as_a_whole = first.opinion is not None and not first.opinion.verdicts
    is_judged_again = best is not first and best.opinion is not None
    if first.issues and (has_judged_as_a_whole or is_judged_again):
        return ()
    return first.unjudged


def _next(result: LoopResult, criteria: Sequence[str]) -> dict[str, str]:
    """Return what the caller is asked for: verdicts on claims, and scores of its criteria; empty for nothing."""
    first = result.first
    wants_scores = bool(criteria) and first.opinion is None and not first.issues
    claims: tuple[Claim, ...] = ()
    if not _nothing_bears(first):
        claims = _claims_to_judge(result)
    if not claims and not wants_scores:
        return {}
    asked = {"send": _SEND_WITH_SCORES if wants_scores else _SEND}
    if any(claim.computes for claim in claims):
        asked["computes"] = _SUMS
    return asked


def short_claims(critique: Critique) -> list[str]:
    """Return the claims without a verdict, as many as fit; "<- 2" names the output that bears on it."""
    if not critique.next:
        return []
    unjudged = [claim for claim in critique.claims if claim.verdict is None]
    texts: list[str] = []
    room = _MOST_CHARS
    for claim in unjudged:
        text = _short_claim(claim)
        if texts and len(text) > room:
            texts.append(f"(more claims follow after these: {len(unjudged) - len(texts)})")
            break
        texts.append(text)
        room -= len(text)
    return texts


def _short_claim(claim: Claim) -> str:
    """Return a claim in a line: `3. "All tests pass." <- 1, 2`, where the outputs 1 and 2 bear on it."""
    text = f"{claim.number}. {quoted_claim(claim.text, _CLAIM_CHARS)}"
    if claim.outputs:
        return f"{text} <- {', '.join(map(str, claim.outputs))}"
    if claim.computes:
        return f"{text} (computes)"
    return text


def short_outputs(critique: Critique) -> list[str]:
    """Return the outputs that bear on the work, a line each, those that plainly show a claim first.

    Behind these stands which claims they do not show, and how many others are left out.
    """
    if not critique.outputs:
        return []
    plain = [shown for shown in critique.outputs if shown.is_plain]
    others = critique.outputs[len(plain) :]
    lines = [f"{number}. {shown.text}" for number, shown in enumerate(plain, start=1)]
    claims_without_output = _unshown(critique)
    if claims_without_output:
        lines.append(f"(no output plainly shows claim {_ranges(claims_without_output)})")
    if others:
        lines.append(_OTHERS)
    for number, shown in enumerate(others, start=len(plain) + 1):
        lines.append(f"{number}. {shown.text}")
    count = critique.other_outputs
    if count == 1:
        lines.append("(1 other output is left out)")
    elif count:
        lines.append(f"({count} other outputs are left out)")
    return lines


def _unshown(critique: Critique) -> list[int]:
    """Return the numbers of the claims that are to be judged without an output."""
    if not critique.next:
        return []
    return [
        claim.number
        for claim in critique.claims
        if claim.verdict is None and not claim.outputs and not claim.computes
    ]


def _ranges(numbers: Sequence[int]) -> str:
    """Return ascending numbers with each run of three or more as its ends: [2, 5, 6, 7] -> "2, 5 to 7"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts: list[str] = []
    for run in runs:
        if len(run) > 2:
            parts.append(f"{run[0]} to {run[-1]}")
        else:
            parts += map(str, run)
    return ", ".join(parts)
