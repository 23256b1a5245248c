"""Claims about a test by its name: passes, fails, was skipped."""

import re
from collections.abc import Iterator

from mcp_reflect.critique.checks.evidence.judgement import Evidence, Judgement, unsupported, verdict
from mcp_reflect.critique.checks.evidence.outcomes import polarity
from mcp_reflect.critique.checks.evidence.report import Kind, Report
from mcp_reflect.critique.checks.evidence.sentences import Sentence, quotations

# Code in ticks, test_names, tests::in_modules, TestNames and shop/tax.
_NAME = re.compile(
    r"`([^`\n]{2,200})`|\b(test_\w{1,120}(?:\[[^\]\s]{1,60}\])?(?:\.py)?)|\b(\w{1,80}(?:::\w{1,80}){1,6})|"
    r"\b(Test[A-Z]\w{0,80}(?:/\w{1,80})?)\b|\bpackage (\w[\w/.-]{0,120}\w)"
)
_SKIPPED = re.compile(r"\b(?:skipped|ignored|pending)\b", re.IGNORECASE)


def judge_names(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Each test that the sentence names and the evidence knows."""
    clauses = [clause for clause in sentence.clauses if not clause.hedged]
    signs = [sign for clause in clauses if (sign := _sign(clause.text)) is not None]
    if len(set(signs)) != 1:
        return
    reports = [report for report in evidence.reports() if report.kind is Kind.TESTS]
    for name in dict.fromkeys(_names(sentence)):
        yield from _judged(sentence, name, signs[0], evidence.latest(reports))


def _sign(clause: str) -> str | None:
    if _SKIPPED.search(clause):
        return "skipped"
    good = polarity(clause)
    return None if good is None else "passes" if good else "fails"


def _names(sentence: Sentence) -> list[str]:
    upto = len(sentence.stated)
    found = [next(filter(None, match.groups())).lower() for match in _NAME.finditer(sentence.text[:upto])]
    quoted = [text.lower() for start, text in quotations(sentence.text) if start < upto]
    return found + quoted


def _judged(sentence: Sentence, name: str, sign: str, reports: list[Report]) -> Iterator[Judgement]:
    said = {word for report in reports if (word := _said(report, name)) is not None}
    if len(said) == 1:
        shown = said.pop()
        yield verdict(sentence, holds=shown == sign, expected=f"{name} {shown}", detail="the output says otherwise")
    elif sign == "fails" and name.startswith(("test_", "test")) and reports and all(map(_lists_failures, reports)):
        shown = "passes or did not run"
        yield verdict(sentence, holds=False, expected=f"{name} {shown}", detail="it is not among the failures listed")
    elif not said and name.startswith("test_") and reports:
        yield unsupported(sentence, f"the output does not show {name}")


def _said(report: Report, name: str) -> str | None:
    if name in report.failing:
        return "fails"
    if name in report.skipping and name not in report.passing:
        return "skipped"
    return "passes" if name in report.passing else None


def _lists_failures(report: Report) -> bool:
    """Whether every failure is named, so that a name that is missing did not fail."""
    broken = report.broken()
    if broken is None or (not report.ok and not report.failing):
        return False
    if report.runner == "pytest":
        return broken == sum("::" in name for name in report.failing)
    return broken == 0 or broken <= len(report.failing)
