"""Asks every rule about every sentence, given the evidence."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from mcp_reflect.checkers.base import Finding, Work
from mcp_reflect.checkers.evidence.actions import (
    judge_actions,
    judge_commits,
    judge_coverage,
    judge_rating,
    judge_sizes,
    judge_versions,
    judge_worktree,
)
from mcp_reflect.checkers.evidence.facts import (
    judge_addresses,
    judge_codes,
    judge_exceptions,
    judge_exits,
    judge_fields,
    judge_files,
    judge_places,
    judge_quotations,
    judge_statuses,
)
from mcp_reflect.checkers.evidence.outcomes import judge_commands, judge_counts, judge_names, judge_outcomes, polarity
from mcp_reflect.checkers.evidence.reading import seen
from mcp_reflect.checkers.evidence.sentences import Evidence, Judgement, Rule
from mcp_reflect.checkers.sentences import Sentence, sentences
from mcp_reflect.models.critique import Status, ToolResult

# Whether tool results agree with a claimed outcome.


def agrees(success: bool, tool_results: Sequence[ToolResult]) -> bool | None:
    """True or False where the results show how it went, None where they say nothing.

    The last report of each runner counts; without any report, the last result that says how it ended.
    """
    evidence = Evidence(seen(tool_results))
    reported = [report.ok for report in evidence.latest(evidence.reports()) if report.ok is not None]
    if reported:
        return all(reported) == success
    ended = [result.ended_well for result in evidence.seen if result.ended_well is not None]
    return ended[-1] == success if ended else None


# Reads each step sentence by sentence and asks every rule what the evidence says of it.


_WITHOUT_EVIDENCE: tuple[Rule, ...] = (judge_outcomes, judge_counts, judge_actions)
_RULES: tuple[Rule, ...] = (
    judge_outcomes,
    judge_counts,
    judge_names,
    judge_exceptions,
    judge_places,
    judge_exits,
    judge_codes,
    judge_statuses,
    judge_quotations,
    judge_addresses,
    judge_files,
    judge_fields,
    judge_coverage,
    judge_rating,
    judge_versions,
    judge_sizes,
    judge_commits,
    judge_worktree,
    judge_actions,
    judge_commands,
)
_LONGEST_CLAIM = 300

# Without evidence a step that has none of these holds no claim of ours, and is not read at all.
_WORTH_READING = (
    "test spec suite lint type build compil crate check package ci green make jest mocha ruff flake8 prettier black "
    "clippy biome mypy tsc pyright javac junit go cargo push merg commit install sent mail notif deploy releas "
    "publish upload restart remov delet updat wrote creat edit saved chang modif ran executed"
).split()

# Where the steps tell of a repair, an error in the past tense may be of a run whose output is not given.
_REPAIR = re.compile(
    r"\b(?:fix|fixed|fixes|now|changed|corrected|resolved|re-?ran|again|after that|repaired)\b", re.IGNORECASE
)
_PAST = re.compile(
    r"\b(?:was|were|failed|raised|crashed|threw|had|stopped|broke|reported|showed|returned|found|gave|did|"
    r"complained|ended)\b",
    re.IGNORECASE,
)


class EvidenceChecker:
    """Contradicted by a tool result is fail, shown by one is pass, merely unsupported is unchecked."""

    name = "evidence"

    def check(self, work: Work) -> Iterator[Finding]:
        """At most one finding a sentence: a contradiction outweighs support, support a lack of it."""
        evidence = Evidence(seen(work.tool_results))
        rules = _RULES if evidence.seen else _WITHOUT_EVIDENCE
        repaired = bool(evidence.seen) and any(_REPAIR.search(step) for step in work.steps)
        for number, step in enumerate(work.steps, start=1):
            if not evidence.seen and not _worth_reading(step):
                continue
            for sentence in sentences(step):
                found = _strongest(sentence, evidence, rules)
                if found is not None:
                    if repaired and found.status is Status.FAIL and _tells_of_the_past(sentence):
                        found = replace(found, status=Status.UNCHECKED)
                    yield _finding(number, found)


def _worth_reading(step: str) -> bool:
    lower = step.lower()
    return any(word in lower for word in _WORTH_READING)


def _strongest(sentence: Sentence, evidence: Evidence, rules: tuple[Rule, ...]) -> Judgement | None:
    found = [judgement for rule in rules for judgement in rule(sentence, evidence)]
    for status in (Status.FAIL, Status.PASS, Status.UNSUPPORTED, Status.UNCHECKED):
        for judgement in found:
            if judgement.status is status:
                return judgement
    return None


def _tells_of_the_past(sentence: Sentence) -> bool:
    """A past failure, not a success, and not one that is placed in the first run."""
    signs = [polarity(clause.text) for clause in sentence.clauses]
    return True not in signs and not sentence.earlier and bool(_PAST.search(sentence.stated))


def _finding(step: int, judgement: Judgement) -> Finding:
    return Finding(
        step=step,
        status=judgement.status,
        claim=judgement.claim[:_LONGEST_CLAIM],
        expected=judgement.expected,
        detail=judgement.detail,
    )


# Claims in the answer against what the tools printed.


__all__ = ["EvidenceChecker", "agrees"]
