"""Figures and versions that tools print: coverage, ratings, packages installed, files changed, commits and branches."""

import re
from collections.abc import Iterator

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
    shown = [next(filter(None, found.groups())) for found in evidence.every(_SHOWN_COVERAGE)]
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
    shown = [found[1] for found in evidence.every(_RATED)]
    said = _RATING.search(sentence.stated)
    if shown and said and re.search(r"\bpylint|\brat(?:es|ed|ing)\b|\bscore", sentence.stated, re.IGNORECASE):
        fits = float(said[1]) in {float(number) for number in shown}
        yield verdict(sentence, holds=fits, expected=f"{shown[-1]}/10", detail="the output has another rating")


_PIP = re.compile(r"^successfully installed (.{1,2000})$", re.MULTILINE)


def judge_versions(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Claims like "installed six 1.16.0" against what pip says it installed."""
    stated = sentence.stated.lower()
    if any(clause.hedged for clause in sentence.clauses) or "installed" not in stated:
        return
    for line in evidence.every(_PIP)[:20]:
        for item in line[1].split()[:60]:
            name, _, version = item.rpartition("-")
            if name in stated and (said := _version_said(re.escape(name), stated)):
                yield verdict(sentence, holds=said == version, expected=item, detail="pip installed another version")


def _version_said(name: str, stated: str) -> str | None:
    found = re.search(rf"\b{name}(?:==| version | v| |-)(\d[\w.]*\w)|\bversion (\d[\w.]*\w) of {name}\b", stated)
    return (found[1] or found[2]) if found and name else None


_UNITS = tuple(
    (re.compile(rf"\b(\d{{1,9}}|[a-z]{{2,6}}) {unit}\b"), re.compile(rf"\b{shown}"), re.compile(verb))
    for unit, shown, verb in (
        (r"files? (?:were |was |are |have )?changed", r"(\d{1,9}) files? changed", ""),
        (r"files", r"(\d{1,9}) files? changed", r"\b(?:commit|diff|patch)\b"),
        (r"insertions?", r"(\d{1,9}) insertions?", ""),
        (r"deletions?", r"(\d{1,9}) deletions?", ""),
        (r"packages?", r"added (\d{1,9}) packages?", r"\badded\b"),
        (r"items?", r"collected (\d{1,9}) items?", r"\bcollected\b"),
        (r"lines?", r"wrote (\d{1,9}) lines?", r"\bwrote\b"),
        (r"rows?", r"(\d{1,9}) rows? (?:affected|in set|returned)", r"\b(?:affected|returned|updated|inserted)\b"),
    )
)


def judge_sizes(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Files changed, insertions, packages added, items collected, rows affected."""
    for clause in sentence.clauses:
        if not clause.hedged:
            yield from _size(sentence, clause.text.lower(), evidence)


def _size(sentence: Sentence, clause: str, evidence: Evidence) -> Iterator[Judgement]:
    for said, shown, verb in _UNITS:
        found = said.search(clause) if verb.search(clause) else None
        value = None if found is None else WORDS.get(found[1], int(found[1]) if found[1].isdecimal() else None)
        numbers = [] if value is None else evidence.every(shown)
        if numbers:
            fits = any(str(value) == number[1] for number in numbers)
            yield verdict(sentence, holds=fits, expected=numbers[-1][0], detail="the output has another number")
            return


_COMMITTED = re.compile(r"^\[[\w./-]+ (?:\(root-commit\) )?([0-9a-f]{7,40})\]", re.MULTILINE)
_HASH = re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])([0-9a-f]{7,40})\b")


def judge_commits(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Commit ids: one that differs from the only commit made is wrong."""
    if not evidence.text:
        return
    for said in _HASH.findall(sentence.stated.lower()):
        made = [found[1] for found in evidence.every(_COMMITTED)]
        if said[:7] in evidence.text:
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
_BRANCH = re.compile(r"^on branch (\S{1,200})$", re.MULTILINE)
_CONFLICT = re.compile(r"^conflict \(.{1,300}$", re.MULTILINE)
_NO_CONFLICT = re.compile(r"\b(?:no|without|any) (?:merge )?conflicts?\b(?! in)")
_STATE = re.compile(
    r"nothing to commit, working tree (clean)|changes not staged for commit|untracked files:|changes to be committed"
)


def judge_worktree(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """The branch, a clean working tree, conflicts."""
    branches = [found[1] for found in evidence.every(_BRANCH)[:50]]
    for clause in sentence.clauses:
        lower = clause.text.lower()
        if clause.hedged:
            continue
        if branches and (said := _ON_BRANCH.search(lower)):
            yield verdict(sentence, holds=said[1] in branches, expected=f"on branch {branches[-1]}")
        if (conflicts := evidence.every(_CONFLICT)) and _NO_CONFLICT.search(lower):
            yield verdict(sentence, holds=False, expected=conflicts[-1][0][:160], detail="git reports a conflict")
        states = evidence.every(_STATE)
        if states and (said_clean := _tree(lower)) is not None:
            clean = bool(states[-1][1])
            yield verdict(sentence, holds=said_clean == clean, expected="a clean tree" if clean else "changes")


def _tree(lower: str) -> bool | None:
    """True for a clean tree, False for one with changes, None where it says neither."""
    if found := re.search(r"\b(no |any |without )?(?:uncommitted|unstaged|untracked) (?:changes|files)\b", lower):
        return bool(found[1])
    if re.search(
        r"\b(?:working tree|work tree|working directory|git status) (?:is |was )?(not )?(?:now )?clean\b", lower
    ):
        return " not " not in lower
    return None
