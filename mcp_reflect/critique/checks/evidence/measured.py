"""Figures and versions that tools print: coverage, ratings, packages installed, files changed, commits and branches."""

import re
from collections.abc import Iterator
from typing import cast

from mcp_reflect.critique.checks.evidence.judgement import Evidence, Judgement, unsupported, verdict
from mcp_reflect.critique.checks.evidence.numbers import WORDS
from mcp_reflect.critique.checks.evidence.sentences import Sentence

_COVERAGE = re.compile(
    r"\bcoverage\b[^.%]{0,40}?\b(\d{1,3}(?:\.\d{1,2})?) ?%|\b(\d{1,3}(?:\.\d{1,2})?) ?% (?:\w+ )?coverage\b",
    re.IGNORECASE,
)
_SHOWN_COVERAGE = re.compile(
    r"^total\s.{0,200}?(\d{1,3}(?:\.\d+)?)%\s*$|^all files\s*\|\s*(\d{1,3}(?:\.\d+)?)\s|coverage: "
    r"(\d{1,3}(?:\.\d+)?)% of statements",
    re.MULTILINE,
)


def judge_coverage(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Coverage in percent, to the digits given."""
    shown = [next(filter(None, cast("tuple[str, ...]", groups))) for groups in _SHOWN_COVERAGE.findall(evidence.text)]
    if not shown:
        return
    for clause in sentence.clauses:
        found = _COVERAGE.search(clause.text)
        if (
            found is None
            or clause.hedged
            or re.search(r"\b(?:from|was|above|over|least|than|target|threshold)\b", clause.text)
        ):
            continue
        said = found[1] or found[2]
        digits = len(said.partition(".")[2])
        fits = any(abs(float(number) - float(said)) < 10**-digits for number in shown)
        yield verdict(sentence, holds=fits, expected=f"{shown[-1]}%", detail="the output has another coverage")


_RATED = re.compile(r"\brated at (-?\d{1,2}(?:\.\d{1,2})?)/10")
_RATING = re.compile(r"\b(-?\d{1,2}(?:\.\d{1,2})?) ?/ ?10\b")


def judge_rating(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Pylint's rating out of ten."""
    shown = _RATED.findall(evidence.text)
    said = _RATING.search(sentence.stated)
    if shown and said and re.search(r"\bpylint|\brat(?:es|ed|ing)\b|\bscore", sentence.stated, re.IGNORECASE):
        fits = float(said[1]) in {float(number) for number in shown}
        yield verdict(sentence, holds=fits, expected=f"{shown[-1]}/10", detail="the output has another rating")


_PIP = re.compile(r"^successfully installed (.{1,2000})$", re.MULTILINE)


def judge_versions(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Claims like "installed six 1.16.0" against what pip says it installed."""
    if any(clause.hedged for clause in sentence.clauses):
        return
    for line in _PIP.findall(evidence.text):
        for item in line.split()[:60]:
            name, _, version = item.rpartition("-")
            said = (
                re.search(rf"\b{re.escape(name)}(?:==| version | v| |-)(\d[\w.]*\w)", sentence.stated.lower())
                if name
                else None
            )
            if said and re.search(r"\binstalled\b", sentence.stated):
                yield verdict(sentence, holds=said[1] == version, expected=item, detail="pip installed another version")


_UNITS = (
    (r"files? (?:were |was |are |have )?changed", r"(\d+) files? changed", r"\bchang|\btouch|\bmodif"),
    (r"files", r"(\d+) files? changed", r"\b(?:commit|diff|patch)\b"),
    (r"insertions?", r"(\d+) insertions?", ""),
    (r"deletions?", r"(\d+) deletions?", ""),
    (r"packages?", r"added (\d+) packages?", r"\badded\b"),
    (r"items?", r"collected (\d+) items?", r"\bcollected\b"),
    (r"lines?", r"wrote (\d+) lines?", r"\bwrote\b"),
    (r"rows?", r"(\d+) rows? (?:affected|in set|returned)", r"\baffected\b|\breturned\b|\bupdated\b|\binserted\b"),
)


def judge_sizes(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Files changed, insertions, packages added, items collected, rows affected."""
    for clause in sentence.clauses:
        for unit, shown, verb in () if clause.hedged else _UNITS:
            if verb and not re.search(verb, clause.text, re.IGNORECASE):
                continue
            said = re.search(rf"\b(\d{{1,9}}|[a-z]{{2,6}}) {unit}\b", clause.text.lower())
            numbers = re.findall(rf"\b{shown}", evidence.text)
            value = None if said is None else WORDS.get(said[1], int(said[1]) if said[1].isdecimal() else None)
            if value is None or not numbers:
                continue
            fits = str(value) in numbers
            yield verdict(
                sentence,
                holds=fits,
                expected=f"{numbers[-1]} {unit.split('?')[0]}",
                detail="the output has another number",
            )
            break


_COMMITTED = re.compile(r"^\[[\w./-]+ (?:\(root-commit\) )?([0-9a-f]{7,40})\]", re.MULTILINE)
_HASH = re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])([0-9a-f]{7,40})\b")


def judge_commits(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Commit ids: one that differs from the only commit made is wrong."""
    if not evidence.text:
        return
    for said in _HASH.findall(sentence.stated.lower()):
        made = _COMMITTED.findall(evidence.text)
        if re.search(rf"\b{said[:7]}", evidence.text):
            yield verdict(sentence, holds=True)
        elif len(made) == 1 and re.search(r"\bcommitted\b", sentence.stated):
            yield verdict(sentence, holds=False, expected=made[0], detail="git made another commit")
        elif re.search(r"\bcommit", sentence.stated):
            yield unsupported(sentence, f"no tool result shows {said}")


_ON_BRANCH = re.compile(
    r"\b(?:i am|i'm|we are|we're|head is|repo\w* is|checkout is|currently) (?:now |currently |still )?on (?:the )?"
    r"branch `?([\w./-]{1,80}\w)`?",
    re.IGNORECASE,
)
_CLEAN = "nothing to commit, working tree clean"
_DIRTY = ("changes not staged for commit", "untracked files:", "changes to be committed")


def judge_worktree(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """The branch, a clean working tree, conflicts."""
    branches = re.findall(r"^on branch (\S+)$", evidence.text, re.MULTILINE)
    for clause in sentence.clauses:
        lower = clause.text.lower()
        if clause.hedged:
            continue
        if branches and (said := _ON_BRANCH.search(lower)):
            yield verdict(sentence, holds=said[1] in branches, expected=f"on branch {branches[-1]}")
        clean = evidence.text.rfind(_CLEAN)
        dirty = max(evidence.text.rfind(mark) for mark in _DIRTY)
        if max(clean, dirty) >= 0 and (state := _tree(lower)) is not None:
            yield verdict(
                sentence, holds=state == (clean > dirty), expected="a clean tree" if clean > dirty else "changes"
            )


def _tree(lower: str) -> bool | None:
    """True for a clean tree, False for one with changes, None where it says neither."""
    if found := re.search(r"\b(no |any |without )?(?:uncommitted|unstaged|untracked) (?:changes|files)\b", lower):
        return bool(found[1])
    if re.search(
        r"\b(?:working tree|work tree|working directory|git status) (?:is |was )?(not )?(?:now )?clean\b", lower
    ):
        return " not " not in lower
    return None
