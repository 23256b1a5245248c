"""Claims of the work against what its tools printed."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Final

from mcp_reflect.checkers.base import Finding, Work
from mcp_reflect.checkers.evidence.acts import judge_acts, judge_commands, judge_good
from mcp_reflect.checkers.evidence.claims import polarity
from mcp_reflect.checkers.evidence.columns import (
    RANKS,
    judge_comparisons,
    judge_extremes,
    judge_limits,
    judge_totals,
)
from mcp_reflect.checkers.evidence.judgements import ClauseRule, Evidence, Judgement, SentenceRule, latest
from mcp_reflect.checkers.evidence.lookup import facts
from mcp_reflect.checkers.evidence.named import judge_dates, judge_lines, judge_named, judge_versions
from mcp_reflect.checkers.evidence.numbers import equal, judge_numbers
from mcp_reflect.checkers.evidence.results import read_results
from mcp_reflect.checkers.evidence.rows import Figure, figures, spelled, stems
from mcp_reflect.checkers.evidence.runners import PASSES
from mcp_reflect.checkers.evidence.runs import judge_counts, judge_names, judge_outcomes
from mcp_reflect.checkers.evidence.states import judge_signs, judge_states
from mcp_reflect.checkers.sentences import Sentence, sentences
from mcp_reflect.models.critique import Status, ToolResult

_LONGEST_CLAIM = 300

# Where the steps tell of a repair, an error in the past tense may be of a run whose output is not given.
_REPAIR: Final = re.compile(r"\b(?:fix(?:ed|es)?|now|again|changed|corrected|re-?ran|repaired)\b", re.IGNORECASE)
_PAST: Final = re.compile(
    r"\b(?:was|were|failed|raised|crashed|threw|had|stopped|broke|reported|showed|returned|found|gave|did|ended)\b",
    re.IGNORECASE,
)
_SUMS: Final = frozenset({"total", "together", "altogether", "combined"})
_DENIED: Final = re.compile(
    r"\b(?:not|no|never|without|false|in(?:valid|active|correct|complete))\b|n't\b|\bun\w+ed\b", re.IGNORECASE
)
_DENYING: Final = frozenset({"not"}) | stems(
    "non false invalid inactive incorrect incomplete without unresolved unused unchecked"
)


def agrees(success: bool, tool_results: Sequence[ToolResult]) -> bool | None:
    """True or False where the results show how it went, None where they do not say.

    The last report of each runner counts; without any report, the last result that says how it ended.
    """
    evidence = Evidence(read_results(tool_results))
    reported = [run.state == PASSES for run in latest(evidence.runs) if run.state]
    if reported:
        return all(reported) == success
    ended = [result.ended_well for result in evidence.results if result.ended_well is not None]
    return ended[-1] == success if ended else None


SENTENCE_RULES: Final[tuple[SentenceRule, ...]] = (judge_outcomes, judge_counts, judge_names, judge_numbers)
ROW_RULES: Final[tuple[ClauseRule, ...]] = (
    *(judge_states, judge_signs, judge_extremes, judge_comparisons, judge_totals, judge_limits),
)
CLAUSE_RULES: Final[tuple[ClauseRule, ...]] = (
    *(judge_commands, judge_named, judge_versions, judge_dates, judge_lines, judge_good, judge_acts),
    *ROW_RULES,
)
_WITHOUT_RESULTS: Final = frozenset((judge_outcomes, judge_counts, judge_acts))
"""The rules that say something of work without any result: what it claims to have run or done is unsupported."""


class EvidenceChecker:
    """Claims that a tool result contradicts fail, claims that one shows pass, acts without a trace are unsupported."""

    name = "evidence"

    def __init__(
        self,
        sentence_rules: Sequence[SentenceRule] = SENTENCE_RULES,
        clause_rules: Sequence[ClauseRule] = CLAUSE_RULES,
    ) -> None:
        self._sentence_rules = sentence_rules
        self._clause_rules = clause_rules

    def check(self, work: Work) -> Iterator[Finding]:
        """At most one finding a sentence: it passes only if each of its claims does."""
        evidence = Evidence(read_results(work.tool_results), work.goal)
        repaired = bool(evidence.results) and any(_REPAIR.search(step) for step in work.steps)
        for number, step in enumerate(work.steps, start=1):
            for sentence in sentences(step):
                found = self._judgement(sentence, evidence)
                if found is None:
                    continue
                past = repaired and found.status is Status.FAIL and _tells_of_the_past(sentence)
                yield Finding(
                    step=number,
                    status=Status.UNCHECKED if past else found.status,
                    claim=found.claim[:_LONGEST_CLAIM],
                    expected=found.expected,
                    detail=found.detail,
                )

    def _judgement(self, sentence: Sentence, evidence: Evidence) -> Judgement | None:
        """Return the gravest judgement; a pass only if everything in the sentence is explained."""
        stated = [clause.text for clause in sentence.clauses if not clause.hedged]
        judgements: list[Judgement] = []
        by_rows = 0
        for rule in self._sentence_rules:
            if evidence.results or rule in _WITHOUT_RESULTS:
                judgements += rule(sentence, evidence)
        for rule in self._clause_rules:
            if evidence.results or rule in _WITHOUT_RESULTS:
                found = [judgement for text in stated for judgement in rule(text, sentence, evidence)]
                judgements += found
                by_rows += sum(judgement.status is Status.PASS for judgement in found if rule in ROW_RULES)
        order = (Status.FAIL, Status.UNSUPPORTED, Status.PASS, Status.UNCHECKED)
        first = min(judgements, key=lambda judgement: order.index(judgement.status), default=None)
        if first is None or first.status is not Status.PASS:
            return first
        return replace(first, claim=sentence.text) if _explained(sentence, evidence, by_rows) else None


def _explained(sentence: Sentence, evidence: Evidence, by_rows: int) -> bool:
    """True if every number and every word of meaning in the sentence stands in the results or says nothing alone.

    Words that rank or add up rows are explained by as many claims over rows that hold.
    """
    shown = evidence.once(_shown_text)
    ranks = RANKS.findall(sentence.text.lower())
    unknown = evidence.unknown_words(sentence.text)
    if len(ranks) <= by_rows:
        unknown -= set(" ".join(ranks).split())
    numbers = [*figures(re.sub(r"\bv(?=\d)", "", sentence.text)), *spelled(sentence.text)]
    # A sum that holds need not stand in the results.
    summed = by_rows and len(sentence.clauses) == len(numbers) == 1 and ranks and set(ranks) <= _SUMS
    if unknown or not all(_same_sign(clause.text, evidence) for clause in sentence.clauses):
        return False
    return bool(summed) or all(_shown(number, evidence, shown) or _share(number, numbers) for number in numbers)


def _share(number: Figure, numbers: Sequence[Figure]) -> bool:
    """True if a percentage follows from two numbers beside it."""
    values = [each.value for each in numbers if each.value and not each.kind]
    shares = [replace(number, value=100 * a / b) for a, b in permutations(values[:10], 2)]
    return number.kind == "%" and any(equal(number, share) for share in shares)


def _same_sign(clause: str, evidence: Evidence) -> bool:
    """False if a clause says "not" of a number whose label does not, as in "10 are not ok" where ok is 10."""
    denied = bool(_DENIED.search(clause))
    for number in figures(clause):
        labels = [fact.cell.label for fact in evidence.once(facts) if equal(number, fact.figure) and fact.cell.label]
        if labels and all(bool(label & _DENYING) != denied for label in labels):
            return False
    return True


def _shown(number: Figure, evidence: Evidence, text: str) -> bool:
    """True if the results have a number as a figure that it may be rounded from, or as it is written."""
    written = re.escape(f"{number.value / number.factor:.{number.places}f}")
    figures = evidence.once(facts)
    return any(equal(number, fact.figure) for fact in figures) or bool(
        re.search(rf"(?<![\d.]){written}(?!\d|\.\d)", text)
    )


def _shown_text(evidence: Evidence) -> str:
    """Return a text with all numbers of the results, exit codes and sums over runs among them."""
    fields = ("passed", "failed", "skipped", "total")
    sums = [sum(values[0] for run in evidence.runs if (values := run.values(field))) for field in fields]
    numbers = [*(str(result.exit_code) for result in evidence.results), *(str(count) for count in sums if count)]
    return " ".join([evidence.text.replace(",", ""), *numbers])


def _tells_of_the_past(sentence: Sentence) -> bool:
    """A past failure, not a success, and not one that is placed in the first run."""
    signs = [polarity(clause.text) for clause in sentence.clauses]
    return True not in signs and not sentence.earlier and bool(_PAST.search(sentence.stated))
