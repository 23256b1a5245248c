"""Read a model's judgment on a response: as JSON, else by its headings or list, else by the words of its prose."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple, cast

from mcp_reflect.errors import InputError
from mcp_reflect.evidence.judging import FIELDS, read_opinion, with_known_names
from mcp_reflect.evidence.plain_opinions import read_plain_words
from mcp_reflect.evidence.scores import read_score, score_in_words
from mcp_reflect.llm.json_replies import objects_in, read_object
from mcp_reflect.models.common import Json
from mcp_reflect.schemas.fields import as_text
from mcp_reflect.text.word_lists import read_words_by_heading

MOST_CHARS: Final = 20_000  # of a reply in prose that are read
_WORDS: Final = Path(__file__).with_name("reply_words.txt")
# Scores of replies in words, 0 to 1, chosen: of one that names issues, of one that praises, and what parts them.
_AT_FAULT: Final = 0.3
_PRAISED: Final = 0.8
_EVEN: Final = 0.5
_UNREADABLE: Final = "The reply says nothing of the work: ask for the critique again."
_NO_SCORE: Final = "Its quality_score {score} is not in 0..1: ask for the critique again."
_ISSUE_NAMES: Final = ("issue", "description", "text", "message", "problem", "reason")
_KEYS: Final = frozenset({*FIELDS, "score"})
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_BULLET: Final = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgment:
    """A reply as it was read."""

    score: float  # 0..1; 0 for one that could not be read
    issues: tuple[str, ...] = ()
    suggested_fix: str | None = None
    fault: str | None = None  # why it could not be read; it is the first of the issues then


def read_judgment(reply: str) -> Judgment:
    """Read a reply; the first row that fits decides.

    | the reply                                  | example                            | read by    |
    |--------------------------------------------|------------------------------------|------------|
    | has an object with a known key             | {"score": 0.4, "issues": ["slow"]} | its fields |
    | has one with a key in another spelling     | {"Quality-Score": 0.4}             | its fields |
    | names a score and issues in plain words    | "Score: 0.4. Issues: slow."        | these      |
    | is anything else                           | "Looks good, but it is slow."      | its words  |
    """
    fields: Mapping[str, Json] | None = read_object(reply, _KEYS)
    if fields is None:
        fields = _with_other_names(reply)
    if fields is None:
        fields = read_plain_words(reply[:MOST_CHARS])
        if not fields or not fields.get("issues") or fields.get("quality_score") is None:
            return _of_words(reply[:MOST_CHARS])
    return _of_fields(with_known_names(fields))


def _with_other_names(reply: str) -> Mapping[str, Json] | None:
    """Return the first object of a reply that has a known key once other spellings are put right; None for none."""
    for value in objects_in(reply):
        fields = with_known_names(value)
        if fields.keys() & _KEYS:
            return fields
    return None


def _unread(fault: str, *issues: str) -> Judgment:
    """Return the judgment for a reply that gives no score, with the issues that it names all the same."""
    return Judgment(score=0.0, issues=(fault, *issues), fault=fault)


def _of_fields(fields: Mapping[str, Json]) -> Judgment:
    """Read an object. A claim that it calls wrong is an issue.

    | the object                     | score                           |
    |--------------------------------|---------------------------------|
    | has a score that can be read   | as sent                         |
    | has one that cannot be read    | a fault                         |
    | has issues                     | .3                              |
    | has an empty list of issues    | .8: it looked for some          |
    | has neither                    | a fault                         |
    """
    issues = (*_issues(fields.get("issues")), *_wrong_claims(fields))
    suggested_fix = None
    fix = as_text(fields.get("suggested_fix"))
    if isinstance(fix, str) and not _is_nothing(fix):
        suggested_fix = fix.strip()
    sent_score = fields.get("quality_score", fields.get("score"))
    score = read_score(sent_score)
    if score is None and sent_score is not None:
        fault = _NO_SCORE.format(score=str(sent_score)[:40])
        return _unread(fault, *issues)
    if score is None and issues:
        score = _AT_FAULT
    if score is None and fields.get("issues") is not None:
        score = _PRAISED
    if score is None:
        return _unread(_UNREADABLE)
    return Judgment(score=score, issues=issues, suggested_fix=suggested_fix)


def _issues(value: Json) -> tuple[str, ...]:
    """Return the issues of a list of texts or objects, or of one text; "none" and the like are no issue."""
    items = value if isinstance(value, list) else [value]
    texts: list[str] = []
    for item in items:
        if isinstance(item, dict):
            texts.append(_issue_of(item))
        elif isinstance(item, str) and not _is_nothing(item):
            texts.append(item.strip())
    return tuple(text for text in texts if text)


def _issue_of(item: Mapping[str, Json]) -> str:
    """Return an issue that is an object as a text: the field that is named after it, else all its texts."""
    for name in _ISSUE_NAMES:
        value = item.get(name)
        if isinstance(value, str):
            return value.strip()
    return ": ".join(text for text in item.values() if isinstance(text, str)).strip()


def _wrong_claims(fields: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the claims that the reply calls wrong, each by the reason, the correction, or else the claim itself."""
    verdicts = fields.get("verdicts")
    if not isinstance(verdicts, list):
        return ()
    texts: list[str] = []
    for item in verdicts:
        if not isinstance(item, dict):
            continue
        is_wrong = str(item.get("verdict")).strip().lower() in ("wrong", "false")
        text = item.get("reason") or item.get("correction") or item.get("claim")
        if is_wrong and text:
            texts.append(str(text))
    return tuple(texts)


