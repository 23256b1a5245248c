"""Claims on runs of programs: that they pass, fail, are clean or build; by count, by name of a test."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from mcp_reflect.checkers.evidence.claims import ANY, Count, counts, means_part, phrase_of, polarity, subjects
from mcp_reflect.checkers.evidence.judgements import Evidence, Judgement, judged, latest
from mcp_reflect.checkers.evidence.rows import Kind, Row
from mcp_reflect.checkers.evidence.runners import FAILS, KINDS, PASSES, SKIPPED
from mcp_reflect.checkers.sentences import Sentence, quotations
from mcp_reflect.models.critique import Status

_BESIDE: Final = re.compile(r"\b(?:with|in|across|over) (?:no|zero|\d+|two|three) (?!of\b)(?:\w+ )?\w+\b")
_PARTIAL: Final = re.compile(
    r"\b(?:\d+|no|none|zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|most|some|many|several|few|"
    r"half|almost|nearly|mostly|partly|partially|except|apart from|all but|other than|a (?:couple|number|handful) of|"
    r"at least|more than|certain|certainly|only)\b|%"
)


def judge_outcomes(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Each clause that says how a suite, linter, type checker or build went; numbers are left to the counts."""
    carried: list[str] = []
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


def _runs_of(subject: str, evidence: Evidence) -> list[Row]:
    return [run for run in evidence.runs if subject in (ANY, run.source, run.kind)]


def _is_part(clause: str, subject: str, evidence: Evidence) -> bool:
    """True if a clause speaks of some tests only, or of tests by words that the results do not have."""
    if KINDS.get(subject, subject) != Kind.TESTS:
        return False
    return means_part(clause) or bool(evidence.unknown_words(phrase_of(clause), shown=False))


def _unsupported(sentence: Sentence, detail: str) -> Judgement:
    """Nothing contradicts the sentence and nothing shows it."""
    return Judgement(Status.UNSUPPORTED, sentence.text, None, detail)


def _outcome(sentence: Sentence, clause: str, subject: str, evidence: Evidence, *, good: bool) -> Iterator[Judgement]:
    runs = [run for run in _runs_of(subject, evidence) if run.state]
    if not runs:
        # Without evidence only clear talk of a tool or a suite is worth a word.
        clear = subject in KINDS or re.search(r"\b(?:all|the) (?:\w+ )?(?:tests|test suite)\b|\blint", clause.lower())
        if subject == ANY or (clear and not (subject == Kind.BUILD and evidence.runs)):
            yield _unsupported(sentence, "no tool result shows this; run it and give the output")
        return
    current = runs if sentence.earlier else latest(runs)
    wanted = PASSES if good else FAILS
    if sentence.earlier and len(runs) == 1 and runs[0].state != wanted:
        yield _unsupported(sentence, "the output of that run is not given")
    elif _is_part(clause, subject, evidence):
        yield _unsupported(sentence, "the evidence does not say which part of the tests this is")
    else:
        holds = all(run.state == PASSES for run in current) if good else any(run.state == FAILS for run in runs)
        yield judged(sentence.text, holds=holds, shown=_lines(current))


def _lines(runs: Sequence[Row]) -> str:
    return "; ".join(run.line for run in runs[:4])


