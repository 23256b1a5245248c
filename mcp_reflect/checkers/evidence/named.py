"""Exit codes, statuses, exceptions, codes, places, ids, fields and quotations of the work against the tool results.

Each family of names has a pattern for claims and one for results. A name that the results show is supported. Where
they show only others of its family, it is contradicted.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, cast

from mcp_reflect.checkers.evidence.claims import Evidence, Judgement
from mcp_reflect.checkers.evidence.reading import parsed_json
from mcp_reflect.checkers.evidence.states import NEGATED
from mcp_reflect.checkers.sentences import Sentence, quotations
from mcp_reflect.models.critique import Status

_POINTING: Final = (
    r"\b(?:errors?|fail\w*|crash\w*|rais\w+|throw\w*|complains?|assertion|panic\w*|violat\w+|warning|exception|bug|"
    r"reported|reports|points?|traceback|cause)\b"
)
_GENERAL: Final = re.compile(
    r"\b(?:for|when|if|during|while|only|unless|in case|after|until|sometimes|means|rule|flags|right|targets?|"
    r"thresholds?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of name: how claims and results write it, and what a clause must say besides (lower case)."""

    said: re.Pattern[str]
    shown: re.Pattern[str]
    beside: re.Pattern[str] | None = None
    alike: bool = False
    """Only names with the same letters exclude each other: E0308 and E0277, not E0308 and F401."""


def _family(said: str, shown: str, beside: str = "", *, alike: bool = False) -> Family:
    return Family(re.compile(said), re.compile(shown, re.MULTILINE), re.compile(beside) if beside else None, alike)


_FAMILIES: Final = (
    _family(
        r"\bexit(?:s|ed|ing)?(?: with)?(?: an?)?(?: exit)? ?(?:code|status)?(?: was| is|:)? (\d{1,3})\b|"
        r"\b(?:exit|return) (?:code|status)(?: was| is|:)? (\d{1,3})\b",
        r"\bexit (?:status|code):? (\d{1,3})\b",
    ),
    _family(
        r"\b(?:return(?:s|ed)?|respon(?:ds|ded|se)|status(?: code)?|answer(?:s|ed)?|http|gives?|gave|got)\b"
        r"(?: (?:with|is|was|of|code|status|an?|http|us))*:? ?\b([1-5]\d\d)\b",
        r"\bhttp/\d(?:\.\d)? ([1-5]\d\d)\b|\"(?:status|status_?code)\": ?([1-5]\d\d)\b|^([1-5]\d\d) https?://|"
        r"\b(failed to connect|connection refused|could not resolve host)\b",
    ),
    _family(
        r"\b([a-z][\w.]{1,60}(?:error|exception)|keyboardinterrupt|systemexit|stopiteration)\b",
        r"\b([a-z_]\w{1,80}(?:error|exception)|keyboardinterrupt|systemexit|stopiteration)\b",
        _POINTING + r"|\bis an? \w+(?:error|exception)",
    ),
    _family(r"\b([a-z]{1,3}\d{3,5})\b", r"\b([a-z]{1,3}\d{3,5})\b", _POINTING, alike=True),
    _family(
        r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])([0-9a-f]{7,40})\b",
        r"^\[[\w./-]+ (?:\(root-commit\) )?([0-9a-f]{7,40})\]",
        r"\bcommit",
    ),
    _family(
        r"\b(?:i am|i'm|we are|we're|head is|repo\w* is|currently) (?:now |currently |still )?on (?:the )?branch "
        r"`?([\w./-]{1,80}\w)",
        r"^(?:on branch |## )([\w/-]{1,200})",
    ),
    _family(
        r"\bcoverage\b[^.%]{0,40}?\b(\d{1,3}(?:\.\d{1,2})?) ?%|\b(\d{1,3}(?:\.\d{1,2})?) ?% (?:\w+ )?coverage\b",
        r"^total\s.{0,200}?(\d{1,3}(?:\.\d+)?)%\s*$|^all files\s*\|\s*(\d{1,3}(?:\.\d+)?)\s|"
        r"^lines\s*: (\d{1,3}(?:\.\d+)?)%|coverage: (\d{1,3}(?:\.\d+)?)% of statements",
    ),
)
# A claim that a line of the results excludes; the third pattern shows it.
_CONTRARY: Final = tuple(
    tuple(re.compile(pattern, re.MULTILINE) for pattern in patterns)
    for patterns in (
        (
            r"\b(?:work(?:ing)? (?:tree|directory)|git status)\b.{0,20}\bclean|\bno (?:uncommitted|unstaged) changes",
            r"^(?:changes not staged for commit|changes to be committed|untracked files):| ?[mad?]{1,2} \S+\.\w+$",
            r"working tree clean",
        ),
        (
            r"(?<!no )\b(?:uncommitted|unstaged) (?:changes|files)",
            r"working tree clean",
            r"^(?:changes not staged for commit|changes to be committed):",
        ),
        (r"\b(?:no|without|any) (?:merge )?conflicts?\b(?! in)", r"^conflict \(", r"^(?:merge made|fast-forward)"),
        (
            r"\bevery(?:thing|body)? .{0,30}\b(?:committed|pushed)\b",
            r"^changes not staged for commit:|^your branch is ahead|\[ahead \d|untracked files:",
            r"working tree clean",
        ),
    )
)
_PLACE: Final = re.compile(
    r"\b([\w./-]{1,120}\.[a-z]{1,5})(?::| at line | line |, line | in line )(\d{1,6})\b|"
    r"\bline (\d{1,6}) (?:of|in) ([\w./-]{1,120}\.[a-z]{1,5})\b"
)
_FIELD: Final = re.compile(
    r"\b([a-z][\w-]*(?: [a-z]+)?)(?::| ?=| is:?| was:?| equals) ([\w.+-]+@[\w.-]+\w|-?\d[\d,]*(?:\.\d+)?\b|true\b|"
    r"false\b|\w+(?:-\w+)+)"
)
_SAYING: Final = re.compile(
    r"\b(?:says?|said|shows?|showed|reads?|prints?|printed|reports?|reported|states?|contains?|is|with)[^\"“«]{0,20}$"
)


