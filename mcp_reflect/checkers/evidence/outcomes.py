"""Claims that something passes, fails, is clean or builds; by count, by name."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from mcp_reflect.checkers.evidence.claims import (
    Count,
    Evidence,
    Judgement,
    Subject,
    counts,
    latest,
    polarity,
    subjects,
    unsupported,
    verdict,
)
from mcp_reflect.checkers.evidence.reading import Kind, Report
from mcp_reflect.checkers.sentences import Sentence, quotations

_BESIDE: Final = re.compile(r"\b(?:with|in|across|over) (?:no|zero|\d+|two|three) (?!of\b)(?:\w+ )?\w+\b")
_PARTIAL: Final = re.compile(
    r"\b(?:\d+|no|none|zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|most|some|many|several|few|"
    r"half|almost|nearly|mostly|partly|partially|except|apart from|all but|other than|a (?:couple|number|handful) of|"
    r"at least|more than|certain|certainly|only)\b|%"
)


def judge_outcomes(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Each clause that says how a suite, linter, type checker or build went; numbers are left to the counts."""
    carried: list[Subject] = []
    for clause in sentence.clauses:
        named = subjects(clause.text) or carried
        good = polarity(clause.text)
        carried = named if good is None else []
        if good is None or clause.hedged:
            continue
        # That some tests fail is as good as that the tests fail; that some pass says little.
        lower = _BESIDE.sub(" ", re.sub(r" and the .*", " ", clause.text.lower()))
        if not _PARTIAL.search(lower if good else re.sub(r"\b(?:some|several|many|a few)\b(?! of)", " ", lower)):
            for subject in named:
                yield from _outcome(sentence, clause.text, subject, evidence, good=good)


def _outcome(
    sentence: Sentence, clause: str, subject: Subject, evidence: Evidence, *, good: bool
) -> Iterator[Judgement]:
    reports = [report for report in subject.reports(evidence) if report.ok is not None]
    if not reports:
        # Without evidence only clear talk of a tool or a suite is worth a word.
        clear = subject.runners or re.search(r"\b(?:all|the) (?:\w+ )?(?:tests|test suite)\b|\blint", clause.lower())
        if clear and not (subject.kind is Kind.BUILD and evidence.reports):
            yield unsupported(sentence, "no tool result shows this; run it and give the output")
        return
    current = reports if sentence.earlier else latest(reports)
    if sentence.earlier and len(reports) == 1 and reports[0].ok != good:
        yield unsupported(sentence, "the output of that run is not given")
    elif subject.scoped:
        yield unsupported(sentence, "the evidence does not say which part of the tests this is")
    else:
        holds = all(report.ok for report in current) if good else any(report.ok is False for report in reports)
        detail = "the output shows failures" if good else "the output shows no failure"
        yield verdict(sentence, holds=holds, expected=described(current), detail=detail)


def described(reports: list[Report]) -> str:
    """Say what the reports hold, in a few words: "pytest: 4 failed, 3 passed"."""
    texts: list[str] = []
    for report in reports[:4]:
        parts = [f"{n} {name}" for name in ("failed", "errors", "passed", "warnings") if (n := report.counts.get(name))]
        texts.append(f"{report.runner}: {', '.join(parts) or ('ok' if report.ok else 'failed')}")
    return "; ".join(texts)


# Words of a count without a subject; with any other word it may be of something else: "the page loads with no errors".
_PLAIN: Final = frozenset(
    "there are is was were be been no none zero one two three four five six seven eight nine ten eleven twelve of "
    "and or "
    "in with only still now left the a an all it they run runs ran stopped ended ends reported reports report shows "
    "found finds during collection s ms seconds second just remains remain more failed fail fails failing failure "
    "failures passed pass passes passing skipped skip ignored pending xfailed xfail expected error errors warning "
    "warnings problem problems issue issues finding findings violation violations total remaining fixable other suite "
    "first i have had has any tests test deselected summary result results output log says say at initially attempt "
    "after fix".split()
)