def _of_words(reply: str) -> Judgment:
    """Read prose: a score where one is named, and issues by heading, list or sentence.

    | the prose                                         | score                                          |
    |---------------------------------------------------|------------------------------------------------|
    | names a score                                     | it; the words beside a low one are the issue   |
    | begins as a refusal, or an error of the service   | a fault                                        |
    | names issues                                      | .3                                             |
    | says that the work is fine                        | .8                                             |
    | is anything else                                  | a fault                                        |
    """
    scored = _score_in(reply)
    score = scored.score
    opinion = _opinion_in(scored.rest)
    issues = opinion.issues
    if score is None:
        refusal = _words("refusal").search(reply)
        if refusal and refusal.start() == 0:
            return _unread(_UNREADABLE)
        if issues:
            score = _AT_FAULT
        elif opinion.accepts and not refusal:
            score = _PRAISED
        else:
            return _unread(_UNREADABLE)
    if score < _EVEN and not issues and " " in scored.rest.strip():
        issues = (scored.rest.strip(),)
    return Judgment(score=score, issues=issues, suggested_fix=opinion.suggested_fix)


class _Scored(NamedTuple):
    """The score that a reply names, None for none, and the reply without it."""

    score: float | None
    rest: str


def _score_in(reply: str) -> _Scored:
    """Return the score that the words name, in any of the languages of reply_words.txt, and the rest of the reply.

    "Score: 7/10. It is slow." -> .7 and "It is slow."; a reply that is a number alone names it without a word.
    """
    if reply.strip()[:1].isdigit():
        only_a_number = read_score(reply.strip())
        if only_a_number is not None:
            return _Scored(only_a_number, "")
    score, rest = score_in_words(reply)
    if score is not None:
        return _Scored(score, rest)
    for match in _named_score().finditer(reply):
        score = read_score(match["score"].replace(",", "."))
        if score is not None:
            rest = f"{reply[: match.start()]} {reply[match.end() :]}".strip()
            return _Scored(score, rest)
    return _Scored(None, reply)


class _Opinion(NamedTuple):
    """What a text says of the work, beside a score."""

    issues: tuple[str, ...] = ()
    suggested_fix: str | None = None
    accepts: bool = False  # it says that the work is fine


def _opinion_in(text: str) -> _Opinion:
    """Return what a text without its score says: by its headings or list, else by its sentences."""
    if not text.strip():
        return _Opinion()
    try:
        opinion = read_opinion(cast("Json", text), "reply")
    except InputError:
        opinion = None
    if opinion is not None and (opinion.issues or opinion.suggested_fix):
        issues = tuple(
            issue for issue in opinion.issues if not issue.lower().startswith("nothing ")
        )
        return _Opinion(issues, opinion.suggested_fix, accepts=not issues)
    sentences = [_BULLET.sub("", part).strip() for part in _SENTENCE.split(text) if part.strip()]
    statements = [part for part in sentences if not _words("refusal").search(part)]
    has_praise = any(_words("praise").search(part) for part in statements)
    return _Opinion(_faults_in(statements), None, accepts=has_praise or _is_none(text))


def _faults_in(sentences: Sequence[str]) -> tuple[str, ...]:
    """Return the sentences that name a fault; `no errors` names none."""
    denied = _denied_words()
    return tuple(part for part in sentences if _words("fault").search(denied.sub("", part)))


def _is_none(text: str) -> bool:
    """Return whether the reply is only a no to the question for issues."""
    return _alone("no issues").fullmatch(text) is not None


def _is_nothing(text: str) -> bool:
    """Return whether a field is empty or only says that there is nothing to say: "None.", "n/a", "no issues found"."""
    has_words = re.search(r"\w", text) is not None
    return not has_words or _alone("nothing").fullmatch(text) is not None


@cache
def _words(section: str) -> re.Pattern[str]:
    """Return a pattern that finds any word of a section of reply_words.txt, as a word of its own."""
    return re.compile(rf"\b(?:{_alternatives(section)})\b", re.IGNORECASE)


@cache
def _alone(section: str) -> re.Pattern[str]:
    """Return a pattern of a text that is nothing but one of the words of a section, with any signs around it."""
    return re.compile(rf"\W*(?:{_alternatives(section)})\W*", re.IGNORECASE)


@cache
def _named_score() -> re.Pattern[str]:
    """Return the pattern of a score behind its name: "Score: 7/10", "Bewertung ist 7 von 10", "quality = 70 %"."""
    signs_between = r"[\s*_`\"':=]{0,8}"
    highest = rf"\s{{0,3}}(?:/|{_alternatives('of')})\s{{0,3}}\d{{1,3}}"
    value = rf"\d{{1,3}}(?:[.,]\d{{1,4}})?(?:{highest}|\s{{0,3}}%)?"
    name = rf"(?:{_alternatives('score')}){signs_between}(?:(?:{_alternatives('is')}) )?"
    return re.compile(rf"{name}(?P<score>{value})(?![\d\w/])", re.IGNORECASE)


@cache
def _denied_words() -> re.Pattern[str]:
    """Return the pattern of a denial with what it denies: "no errors", "without any bugs"."""
    return re.compile(rf"\b(?:{_alternatives('denial')}) (?:\w+ )?\w+", re.IGNORECASE)


@cache
def _alternatives(section: str) -> str:
    """Return the patterns of a section of reply_words.txt as one."""
    return "|".join(read_words_by_heading(_WORDS)[section])
