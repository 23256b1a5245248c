"""Judges counts against what the runners counted."""

import re
from collections.abc import Iterator
from dataclasses import replace

from mcp_reflect.critique.checks.evidence.judgement import Evidence, Judgement, unsupported, verdict
from mcp_reflect.critique.checks.evidence.numbers import WORDS, Count, counts
from mcp_reflect.critique.checks.evidence.outcomes import described
from mcp_reflect.critique.checks.evidence.report import Kind, Report
from mcp_reflect.critique.checks.evidence.sentences import Sentence
from mcp_reflect.critique.checks.evidence.subjects import Subject, subjects
from mcp_reflect.critique.checks.evidence.words import words

_TEST_WORDS = frozenset({"passed", "failed", "skipped", "xfailed", "deselected", "total", "percent"})
_ALL_BUT = re.compile(
    r"\ball (?:(?:the )?tests )?(?:but|except)(?: for)? (\w+)\b|\bpass(?:es)? except (\w+)\b", re.IGNORECASE
)
_DIAGNOSED = re.compile(
    r"\b(type|typing|compile|compiler|compilation|lint|linter|linting)[- ](?:errors?|warnings?|issues?|problems?)",
    re.IGNORECASE,
)
_KIND = {
    **dict.fromkeys(("type", "typing"), Kind.TYPES),
    **dict.fromkeys(("compile", "compiler", "compilation"), Kind.BUILD),
    **dict.fromkeys(("lint", "linter", "linting"), Kind.LINT),
}
_SUITES = re.compile(r"\b(?:test )?(?:suites|files)$", re.IGNORECASE)
_PLAIN = words(
    "there are is was were be been no none zero one two three four five six seven eight nine ten eleven twelve "
    "of and or in "
    "with only still now left the a an all it they run runs ran stopped ended ends reported reports report shows "
    "found finds "
    "during collection s ms seconds second just remains remain more failed fail fails failing failure failures "
    "passed pass passes "
    "passing skipped skip "
    "ignored pending "
    "xfailed xfail expected error errors warning warnings problem problems issue issues finding findings violation "
    "violations total remaining fixable other suite first i have had has any tests test deselected summary "
    "result results "
    "output log says say at initially attempt after fix"
)
_DENIED = re.compile(r"\b(?:not true|wrong|incorrect|false that|instead of|rather than|no longer)\b", re.IGNORECASE)


