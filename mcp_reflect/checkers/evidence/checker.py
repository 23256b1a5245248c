"""Claims of the work against what its tools printed."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Final

from mcp_reflect.checkers.base import Finding, Work
from mcp_reflect.checkers.evidence.acts import judge_acts, judge_commands, judge_good
from mcp_reflect.checkers.evidence.claims import Evidence, Judgement, Rule, latest, polarity
from mcp_reflect.checkers.evidence.facts import STOP, Figure, figures, spelled, stems
from mcp_reflect.checkers.evidence.named import judge_dates, judge_named, judge_places, judge_versions
from mcp_reflect.checkers.evidence.numbers import equal, facts, judge_changes, judge_numbers
from mcp_reflect.checkers.evidence.outcomes import judge_counts, judge_names, judge_outcomes
from mcp_reflect.checkers.evidence.reading import seen
from mcp_reflect.checkers.evidence.rows import RANKS, judge_rows
from mcp_reflect.checkers.sentences import Sentence, sentences
from mcp_reflect.models.critique import Status, ToolResult

_LONGEST_CLAIM = 300

# Where the steps tell of a repair, an error in the past tense may be of a run whose output is not given.
_REPAIR: Final = re.compile(r"\b(?:fix(?:ed|es)?|now|again|changed|corrected|re-?ran|repaired)\b", re.IGNORECASE)
_PAST: Final = re.compile(
    r"\b(?:was|were|failed|raised|crashed|threw|had|stopped|broke|reported|showed|returned|found|gave|did|ended)\b",
    re.IGNORECASE,
)
# Words of a report that state nothing of their own.
_PLAIN: Final = stems(
    "test tests suite suites pass passes passed passing fail fails failed failing green red clean fine ok run ran "
    "runs whole full complete every everything total result results output shows show report reports says said see "
    "seen count counts there are is was found find finds has have took takes take end ends ended finish finished done "
    "successfully without error errors warning warnings problem problems new old first second last one other same "
    "still yet again here command tool check checks checked linter lint build builds built compile compiles compiled "
    "code exit status returned returns gives gave got after before unit skipped remain remaining left single exactly "
    "coverage collect collected item items log script program package packages raise raises raised throw throws crash "
    "crashes panic panics stop stops stopped cause import complain complains type field response endpoint doc "
    "language test_ commit committed including included according expected failure failures altogether together "
    "overall respectively currently during which because more them window period went go goes change changed rise rose "
    "fall fell drop dropped grow grew reach reached stand stands line lines file files row rows entry entries record "
    "records value number amount month day name named state true false"
)

_SUMS: Final = frozenset({"total", "together", "altogether", "combined"})
# Words that a goal may have and a result must show.
_JUDGING: Final = stems(
    "not no never without failed broken valid correct right wrong safe complete done fixed faster slower more less "
    "most least best worst largest smallest highest lowest first last"
)
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
    evidence = Evidence(seen(tool_results))
    reported = [report.ok for report in latest(evidence.reports) if report.ok is not None]
    if reported:
        return all(reported) == success
    ended = [result.ended_well for result in evidence.seen if result.ended_well is not None]
    return ended[-1] == success if ended else None


_WITHOUT_EVIDENCE: Final[tuple[Rule, ...]] = (judge_outcomes, judge_counts, judge_acts)
_RULES: Final[tuple[Rule, ...]] = (
    *(judge_outcomes, judge_counts, judge_names, judge_commands, judge_named, judge_places),
    *(judge_numbers, judge_changes, judge_versions, judge_dates, judge_good, judge_acts, judge_rows),
)


class EvidenceChecker:
    """Claims that a tool result contradicts fail, claims that one shows pass, acts without a trace are unsupported."""

    name = "evidence"

    def check(self, work: Work) -> Iterator[Finding]:
        """At most one finding a sentence: it passes only if each of its claims does."""
        evidence = Evidence(seen(work.tool_results), work.goal)
        repaired = bool(evidence.seen) and any(_REPAIR.search(step) for step in work.steps)
        for number, step in enumerate(work.steps, start=1):
            for sentence in sentences(step):
                found = _judgement(sentence, evidence, _RULES if evidence.seen else _WITHOUT_EVIDENCE)
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


def _judgement(sentence: Sentence, evidence: Evidence, rules: tuple[Rule, ...]) -> Judgement | None:
    judgements = [judgement for rule in rules for judgement in rule(sentence, evidence)]
    order = (Status.FAIL, Status.UNSUPPORTED, Status.PASS, Status.UNCHECKED)
    first = min(judgements, key=lambda judgement: order.index(judgement.status), default=None)
    if first is None or first.status is not Status.PASS:
        return first
    by_rows = sum(judgement.status is Status.PASS for judgement in judge_rows(sentence, evidence))
    return replace(first, claim=sentence.text) if _explained(sentence, evidence, by_rows) else None


def _explained(sentence: Sentence, evidence: Evidence, by_rows: int) -> bool:
    """True if every number and every word of meaning in the sentence stands in the results or says nothing alone.

    Words that rank or add up rows are explained by as many claims over rows that hold.
    """
    known, shown = evidence.once(_known)
    ranks = RANKS.findall(sentence.text.lower())
    known |= stems(" ".join(ranks)) if len(ranks) <= by_rows else frozenset()
    words = {word.strip(".,:;").lower() for word in re.findall(r"[^\W\d_][\w./@-]*", sentence.text)}
    unknown = {
        word for word in words - STOP if not stems(word) <= known and (word.isalpha() or word not in evidence.text)
    }
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


def _known(evidence: Evidence) -> tuple[frozenset[str], str]:
    """Return the stems of all words that the results show or that say nothing alone, and a text with all numbers."""
    names = [*(result.tool for result in evidence.seen), *(report.runner for report in evidence.reports)]
    fields = ("passed", "failed", "skipped", "total")
    sums = [sum(report.counts.get(field, 0) for report in evidence.reports) for field in fields]
    numbers = [*(str(result.exit_code) for result in evidence.seen), *(str(count) for count in sums if count)]
    text = " ".join([evidence.text.replace(",", ""), *numbers])
    return stems(evidence.text) | stems(" ".join(names)) | stems(evidence.goal) - _JUDGING | _PLAIN, text


def _tells_of_the_past(sentence: Sentence) -> bool:
    """A past failure, not a success, and not one that is placed in the first run."""
    signs = [polarity(clause.text) for clause in sentence.clauses]
    return True not in signs and not sentence.earlier and bool(_PAST.search(sentence.stated))