def judge_counts(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """One judgement for each count of tests, failures, errors and so on."""
    subject: list[str] = []
    noun: str | None = None
    for clause in sentence.clauses:
        parts = [name for name in subjects(clause.text) if _is_part(clause.text, name, evidence)]
        subject = parts or [name for name in subjects(clause.text) if _runs_of(name, evidence)] or subject
        counted = list(counts(clause.text))
        if not counted:
            noun = "suites" if re.search(r"\b(?:suites|test files)$", clause.text, re.IGNORECASE) else None
        for count in () if clause.hedged else counted:
            if parts:
                yield _unsupported(sentence, "the evidence does not say which part of the tests this is")
            else:
                counted_noun = replace(count, noun=count.noun or noun)
                yield from _count(sentence, clause.text, counted_noun, subject, evidence)


def _count(
    sentence: Sentence, clause: str, count: Count, subject: Sequence[str], evidence: Evidence
) -> Iterator[Judgement]:
    runs = _relevant(clause, count, subject, evidence)
    if not runs:
        if count.noun == "tests" and not any(run.kind is Kind.TESTS for run in evidence.runs):
            yield _unsupported(sentence, "no tool result counts the tests; run them and give the output")
        return
    chosen = runs[:1] if sentence.earlier else latest(runs)
    known = [values for run in chosen if (values := _values(run, count))]
    failing = count.category in {"failed", "errors", "problems"}
    if count.value == 0 and failing and any(run.state == FAILS for run in chosen):
        # "No errors" says that all is well; "no failed tests" is true to the letter where a suite did not load.
        if not (count.category == "failed" and all(run.values("failed")[:1] == [0] for run in chosen)):
            yield judged(sentence.text, holds=False, shown=_lines(chosen))
    elif known and (_holds(count, chosen) or (count.value and _held_before(count, runs))):
        yield Judgement(Status.PASS, sentence.text)
    elif known and len({run.kind for run in chosen}) == 1:
        yield judged(sentence.text, holds=False, shown=_lines(chosen))


def _relevant(clause: str, count: Count, subject: Sequence[str], evidence: Evidence) -> list[Row]:
    """Return the runs that a count may be of, oldest first.

    A count without a subject is of any run unless other words say more: "the page loads with no errors".
    """
    runs = [run for name in subject for run in _runs_of(name, evidence)]
    if not runs and (count.noun is not None or not evidence.unknown_words(clause, shown=False)):
        runs = evidence.runs
    if count.category not in {"errors", "warnings", "problems"} or count.noun is not None:
        return [run for run in runs if run.kind is Kind.TESTS]
    return runs if subject else [run for run in runs if run.values(count.category)]


def _values(run: Row, count: Count) -> list[int]:
    if count.noun == "suites":
        return run.values(f"{count.category}_suites")
    return run.values("all" if count.every and count.category == "passed" else count.category)


def _holds(count: Count, chosen: Sequence[Row]) -> bool:
    if count.every and count.category == "passed" and any(run.state == FAILS for run in chosen):
        return False
    totals = [values for run in chosen if (values := run.values("total"))] if count.total is not None else []
    if totals and count.noun != "suites" and not any(count.total in values for values in totals):
        return False
    return _among(count, chosen)


def _among(count: Count, runs: Sequence[Row]) -> bool:
    """True if a run has the number, or all of them together."""
    known = [values for run in runs if (values := _values(run, count))]
    total = sum(max(values) for values in known)
    return any(count.value in values for values in known) or (len(known) > 1 and count.value == total)


def _held_before(count: Count, runs: Sequence[Row]) -> bool:
    """True if an earlier run may be meant: a count of failures, or of a part of a suite that went well at last."""
    ended = runs if count.every else latest(runs)
    good = count.category not in {"passed", "total"} or all(run.state == PASSES for run in ended)
    return good and _among(count, runs)


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
            states.add(SKIPPED if skipped else PASSES if good else FAILS)
    runs = latest(run for run in evidence.runs if run.kind is Kind.TESTS)
    if len(states) != 1 or not runs:
        return
    state, upto = states.pop(), len(sentence.stated)
    names = [next(filter(None, match.groups())).lower() for match in _NAME.finditer(sentence.text[:upto])]
    names += [text.lower() for start, text in quotations(sentence.text) if start < upto]
    for name in dict.fromkeys(names):
        known = {case.source: case.state for case in evidence.cases if case.name == name}
        shown = set(known.values())
        if len(shown) == 1:
            ended = shown.pop()
            line = f"{name} {ended}"
            yield judged(sentence.text, holds=ended == state, shown=line)
        elif state == FAILS and name.startswith("test") and all(map(_lists_failures, runs)):
            line = f"{name} passes or did not run"
            yield judged(sentence.text, holds=False, shown=line)
        elif not known and name.startswith("test_"):
            yield _unsupported(sentence, f"the output does not show {name}")


def _lists_failures(run: Row) -> bool:
    """True if every failure is named, so that a name that is missing did not fail."""
    broken, listed = run.values("failed"), run.values("listed")
    return bool(broken and listed) and broken[-1] <= listed[0] and (run.state == PASSES or listed[0] > 0)
