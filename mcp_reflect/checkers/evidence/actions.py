"""Claims about actions, and about figures and versions that tools print."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mcp_reflect.checkers.evidence.reading import Seen
from mcp_reflect.checkers.evidence.sentences import WORDS, Evidence, Judgement, unsupported, verdict
from mcp_reflect.checkers.sentences import Sentence

# Things said to be done: pushed, merged, installed, sent, written, deployed.


@dataclass(frozen=True, slots=True)
class Action:
    """`said` finds the claim; `tool` the tool that does it; `good` and `bad` what its output shows (lower case)."""

    name: str
    said: re.Pattern[str]
    tool: re.Pattern[str]
    good: re.Pattern[str] | None = None
    bad: re.Pattern[str] | None = None


def _action(name: str, said: str, tool: str, good: str = "", bad: str = "") -> Action:
    return Action(
        name,
        re.compile(said, re.IGNORECASE),
        re.compile(tool),
        re.compile(good, re.MULTILINE) if good else None,
        re.compile(bad, re.MULTILINE) if bad else None,
    )


_WE = r"(?:\b(?:i|we)(?:'ve| have)?(?: (?:also|then|now|just|successfully|already))? |^(?:successfully |then |and )?)"
_DONE = r"\b(?:was|were|is|are|has been|have been|got)(?: \w+ly)? "
_WORK = (
    r"(?:it|them|(?:the |my |our |all )?(?:\w+ )?(?:branch|branches|commits?|changes?|fix|code|tags?|work|pr|"
    r"pull request)|"
    r"(?:it )?(?:in)?to (?:the )?(?:origin|remote|main|master|github|gitlab|upstream|repo\w*))\b"
)
_MAIL = (
    r"(?:the |an? |that |this |it\b|them\b|him\b|her\b)?(?:\w+ ){0,2}?(?:e-?mails?|mail|reports?|notifications?|"
    r"reminders?|invitations?|invoices?|"
    r"reply|replies|[\w.+-]+@[\w.-]+)\b"
)
_FILE = r"(?:the )?`?[\w./-]*\w\.\w{1,6}\b"

_ACTIONS = (
    _action(
        "push",
        rf"{_WE}pushed {_WORK}|{_DONE}pushed\b(?! on)|\bpushed to (?:the )?(?:origin|remote)\b|\bpush "
        rf"(?:succeeded|was successful|worked|went through)|"
        rf"\band pushed {_WORK}",
        r"\bpush|^git$",
        r"^to \S+[:/]|\b\w+ -> \w+|everything up-to-date",
        r"failed to push|\[rejected\]|could not read from remote|does not appear to be a git repository|"
        r"permission denied",
    ),
    _action(
        "merge",
        rf"{_WE}merged (?:{_WORK}|`?[\w/.-]+`? (?:branch )?into\b)|\bbranch(?:es)? merged without conflicts|"
        rf"\bmerge (?:succeeded|was (?:successful|"
        rf"clean)|went through)|\bbranch(?:es)? {_DONE}merged\b",
        r"\bmerge|^git$",
        r"^merge made|^fast-forward|^already up to date|^updating [0-9a-f]+\.\.",
        r"^conflict \(|automatic merge failed",
    ),
    _action(
        "commit",
        rf"{_WE}committed\b|{_DONE}committed\b",
        r"\bcommit|^git$",
        r"^\[[\w./-]+ (?:\(root-commit\) )?[0-9a-f]{7,}\]",
        r"nothing to commit|nothing added to commit",
    ),
    _action(
        "install",
        rf"{_WE}installed\b(?! an? )|{_DONE}installed\b|\binstall (?:succeeded|was successful)|"
        r"\b(?:dependencies|packages|requirements) (?:were |are |have been )?(?:now )?(?:successfully )?installed",
        r"\binstall|\bpip\b|\bnpm\b|\bapt",
        r"^successfully installed|^added \d+ packages?|^up to date|requirement already satisfied|newly installed",
        r"npm err(?:or|!)|no matching (?:distribution|version)|could not find a version|unable to locate package",
    ),
    _action(
        "send",
        rf"{_WE}(?:sent|emailed|notified) {_MAIL}|\b{_MAIL} {_DONE}(?:sent|emailed)\b",
        r"send|mail|notify|message",
    ),
    _action(
        "deploy",
        rf"{_WE}(?:deployed|released|published)\b|{_DONE}deployed\b",
        r"deploy|release|publish",
    ),
    _action("upload", rf"{_WE}uploaded\b|{_DONE}uploaded\b", r"upload|put_object"),
    _action("restart", rf"{_WE}restarted\b|{_DONE}restarted\b", r"restart|systemctl|service"),
    _action(
        "remove",
        rf"{_WE}(?:removed|deleted) {_FILE}",
        r"\brm\b|remove|delete|^bash$|^shell$",
        "",
        r"no such file or directory|cannot remove|permission denied",
    ),
    _action(
        "write",
        rf"{_WE}(?:updated|wrote|created|edited|saved|changed|modified)(?: \d+ lines to)? {_FILE}",
        r"write|edit|create|save|str_replace|patch|update",
    ),
    _action(
        "run",
        rf"{_WE}(?:ran|executed|re-ran|reran) (?:all )?(?:the )?(?:unit |full |whole )?(?:tests?|test suite|"
        rf"linter|migrations?|script|benchmark\w*|pytest|jest)\b",
        r".",
    ),
)
_NEGATED = re.compile(r"\b(?:not|never|no longer|n't|nothing)\b|n't\b", re.IGNORECASE)
_CAUSE = re.compile(r"\b(?:tried|attempted|failed to)\b", re.IGNORECASE)


def judge_actions(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """One judgement per action that the sentence says is done."""
    for clause in sentence.clauses:
        if clause.hedged or _NEGATED.search(clause.text) or _CAUSE.search(clause.text):
            continue
        for action in _ACTIONS:
            if action.said.search(clause.text):
                yield from _judged(sentence, action, evidence)
            elif re.search(
                rf"\b(?:the|automatic|npm|pip) {action.name}\w* (?:failed|fails)\b", clause.text, re.IGNORECASE
            ):
                yield from _denied(sentence, action, evidence)


def _judged(sentence: Sentence, action: Action, evidence: Evidence) -> Iterator[Judgement]:
    results = [result for result in evidence.seen if _about(action, result, evidence)]
    if not results:
        yield unsupported(sentence, f"no tool result shows the {action.name}; verify it")
        return
    if action.name == "run":
        return
    fine = [_went_well(action, result, evidence) for result in results]
    if True in fine[-1:] or (True in fine and False not in fine):
        yield verdict(sentence, holds=True)
    elif fine[-1] is False:
        shown = next(filter(None, (line.strip() for line in results[-1].text.split("\n"))), "")
        yield verdict(
            sentence, holds=False, expected=shown[:160] or None, detail=f"the tool says the {action.name} failed"
        )
    else:
        yield unsupported(sentence, f"no tool result shows how the {action.name} ended; verify it")


def _denied(sentence: Sentence, action: Action, evidence: Evidence) -> Iterator[Judgement]:
    """A push said to have failed: it holds where a result of that action went wrong."""
    fine = [_went_well(action, result, evidence) for result in evidence.seen if _about(action, result, evidence)]
    if False in fine:
        yield verdict(sentence, holds=True)


def _about(action: Action, result: Seen, evidence: Evidence) -> bool:
    marks = (action.good, action.bad)
    return bool(action.tool.search(result.tool)) or any(mark and evidence.every(mark, result) for mark in marks)


def _went_well(action: Action, result: Seen, evidence: Evidence) -> bool | None:
    if action.bad and evidence.every(action.bad, result) and result.ended_well is not True:
        return False
    if action.good and evidence.every(action.good, result):
        return True
    if action.good:
        # A tool that does many things: its exit code speaks of this one only if it names it.
        named = re.search(rf"\b{action.name}", result.tool)
        return result.ended_well if named else None
    return result.ended_well if result.ended_well is not None or not result.text.strip() else True


# Figures and versions that tools print: coverage, ratings, packages installed, files changed, commits and branches.


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
