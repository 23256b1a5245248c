"""The reader of a model's judgment on a response: JSON first, then headings, a list, and last the words of prose."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, cast

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
_NOTHING: Final = re.compile(
    r"\W*(?:none|n/?a|null|nothing|no issues(?: found)?|keine?)?\W*", re.IGNORECASE
)
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_BULLET: Final = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+")
_VALUE: Final = r"(?P<score>\d{1,3}(?:[.,]\d{1,4})?(?:\s{0,3}(?:/|of|out of|von|sur|de|su)\s{0,3}\d{1,3}|\s{0,3}%)?)(?![\d\w/])"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgment:
    """A reply as read. `fault` says why it could not be: its score is 0 then, and the fault is an issue."""

    score: float
    issues: tuple[str, ...] = ()
    suggested_fix: str | None = None
    fault: str | None = None


def read_judgment(reply: str) -> Judgment:
    """Read a reply: as fields where it holds an object or plain words that name score and issues, else by its words."""
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
    """A reply that gives no score, with the issues that it names all the same."""
    return Judgment(score=0.0, issues=(fault, *issues), fault=fault)


def _of_fields(fields: Mapping[str, Json]) -> Judgment:
    """Read an object. A claim that it calls wrong is an issue; issues without a score make the score of a fault."""
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
        score = _PRAISED  # it looked for issues and found none
    if score is None:
        return _unread(_UNREADABLE)
    return Judgment(score=score, issues=issues, suggested_fix=suggested_fix)


def _issues(value: Json) -> tuple[str, ...]:
    """The issues of a list of texts or objects, or of one text."""
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
    """The claims that the reply calls wrong, with its reason or its correction."""
    verdicts = fields.get("verdicts")
    if not isinstance(verdicts, list):
        return ()
    objects = [item for item in verdicts if isinstance(item, dict)]
    wrong = [
        item for item in objects if str(item.get("verdict")).strip().lower() in ("wrong", "false")
    ]
    reasons = (item.get("reason") or item.get("correction") or item.get("claim") for item in wrong)
    return tuple(str(text) for text in reasons if text)


def _of_words(reply: str) -> Judgment:
    """Read prose: a score where one is named, and issues by heading, list or sentence."""
    score, text_without_score = _score_in(reply)
    issues, fix, accepts = _said_in(text_without_score)
    if score is None:
        refusal = _words("refusal").search(reply)
        if refusal and refusal.start() == 0:  # an error of the model's service, or a plain no
            return _unread(_UNREADABLE)
        if issues:
            score = _AT_FAULT
        elif accepts and not refusal:
            score = _PRAISED
        else:
            return _unread(_UNREADABLE)
    if score < _EVEN and not issues and " " in text_without_score.strip():
        issues = (text_without_score.strip(),)  # the words beside a low score are the fault
    return Judgment(score=score, issues=issues, suggested_fix=fix)


def _score_in(reply: str) -> tuple[float | None, str]:
    """The score that the words name, in any of the languages of reply_words.txt, and the rest of the reply.

    A reply that is a number alone names it without a word.
    """
    if reply.strip()[:1].isdigit():
        alone = read_score(reply.strip())
        if alone is not None:
            return alone, ""
    score, rest = score_in_words(reply)
    if score is not None:
        return score, rest
    named = re.compile(
        rf"(?:{_pattern('score')})[\s*_`\"':=]{{0,8}}(?:ist |is |est |es )?{_VALUE}", re.IGNORECASE
    )
    for found in named.finditer(reply):
        score = read_score(found["score"].replace(",", "."))
        if score is not None:
            return score, f"{reply[: found.start()]} {reply[found.end() :]}".strip()
    return None, reply


def _said_in(text: str) -> tuple[tuple[str, ...], str | None, bool]:
    """The issues, the fix (None for none), and whether it says that the work is fine, in a text without its score."""
    if not text.strip():
        return (), None, False
    try:
        opinion = read_opinion(cast("Json", text), "reply")
    except InputError:
        opinion = None
    if opinion is not None and (opinion.issues or opinion.suggested_fix):
        issues = tuple(
            issue for issue in opinion.issues if not issue.lower().startswith("nothing ")
        )
        return issues, opinion.suggested_fix, not issues
    parts = [_BULLET.sub("", part).strip() for part in _SENTENCE.split(text) if part.strip()]
    stated = [part for part in parts if not _words("refusal").search(part)]
    praise = [part for part in stated if _words("praise").search(part)]
    faults = _faults_in(stated)
    return faults, None, bool(praise) or _is_none(text)


def _faults_in(parts: Sequence[str]) -> tuple[str, ...]:
    """The sentences that name a fault; `no errors` names none."""
    without = re.compile(r"\b(?:no|without|keine?|sin|sans) (?:\w+ )?\w+", re.IGNORECASE)
    return tuple(part for part in parts if _words("fault").search(without.sub("", part)))


def _is_none(text: str) -> bool:
    """Whether the reply is only a no to the question for issues."""
    return re.fullmatch(r"\W*(?:none|keine?|ninguno|aucune?)\W*", text, re.IGNORECASE) is not None


def _is_nothing(text: str) -> bool:
    """Whether a field only says that there is nothing to say."""
    return _NOTHING.fullmatch(text) is not None


def _words(section: str) -> re.Pattern[str]:
    """The pattern of a section's words, as words of their own."""
    return re.compile(rf"\b(?:{_pattern(section)})\b", re.IGNORECASE)


@cache
def _pattern(section: str) -> str:
    """The patterns of a section of reply_words.txt as one."""
    return "|".join(read_words_by_heading(_WORDS)[section])
