"""Quotations, addresses and file names that are said to stand in an output."""

import re
from collections.abc import Iterator

from mcp_reflect.critique.checks.evidence.judgement import Evidence, Judgement, unsupported, verdict
from mcp_reflect.critique.checks.evidence.sentences import Sentence, quotations

_SAYING = re.compile(
    r"\b(?:output|log|logs|error|message|page|report|console|response|traceback|result|terminal|it|file|manual|"
    r"document|"
    r"pytest|npm|pip|git|make|jest|mypy|ruff|eslint|tsc|compiler|server|program)\b.{0,60}?"
    r"\b(?:says?|said|shows?|showed|reads?|prints?|printed|reports?|reported|states?|contains?|is|panics with|"
    r"fails with)"
    r"[^\"“«]{0,20}$",
    re.IGNORECASE,
)
_SPACE = re.compile(r"\s+")
_DIGITS = re.compile(r"\d+(?:\.\d+)?")


def judge_quotations(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """A quotation that differs from the output in its numbers only is wrong; one that is not there is unchecked."""
    upto = len(sentence.stated)
    quoted = [
        text
        for start, text in quotations(sentence.text)
        if start < upto and len(text) > 7 and _SAYING.search(sentence.plain[:start])
    ]
    if not quoted or not evidence.text:
        return
    shown = evidence.once(_flat)
    for text in quoted:
        wanted = _SPACE.sub(" ", text).strip(" .").lower()
        if wanted in shown:
            yield verdict(sentence, holds=True)
            continue
        alike = _DIGITS.sub("#", wanted)
        if "#" in alike and len(alike) > 11 and alike in evidence.once(_masked):
            yield verdict(
                sentence, holds=False, expected=_original(shown, alike), detail="the output has other numbers"
            )
        else:
            yield unsupported(sentence, "the output given does not show this quotation")


def _flat(evidence: Evidence) -> str:
    return _SPACE.sub(" ", evidence.text)


def _masked(evidence: Evidence) -> str:
    return _DIGITS.sub("#", evidence.once(_flat))


def _original(shown: str, alike: str) -> str | None:
    pattern = r"\d+(?:\.\d+)?".join(re.escape(part) for part in alike.split("#")[:12])
    found = re.search(pattern, shown)
    return found[0][:200] if found else None


_ADDRESS = re.compile(r"\bhttps?://[^\s<>\"'`)\]]{3,300}")


def judge_addresses(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Addresses that no tool result shows may be made up."""
    for address in dict.fromkeys(_ADDRESS.findall(sentence.text)):
        wanted = address.rstrip(".,;:!").lower()
        path = wanted.split("://", 1)[-1]
        if wanted in evidence.text or ("/" in path and f"get /{path.split('/', 1)[1]} " in evidence.text):
            yield verdict(sentence, holds=True)
        elif evidence.text:
            yield unsupported(sentence, f"no tool result shows {wanted[:120]}")


_FILE = re.compile(
    r"(?<![\w/.-])((?:[\w-]{1,60}/){0,8}[\w.-]{1,80}\.(?:py|js|ts|tsx|jsx|json|toml|yaml|yml|md|txt|go|rs|java|c|"
    r"h|lock|cfg|sql|sh|html|css))\b"
)
_GIT_STATUS = re.compile(r"^\t(modified|deleted|new file|renamed):[ ]{1,20}(\S{1,300})$", re.MULTILINE)
_HOLDING = re.compile(
    r"\b(?:contains?|has|lists?|uses?|there is|there are|in the folder|is in|exists?)\b", re.IGNORECASE
)


def judge_files(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Claims like "a.txt is modified" against git's status, and files said to be there."""
    names = [name.lower() for name in _FILE.findall(sentence.stated)]
    if (
        not names
        or not evidence.text
        or sentence.clauses[:1] == ()
        or any(clause.hedged for clause in sentence.clauses)
    ):
        return
    for name in names:
        if name not in evidence.text:
            if _HOLDING.search(sentence.stated):
                yield unsupported(sentence, f"no tool result shows {name[:80]}")
            continue
        claimed = re.search(
            rf"{re.escape(name)} (?:is|was|has been) (modified|deleted|untracked|new)\b", sentence.stated.lower()
        )
        shown = {found[2]: found[1].replace("new file", "new") for found in evidence.every(_GIT_STATUS)}.get(name)
        if shown and claimed:
            yield verdict(
                sentence, holds=claimed[1] == shown, expected=f"{name} is {shown}", detail="git says otherwise"
            )
        elif _HOLDING.search(sentence.stated):
            yield verdict(sentence, holds=True)
