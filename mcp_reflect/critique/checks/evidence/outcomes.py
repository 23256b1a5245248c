"""Claims that something passes, fails, is clean or builds, without a number."""

import re
from collections.abc import Iterable, Iterator

from mcp_reflect.critique.checks.evidence.judgement import Evidence, Judgement, unsupported, verdict
from mcp_reflect.critique.checks.evidence.report import Kind, Report
from mcp_reflect.critique.checks.evidence.sentences import Clause, Sentence
from mcp_reflect.critique.checks.evidence.subjects import Subject, subjects

# "Passes a list to total()" is no outcome, "passes the linter" is.
_NO_OBJECT = (
    r"(?! (?:an?|its|their|this|that|these|those|it|them|to|through|into|along|by|over|around|one|`\S+`|in an?)\b)"
    r"(?! the (?!tests?\b|lint|type|check|build|suite|unit|whole|full|entire|ci\b))(?! [`\"'(\[{])"
)
_BE = r"\b(?:is|are|was|were|looks?|stays?|remains?|comes? back|:|'s|'re|all|now|report(?:s|ed)?) (?:\w+ ){0,2}?"
_GOOD = re.compile(
    rf"\bcontinues? to pass\b|(?<!to )\b(?:pass|passes|passed)\b{_NO_OBJECT}|\b(?:succeeds?|succeeded)\b|"
    rf"{_BE}(?:green|clean|ok|happy|"
    rf"fine|successful|passing)\b|"
    r"\btype-checks\b|\bcompiles\b(?! (?:the|a|an|to|into)\b)|\b(?:ran|runs?|built|compile[sd]?|finish(?:es|ed)|"
    r"complete[sd]|builds) "
    r"(?:successfully|cleanly|fine)\b|, (?:all )?ok\b|\bcompile(?! (?:the|an?|it|to|into|our|all)\b)(?!\w)",
    re.IGNORECASE,
)
_BAD = re.compile(
    rf"\b(?:fail|fails|complains?|crash(?:es|ed)?|stops (?:with|at an?))\b|\bfailed\b(?! (?:tests?|runs?|"
    rf"attempts?|assertion))|"
    rf"{_BE}(?:still )?(?:failing|red|broken|unsuccessful)\b|"
    r"\b(?:has|have|had|contains?|finds?|found|with|reports?) (?:still )?(?:a |an |some |several )?(?:\w+ )?"
    r"(?:failures?|errors?|issues?)\b",
    re.IGNORECASE,
)
_FREE_OF = re.compile(
    r"\b(?:no|without|zero|0|free of|any)(?: any| more| \w+)? (?:tests? )?(?:errors?|failures?|failing|failed|"
    r"fails?|issues?|"
    r"problems?|warnings?|findings?|exceptions?|conflicts?)\b|\bnone of\b.{0,30}\bfail|\bnothing fails\b|\bnot "
    r"(?:a single|one) \w+ fail|"
    r"\bnever fails?\b|\b(?:no|neither) \w+ fails?\b",
    re.IGNORECASE,
)
_SOME = re.compile(r"\b(?:some|several|many|a few)\b(?! of)")
_BESIDE = re.compile(r"\b(?:with|in|across|over) (?:no|zero|\d+|two|three) (?!of\b)(?:\w+ )?\w+\b")
_NOT = re.compile(
    r"\b(?:not|never|n't|doesn't|don't|didn't|isn't|aren't|no longer|nor|neither|fails? to)\b|n't\b", re.IGNORECASE
)
_PARTIAL = re.compile(
    r"\b(?:most|some|many|several|few|half|almost|nearly|mostly|partly|partially|except|apart from|all but|other than|"
    r"a (?:couple|number|handful) of|at least|more than|certain|certainly|only)\b|%",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\b(?:\d+|no|none|zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b", re.IGNORECASE
)


def judge_outcomes(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Each clause that says how a suite, linter, type checker or build went."""
    carried: list[Subject] = []
    for clause in sentence.clauses:
        found = subjects(clause.text) or carried
        good = polarity(clause.text)
        if good is None:
            carried = found
            continue
        carried = []
        if clause.hedged or not found or _numbered(clause.text, good=good):
            continue
        for subject in found:
            yield from _judged(sentence, clause, subject, evidence, good=good)


def polarity(clause: str) -> bool | None:
    """True when the clause says it went well, False when it says it did not, None when it says neither."""
    if _FREE_OF.search(clause):
        return True
    bad, good = _BAD.search(clause), _GOOD.search(clause)
    if not bad and not good:
        return None
    said = good is not None and (bad is None or good.start() < bad.start())
    return said != bool(_NOT.search(clause))


def _numbered(clause: str, *, good: bool) -> bool:
    """Numbers are judged by the counts; "with no errors" and "with 6 tests" leave the outcome to us.

    That some tests fail is as good as that the tests fail; that some pass says little.
    """
    lower = _BESIDE.sub(" ", clause.lower())
    if not good:
        lower = _SOME.sub(" ", lower)
    return bool(_NUMBER.search(lower)) or bool(_PARTIAL.search(lower))


def _judged(
    sentence: Sentence, clause: Clause, subject: Subject, evidence: Evidence, *, good: bool
) -> Iterable[Judgement]:
    reports = [report for report in subject.reports(evidence) if report.ok is not None]
    if not reports:
        if _is_claim_of_suite(clause.text, subject) and not _about_tools(subject, evidence):
            yield unsupported(sentence, "no tool result shows this; run it and give the output")
        return
    current = reports if sentence.earlier else evidence.latest(reports)
    wells = [report.ok for report in current]
    if sentence.earlier and len(reports) == 1 and reports[0].ok != good:
        yield unsupported(sentence, "the output of that run is not given")
    elif subject.scoped:
        yield unsupported(sentence, "the evidence does not say which part of the tests this is")
    elif good:
        yield verdict(sentence, holds=all(wells), expected=described(current), detail="the output shows failures")
    elif False in wells or any(report.ok is False for report in reports):
        yield verdict(sentence, holds=True)
    else:
        yield verdict(sentence, holds=False, expected=described(current), detail="the output shows no failure")


def _is_claim_of_suite(clause: str, subject: Subject) -> bool:
    """Without evidence only clear talk of a tool or a suite is worth a word."""
    return bool(subject.runners) or bool(
        re.search(r"\b(?:all|the) (?:\w+ )?(?:tests|test suite)\b|\blint", clause.lower())
    )


def _about_tools(subject: Subject, evidence: Evidence) -> bool:
    """A report of another kind may be what is meant, for instance a compiler's under "the build"."""
    return subject.kind is Kind.BUILD and bool(evidence.reports())


def described(reports: list[Report]) -> str:
    """What the reports say, in a few words: "pytest: 4 failed, 3 passed"."""
    return "; ".join(_described(report) for report in reports[:4])


def _described(report: Report) -> str:
    names = (
        ("failed", report.failed),
        ("errors", report.errors),
        ("passed", report.passed),
        ("warnings", report.warnings),
    )
    parts = [f"{number} {name}" for name, number in names if number]
    return f"{report.runner}: {', '.join(parts) or ('ok' if report.ok else 'failed')}"