def judge_counts(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """One judgement for each count of tests, failures, errors and so on."""
    subject: list[Subject] = []
    noun: str | None = None
    for clause in sentence.clauses:
        named = [each for each in subjects(clause.text) if each.reports(evidence) or each.scoped]
        subject = named or subject
        counted = list(counts(clause.text))
        if not counted:
            noun = "suites" if re.search(r"\b(?:suites|test files)$", clause.text, re.IGNORECASE) else None
        for count in () if clause.hedged else counted:
            yield from _count(sentence, clause.text, replace(count, noun=count.noun or noun), subject, evidence)


def _count(
    sentence: Sentence, clause: str, count: Count, subject: list[Subject], evidence: Evidence
) -> Iterator[Judgement]:
    if any(each.scoped for each in subject):
        yield unsupported(sentence, "the evidence does not say which part of the tests this is")
        return
    reports = _relevant(clause, count, subject, evidence)
    if not reports:
        if count.noun == "tests" and not any(report.kind is Kind.TESTS for report in evidence.reports):
            yield unsupported(sentence, "no tool result counts the tests; run them and give the output")
        return
    chosen = reports[:1] if sentence.earlier else latest(reports)
    known = [values for report in chosen if (values := _values(report, count))]
    failing = count.category in {"failed", "errors", "problems"}
    if count.value == 0 and failing and any(report.ok is False for report in chosen):
        # "No errors" says that all is well; "no failed tests" is true to the letter where a suite did not load.
        if not (count.category == "failed" and all(report.counts.get("failed") == 0 for report in chosen)):
            yield verdict(sentence, holds=False, expected=described(chosen), detail="the output shows failures")
    elif known and (_holds(count, chosen) or (count.value and _held_before(count, reports))):
        yield verdict(sentence, holds=True)
    elif known and len({report.kind for report in chosen}) == 1:
        yield verdict(sentence, holds=False, expected=described(chosen), detail="the output has another number")


def _relevant(clause: str, count: Count, subject: list[Subject], evidence: Evidence) -> list[Report]:
    """Return the reports that a count may be of, oldest first."""
    reports = [report for each in subject for report in each.reports(evidence)]
    plain = set(re.findall(r"[a-z]+", clause.lower())) <= _PLAIN
    if not reports and (count.noun is not None or plain):
        reports = evidence.reports
    if count.category not in {"errors", "warnings", "problems"} or count.noun is not None:
        return [report for report in reports if report.kind is Kind.TESTS]
    return reports if subject else [report for report in reports if report.values(count.category)]


def _values(report: Report, count: Count) -> frozenset[int]:
    if count.noun == "suites":
        return report.values(f"{count.category}_suites")
    if count.category == "percent":
        total = report.counts.get("total")
        share = 100 * (report.passed or 0) / total if total else None
        return frozenset() if share is None else frozenset({int(share), round(share)})
    return report.values("all" if count.every and count.category == "passed" else count.category)


def _holds(count: Count, chosen: list[Report]) -> bool:
    if count.every and count.category == "passed" and any(report.ok is False for report in chosen):
        return False
    totals = [values for report in chosen if (values := report.values("total"))] if count.total is not None else []
    if totals and count.noun != "suites" and not any(count.total in values for values in totals):
        return False
    return _among(count, chosen)


def _among(count: Count, reports: list[Report]) -> bool:
    """True if a report has the number, or all of them together."""
    known = [values for report in reports if (values := _values(report, count))]
    total = sum(max(values) for values in known)
    return any(count.value in values for values in known) or (len(known) > 1 and count.value == total)


def _held_before(count: Count, reports: list[Report]) -> bool:
    """True if an earlier run may be meant: a count of failures, or of a part of a suite that went well at last."""
    ended = reports if count.every else latest(reports)
    good = count.category not in {"passed", "percent", "total"} or all(report.ok for report in ended)
    return good and _among(count, reports)


# Code in ticks, test_names, tests::in_modules, TestNames and shop/tax.
_NAME: Final = re.compile(
    r"`([^`\n]{2,200})`|\b(test_\w{1,120}(?:\[[^\]\s]{1,60}\])?(?:\.py)?)|\b(\w{1,80}(?:::\w{1,80}){1,6})|"
    r"\b(Test[A-Z]\w{0,80}(?:/\w{1,80})?)\b|\bpackage (\w[\w/.-]{0,120}\w)"
)


def judge_names(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Each test that the sentence names and the evidence knows."""
    states: set[str] = set()
    for clause in sentence.clauses:
        good = polarity(clause.text)
        skipped = re.search(r"(?i)\b(?:skipped|ignored|pending)\b", clause.text)
        if not clause.hedged and (skipped or good is not None):
            states.add("skipped" if skipped else "passes" if good else "fails")
    if len(states) != 1:
        return
    state, upto = states.pop(), len(sentence.stated)
    reports = latest(report for report in evidence.reports if report.kind is Kind.TESTS)
    names = [next(filter(None, match.groups())).lower() for match in _NAME.finditer(sentence.text[:upto])]
    names += [text.lower() for start, text in quotations(sentence.text) if start < upto]
    for name in dict.fromkeys(names):
        known = {report.names[name] for report in reports if name in report.names}
        if len(known) == 1:
            shown = known.pop()
            yield verdict(
                sentence, holds=shown == state, expected=f"{name} {shown}", detail="the output says otherwise"
            )
        elif state == "fails" and name.startswith("test") and reports and all(map(_lists_failures, reports)):
            shown = f"{name} passes or did not run"
            yield verdict(sentence, holds=False, expected=shown, detail="it is not among the failures listed")
        elif not known and name.startswith("test_") and reports:
            yield unsupported(sentence, f"the output does not show {name}")


def _lists_failures(report: Report) -> bool:
    """True if every failure is named, so that a name that is missing did not fail."""
    broken = report.broken()
    return broken is not None and broken <= report.failures and bool(report.ok or report.failures)