def judge_counts(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """One judgement per count that the evidence knows, one for the sentence where all of them hold."""
    if _DENIED.search(sentence.plain):
        return
    subject: list[Subject] = []
    noun: str | None = None
    for clause in sentence.clauses:
        subject = [found for found in subjects(clause.text) if _useful(found, evidence)] or subject
        found = [*counts(clause.text), *_all_but(clause.text)]
        if not found:
            noun = "suites" if _SUITES.search(clause.text) else None
        for count in () if clause.hedged else found:
            yield from _judged(sentence, clause.text, replace(count, noun=count.noun or noun), subject, evidence)


def _useful(subject: Subject, evidence: Evidence) -> bool:
    return bool(subject.reports(evidence)) or subject.scoped


def _all_but(clause: str) -> list[Count]:
    found = _ALL_BUT.search(clause)
    if found is None:
        return []
    word = (found[1] or found[2]).lower()
    value = WORDS.get(word, int(word) if word.isdecimal() and len(word) < 7 else None)
    return [] if value is None else [Count("failed", value, noun="tests")]


def _judged(
    sentence: Sentence, clause: str, count: Count, subject: list[Subject], evidence: Evidence
) -> Iterator[Judgement]:
    if any(found.scoped for found in subject):
        yield unsupported(sentence, "the evidence does not say which part of the tests this is")
        return
    reports = _relevant(clause, count, subject, evidence)
    if not reports:
        if count.noun == "tests" and not any(report.kind is Kind.TESTS for report in evidence.reports()):
            yield unsupported(sentence, "no tool result counts the tests; run them and give the output")
        return
    current = evidence.latest(reports)
    chosen = [reports[0]] if sentence.earlier and len(reports) > 1 else current
    known = [values for report in chosen if (values := _values(report, count))]
    broken = any(report.ok is False for report in chosen)
    if not known:
        if count.value == 0 and broken and count.category in {"failed", "errors", "problems"}:
            yield verdict(sentence, holds=False, expected=described(chosen), detail="the output shows failures")
    elif count.category == "errors" and count.value == 0 and not re.search(r"\bfail", sentence.plain):
        # "With no errors" alone says that all is well, not that failures are no errors.
        yield verdict(sentence, holds=not broken, expected=described(chosen), detail="the output shows failures")
    elif _holds(count, chosen, known) or _held_before(count, reports, chosen, sentence):
        yield verdict(sentence, holds=True)
    elif len({report.kind for report in chosen}) == 1 and not _quite_zero(count, chosen):
        yield verdict(sentence, holds=False, expected=described(chosen), detail="the output has another number")


def _relevant(clause: str, count: Count, subject: list[Subject], evidence: Evidence) -> list[Report]:
    reports = [report for found in subject for report in found.reports(evidence)]
    if not reports and (count.noun is not None or not _foreign(clause)):
        reports = evidence.reports()
    if kind := _DIAGNOSED.search(clause):
        wanted = _KIND[kind[1].lower()]
        reports = [report for report in evidence.reports() if report.kind is wanted] or [
            report for report in reports if wanted is Kind.BUILD and report.runner == "tsc"
        ]
    if count.category in _TEST_WORDS or count.noun is not None:
        reports = [report for report in reports if report.kind is Kind.TESTS]
    elif not subject:
        reports = [report for report in reports if report.values(count.category)]
    return reports


def _foreign(clause: str) -> bool:
    """Whether a count without a subject may be of something else: "the page loads with no errors"."""
    return any(word not in _PLAIN for word in re.findall(r"[a-z]+", clause.lower()))


def _values(report: Report, count: Count) -> frozenset[int]:
    if count.noun == "suites":
        field = {"passed": report.passed_suites, "failed": report.failed_suites}.get(count.category)
        return frozenset() if field is None else frozenset({field})
    if count.category == "percent":
        return _percentages(report)
    if count.every and count.category == "passed":
        return report.values("all")
    return report.values(count.category)


def _percentages(report: Report) -> frozenset[int]:
    if report.passed is None or not report.total:
        return frozenset()
    share = 100 * report.passed / report.total
    return frozenset({int(share), round(share)})


def _holds(count: Count, chosen: list[Report], known: list[frozenset[int]]) -> bool:
    if count.every and count.category == "passed" and any(report.ok is False for report in chosen):
        return False
    if count.value == 0 and count.category in {"failed", "errors"} and any(report.ok is False for report in chosen):
        return any(0 in values for values in known) and not any(_only_failures(report) for report in chosen)
    if count.total is not None and count.noun != "suites":
        totals = [report.values("total") for report in chosen if report.values("total")]
        if totals and not any(count.total in values for values in totals):
            return False
    if any(count.value in values for values in known):
        return True
    return len(known) > 1 and count.value == sum(max(values) for values in known)


def _only_failures(report: Report) -> bool:
    return report.broken() != 0 and report.failed is None


def _held_before(count: Count, reports: list[Report], chosen: list[Report], sentence: Sentence) -> bool:
    """Whether an earlier run may be meant: one with failures, or one part of a suite whose runs all went well."""
    if sentence.earlier or count.value == 0:
        return False
    earlier = [values for report in reports if (values := _values(report, count))]
    if count.category in {"passed", "percent", "total"} and not all(report.ok for report in reports):
        return not count.every and all(report.ok for report in chosen) and any(count.value in v for v in earlier)
    together = len(earlier) > 1 and count.value == sum(max(values) for values in earlier)
    return together or any(count.value in values for values in earlier)


def _quite_zero(count: Count, chosen: list[Report]) -> bool:
    """No failed tests while a suite did not even load: true to the letter, so no verdict."""
    return count.value == 0 and all(report.failed == 0 for report in chosen) and count.category == "failed"