def judge_named(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Names of each family, and claims that a line of the results excludes."""
    for clause in sentence.clauses:
        text = clause.text.lower().replace("`", "")
        if clause.hedged:
            continue
        for said, contrary, support in _CONTRARY:
            if said.search(text):
                if found := evidence.every(contrary):
                    yield Judgement(
                        Status.FAIL, clause.text, found[-1][0].strip()[:160], "the result shows the contrary"
                    )
                elif evidence.every(support):
                    yield Judgement(Status.PASS, clause.text)
        if NEGATED.search(text):
            continue
        for family in _FAMILIES:
            yield from _in_family(clause.text, text, family, evidence)


def _in_family(quoted: str, text: str, family: Family, evidence: Evidence) -> Iterator[Judgement]:
    if (family.beside and not family.beside.search(text)) or _GENERAL.search(text):
        return
    shown = [_name(found) for found in evidence.every(family.shown)]
    if family is _FAMILIES[0]:
        shown += [str(result.exit_code) for result in evidence.seen if result.exit_code is not None]
    for found in list(family.said.finditer(text))[:10]:
        said = _name(found)
        rivals = [name for name in shown if not family.alike or _letters(name) == _letters(said)]
        if any(_same(said, name) for name in rivals) or (
            rivals and re.search(rf"\b{re.escape(said)}\b", evidence.text)
        ):
            yield Judgement(Status.PASS, quoted)
        elif rivals:
            expected = ", ".join(dict.fromkeys(rivals))[:160]
            yield Judgement(Status.FAIL, quoted, expected, f"the result shows no {said}")


def _name(found: re.Match[str]) -> str:
    return next(group for group in found.groups() if group)


def _letters(name: str) -> str:
    return re.sub(r"\d", "", name) + str(sum(char.isdigit() for char in name))


def _same(said: str, shown: str) -> bool:
    if re.fullmatch(r"-?\d+(?:\.\d+)?", said) and re.fullmatch(r"-?\d+(?:\.\d+)?", shown):
        return abs(float(said) - float(shown)) <= 0.5 * 10.0 ** -len(said.partition(".")[2]) * ("." in shown)
    return said == shown or (len(said) >= 7 and shown.startswith(said))


def judge_places(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Claims like "the error is in load.py at line 42", where the results point into the file at other lines."""
    text = sentence.stated.lower().replace("`", "")
    if not re.search(_POINTING, text) or NEGATED.search(text):
        return
    for first, line, other, second in _PLACE.findall(text):
        name, number = (first or second).rsplit("/", 1)[-1], line or other
        pointed: list[str] = re.findall(re.escape(name) + r"(?::|\(|\", line |, line |:line )(\d{1,6})", evidence.text)
        if number in pointed:
            yield Judgement(Status.PASS, sentence.text)
        elif pointed and not re.search(rf"(?<!\d){number}(?!\d)", evidence.text):
            shown = f"{name}:{', '.join(dict.fromkeys(pointed))}"[:120]
            yield Judgement(Status.FAIL, sentence.text, shown, "the result points elsewhere")


def judge_fields(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Claims like "the email is …" against JSON; only a key that stands once can contradict."""
    fields = evidence.once(_fields)
    for clause in sentence.clauses if fields else ():
        if clause.hedged or NEGATED.search(clause.text):
            continue
        for name, said in _FIELD.findall(clause.text.lower().replace("`", "").replace('"', "")):
            for key in (name, name.rsplit(" ", 1)[-1]):
                values = fields.get(key, [])
                if len(values) == 1 and _shape(values[0]) == _shape(said):
                    same = values[0] == said.replace(",", "") or _same(said, values[0])
                    expected = None if same else f"{key}: {values[0]}"
                    yield Judgement(Status.PASS if same else Status.FAIL, clause.text, expected)
                    break


def _shape(text: str) -> str:
    """Only like is compared with like: addresses, numbers, booleans, ids; plain words not at all."""
    if "@" in text:
        return "address"
    if re.fullmatch(r"-?[\d,]+(?:\.\d+)?", text):
        return "number"
    if text in {"true", "false"}:
        return "boolean"
    return "id" if re.search(r"\d", text) and " " not in text else f"word {text}"


def _fields(evidence: Evidence) -> dict[str, list[str]]:
    fields: dict[str, list[str]] = {}

    def read(value: object, key: str) -> None:
        if isinstance(value, dict):
            for name, inner in cast("dict[str, object]", value).items():
                read(inner, re.sub(r"[_-]", " ", name).lower())
        elif isinstance(value, list):
            for inner in cast("list[object]", value)[:1_000]:
                read(inner, key)
        elif value is not None and key:
            fields.setdefault(key, []).append(str(value).lower())

    for result in evidence.seen:
        read(parsed_json(result.text), "")
    return fields


def judge_quotations(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """A quotation of a result: supported where it stands there, contradicted where only its numbers differ."""
    flat = " ".join(evidence.text.split())
    for start, text in quotations(sentence.text):
        if start >= len(sentence.stated) or len(text) < 8 or not _SAYING.search(sentence.plain[:start].lower()):
            continue
        wanted = " ".join(text.split()).strip(" .").lower()
        if wanted in flat:
            yield Judgement(Status.PASS, sentence.text)
            continue
        pattern = r"\d+(?:\.\d+)?".join(re.escape(part) for part in re.split(r"\d+(?:\.\d+)?", wanted)[:12])
        if len(wanted) > 11 and (found := re.search(pattern, flat)):
            yield Judgement(Status.FAIL, sentence.text, found[0][:200], "the result has other numbers")
        else:
            yield Judgement(Status.UNSUPPORTED, sentence.text, None, "no tool result shows this quotation")
