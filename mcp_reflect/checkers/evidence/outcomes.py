"""Claims that something passes, fails, is clean or builds; by count, by name, by command."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from mcp_reflect.checkers.evidence.reading import Seen
from mcp_reflect.checkers.evidence.reports import Kind, Report, words
from mcp_reflect.checkers.evidence.sentences import WORDS, Count, Evidence, Judgement, counts, unsupported, verdict
from mcp_reflect.checkers.evidence.subjects import Subject, subjects
from mcp_reflect.checkers.sentences import Clause, Sentence, quotations

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
            yield from _judged_outcomes(sentence, clause, subject, evidence, good=good)


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


def _judged_outcomes(
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
            yield from _judged_counted(
                sentence, clause.text, replace(count, noun=count.noun or noun), subject, evidence
            )


def _useful(subject: Subject, evidence: Evidence) -> bool:
    return bool(subject.reports(evidence)) or subject.scoped


def _all_but(clause: str) -> list[Count]:
    found = _ALL_BUT.search(clause)
    if found is None:
        return []
    word = (found[1] or found[2]).lower()
    value = WORDS.get(word, int(word) if word.isdecimal() and len(word) < 7 else None)
    return [] if value is None else [Count("failed", value, noun="tests")]


def _judged_counted(
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
    """True if a count without a subject may be of something else: "the page loads with no errors"."""
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
    """True if an earlier run may be meant: one with failures, or one part of a suite whose runs all went well."""
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
        yield from _judged_named(sentence, name, signs[0], evidence.latest(reports))


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


def _judged_named(sentence: Sentence, name: str, sign: str, reports: list[Report]) -> Iterator[Judgement]:
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
    """True if every failure is named, so that a name that is missing did not fail."""
    broken = report.broken()
    if broken is None or (not report.ok and not report.failing):
        return False
    if report.runner == "pytest":
        return broken == sum("::" in name for name in report.failing)
    return broken == 0 or broken <= len(report.failing)


_NEGATED = re.compile(r"\b(?:not|never|no longer|n't|nothing)\b|n't\b", re.IGNORECASE)
_COMMAND = re.compile(
    r"\b(?:(npm|pip|yarn|pnpm|cargo|go|git|make|docker|python|node|java|curl|uv|poetry|gradle|mvn)(?: "
    r"[\w:-]+)?(?: \w+)?|"
    r"(?:script|program|command|run|job|process|it|collection|exception|tests|connection|removal))\b",
    re.IGNORECASE,
)
_RAN_WELL = re.compile(
    r"\b(?:ran|runs|run|finished|finishes|completed|completes|exits|exited|executed)(?: \w+)? (?:without (?:any "
    r")?(?:errors?|exceptions?|problems?)|"
    r"success\w*|cleanly|fine)|\b(?:script|program|command|cargo run|npm (?:run )?\w+|npm install|make|pip "
    r"install)(?: \w+)? "
    r"(?:succeeded|succeeds|passes|completed successfully|ran successfully|finished without errors|(?:was|ran) "
    r"successful)|"
    r"\b(?:ran|run|runs|running|executed)\b.{0,60}\b(?:without|with no) (?:any )?(?:errors?|exceptions?|problems?)|"
    r"\bno exceptions? (?:was|were|is) (?:raised|thrown)|\bsuccessfully\b.{0,20}\b(?:ran|executed)\b",
    re.IGNORECASE,
)
_RAN_BADLY = re.compile(
    r"\b(?:script|program|command|npm (?:run )?\w+|make(?: \w+)?|pip|it|connection|removal|run)(?: \w+)? "
    r"(?:fails|failed|crashes|crashed|panics|panicked|stops|was not found|exits with an error)\b",
    re.IGNORECASE,
)


def judge_commands(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Claims like "the script ran without errors" against the way the commands ended, where they all ended alike."""
    for clause in sentence.clauses:
        if clause.hedged:
            continue
        well, badly = _RAN_WELL.search(clause.text), _RAN_BADLY.search(clause.text)
        if bool(well) == bool(badly) or (well and _NEGATED.search(clause.text)):
            continue
        ended = {result.ended_well for result in _meant(clause.text, evidence)}
        if len(ended) != 1 or None in ended:
            continue
        fine = ended.pop()
        yield verdict(
            sentence,
            holds=fine == bool(well),
            expected="it ended well" if fine else "it ended with an error",
            detail="the exit code or output says otherwise",
        )


def _meant(clause: str, evidence: Evidence) -> list[Seen]:
    """The results of the command that the clause names, else all of them."""
    found = _COMMAND.search(clause)
    if found is None or not found[1]:
        return list(evidence.seen)
    word = found[1].lower()
    named = [result for result in evidence.seen if word in result.tool or word in result.text[:2_000].lower()]
    return named[-1:]
