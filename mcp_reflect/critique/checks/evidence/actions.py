"""Things said to be done: pushed, merged, installed, sent, written, deployed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mcp_reflect.critique.checks.evidence.judgement import Evidence, Judgement, unsupported, verdict
from mcp_reflect.critique.checks.evidence.reading import Seen
from mcp_reflect.critique.checks.evidence.sentences import Sentence


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
