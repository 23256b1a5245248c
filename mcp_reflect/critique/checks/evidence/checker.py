"""Reads each step sentence by sentence and asks every rule what the evidence says of it."""

import re
from collections.abc import Iterator
from dataclasses import replace

from mcp_reflect.critique.checks.checker import Finding, Work
from mcp_reflect.critique.checks.evidence.actions import judge_actions
from mcp_reflect.critique.checks.evidence.commands import judge_commands
from mcp_reflect.critique.checks.evidence.counted import judge_counts
from mcp_reflect.critique.checks.evidence.faults import (
    judge_codes,
    judge_exceptions,
    judge_exits,
    judge_places,
    judge_statuses,
)
from mcp_reflect.critique.checks.evidence.fields import judge_fields
from mcp_reflect.critique.checks.evidence.judgement import Evidence, Judgement, Rule
from mcp_reflect.critique.checks.evidence.measured import (
    judge_commits,
    judge_coverage,
    judge_rating,
    judge_sizes,
    judge_versions,
    judge_worktree,
)
from mcp_reflect.critique.checks.evidence.named import judge_names
from mcp_reflect.critique.checks.evidence.outcomes import judge_outcomes, polarity
from mcp_reflect.critique.checks.evidence.reading import seen
from mcp_reflect.critique.checks.evidence.sentences import Sentence, sentences
from mcp_reflect.critique.checks.evidence.shown import judge_addresses, judge_files, judge_quotations
from mcp_reflect.models.critique import Status

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
    for status in (Status.FAIL, Status.PASS, Status.UNCHECKED):
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
