"""The analysis of an agent or a model: read from an object, JSON in text, or markdown; its citations checked."""

import difflib
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

from mcp_reflect.config import DEFAULT, Limits
from mcp_reflect.errors import InputError
from mcp_reflect.llm.json_replies import as_mapping, read_json, read_object, without_thinking
from mcp_reflect.models.common import SCORE_WORDS, Json
from mcp_reflect.models.lesson import has_content, lesson_parts, told_lesson
from mcp_reflect.models.reflection import Analysis, Assessment, Score
from mcp_reflect.runs.prose import field_name, items, level_of, read_assessment, read_insights, split_sections
from mcp_reflect.security.redact import quoted

_Value = TypeVar("_Value")

SYNONYMS: Final[Mapping[str, frozenset[str]]] = {
    "reflection": frozenset({
        "reflection_text", "reflections", "root_cause", "what_went_wrong", "what_happened", "what_went_right", "why",
        "diagnosis", "analysis", "summary",
    }),
    "strategy": frozenset({"strategy_text", "strategies", "next_time", "next_strategy", "recommendation"}),
    "importance": frozenset({"importance_score"}),
    "confidence": frozenset({"confidence_score"}),
    "tags": frozenset({"tag", "labels"}),
    "mistake": frozenset({"the_mistake", "key_mistake"}),
    "correction": frozenset({
        "lesson", "lesson_text", "lesson_learned", "lessons_learned", "learned", "fix", "prevention",
    }),
    "wrong_call": frozenset({"failing_call", "wrong_command"}),
    "right_call": frozenset({"working_call", "right_command"}),
    "symptoms": frozenset({"symptom"}),
    "keywords": frozenset({"keyword"}),
    "scores": frozenset({"evaluation", "criteria", "ratings"}),
    "source_event_ids": frozenset({"event_ids", "source_events", "cited_events"}),
}  # fmt: skip
_FIELDS: Final = {word: name for name, others in SYNONYMS.items() for word in (name, *others)}
_FIX: Final = (
    'Send an object with any of "reflection", "mistake", "correction", "strategy", or markdown with such headings.'
)
# What agents call a mistake and its correction in an object without these fields; models call a reflection so too.
_MISTAKES: Final = "what_went_wrong problem issue failure what_failed error wrong pitfall trap".split()
_CORRECTIONS: Final = "solution what_to_do what_works what_worked resolution instead takeaway action next_time".split()
_MOST_TOLD: Final = 600  # characters of a text that is a lesson as a whole; a longer one is a report
_LEADING: Final = re.compile(r"[\s*_`]*([+-]?(?:\d+(?:\.\d*)?|\.\d+))\s*(%?)(?=[\s*_`(,;—–-]|\.?\s*$)(?!\s*/)")
_OF_ONE: Final = re.compile(r"(?<=\d)\s*/\s*1(?:\.0*)?(?=\s|$)")
_SPLIT: Final = re.compile(r"\s*[,;\n]\s*")
_ID: Final = re.compile(r"[eE]\d{1,9}")
_CITED: Final = re.compile(
    r"\[\s*(e\d{1,9}(?:\s*[,;]\s*e\d{1,9})*)\s*\]|\bevents?\s+(e\d{1,9}(?:(?:\s*,\s*|\s+)(?:and\s+|or\s+)?e\d{1,9})*)\b",
    re.IGNORECASE,
)


def read_analysis(
    value: Json, event_ids: Collection[str] = (), limits: Limits = DEFAULT, *, lenient: bool = False
) -> Analysis:
    """Read an analysis: an object, JSON in text, or markdown.

    Args:
        value: The analysis as it was sent.
        event_ids: The ids of the run's events, which citations must name.
        limits: Sizes of texts and lists.
        lenient: Leave out scores, lists and citations that cannot be used, and note them in `ignored`. Otherwise they
            are errors, so that a language model can be asked again.

    Raises:
        InputError: Names the field (`analysis.importance`), the fault and the fix.
    """
    reader = _Reader(event_ids, limits, lenient=lenient)
    analysis = reader.read(value)
    return replace(analysis, ignored=tuple(dict.fromkeys(reader.ignored)))


class _Reader:
    """Reads one analysis; `ignored` names what a lenient reading leaves out."""

    def __init__(self, event_ids: Collection[str], limits: Limits, *, lenient: bool) -> None:
        self.event_ids, self.limits, self.lenient = event_ids, limits, lenient
        self.ignored: list[str] = []

    def read(self, value: Json) -> Analysis:
        if isinstance(value, list) and value and (self.lenient or len(value) == 1):
            objects = [item for item in value if isinstance(item, dict)]
            value = objects[0] if objects else "\n".join(map(str, value))
        if isinstance(value, str):
            return self._of_text(value)
        if isinstance(value, dict):
            return self._of_object(value)
        raise InputError("analysis", f"is {kind(value)}", _FIX)

    def _of_object(self, value: dict[str, Json]) -> Analysis:
        """An object, perhaps in a wrapper such as `{"analysis": {...}}`; its reflection may be markdown."""
        inner = _single(next(iter(value.values()))) if len(value) == 1 else None
        if isinstance(inner, dict) and any(field_name(key) in _FIELDS for key in inner):
            value = inner
        lesson = value.get("lesson")
        if isinstance(lesson, dict):  # {"lesson": {"mistake": ..., "correction": ...}}
            value = {key: inner for key, inner in value.items() if key != "lesson"} | lesson
        told = _told_names(value) if self.lenient else {}
        named: dict[str, Json] = {}
        aside: dict[str, str] = {}
        for key, inner in value.items():
            name = told.get(key) or _field(key)
            if name is not None and named.get(name) in (None, "", []):
                named[name] = inner
            elif name is None or inner not in (None, "", []):
                aside[key[:100]] = inner if isinstance(inner, str) else json.dumps(inner, ensure_ascii=False)
        analysis = self._checked(named, aside)
        return _with_prose(analysis, analysis.reflection)

    def _of_text(self, text: str) -> Analysis:
        self.limits.refuse_more("max_analysis_chars", "analysis", len(text))
        if not text.strip():
            raise InputError("analysis", "is empty", _FIX)
        value = read_object(text, _FIELDS.keys())
        plain = without_thinking(text).strip()
        if value is None and plain.startswith("{"):  # keys of another spelling, or none that is known
            whole = read_json(text)
            value = whole if isinstance(whole, dict) else None
        reflects = value is not None and any(_FIELDS.get(field_name(key)) == "reflection" for key in value)
        if value is not None and (reflects or plain.startswith(("{", "[", "```"))):
            return self._of_object(value)
        return self._of_markdown(plain)

    def _of_markdown(self, text: str) -> Analysis:
        """Known headings are fields, the others are kept; without a known one the whole text is the reflection."""
        sections = split_sections(text, _FIELDS.keys())
        if not any(section.name in _FIELDS for section in sections):
            mistake, correction = lesson_parts(text) if self.lenient and len(text) <= _MOST_TOLD else ("", "")
            told = {"mistake": mistake, "correction": correction} if correction else {}
            return _with_prose(self._checked({"reflection": text, **told}, {}), text)
        bodies: dict[str, str] = {}
        other: dict[str, str] = {}
        for section in sections:
            name = _FIELDS.get(section.name)
            place, key = (other, section.title) if name is None else (bodies, name)
            if name is None or section.body:
                place[key] = f"{place[key]}\n\n{section.body}" if place.get(key) else section.body
        if "reflection" not in bodies and any(other.values()):
            bodies["reflection"] = other.pop("", text)
        raw = {title or "preamble": body for title, body in other.items()}
        analysis = _with_prose(self._checked(bodies, raw), text)
        return analysis if raw else replace(analysis, insights=None)  # its headings are the fields

    def _checked(self, named: Mapping[str, Json], aside: Mapping[str, str]) -> Analysis:
        """The fields as an analysis. A lenient reading leaves out optional fields that cannot be read."""

        def passage(name: str, limit: str = "max_lesson_chars") -> str | None:
            value = _single(named.get(name))
            if self.lenient and not isinstance(value, str | None):
                value = "\n".join(map(str, value)) if isinstance(value, list) else json.dumps(value, ensure_ascii=False)
            return _text(f"analysis.{name}", value, self.limits, limit)

        def strings(name: str, limit: str = "max_judgement_items", *, commas: bool = True) -> tuple[str, ...]:
            return self._optional(
                lambda: _texts(f"analysis.{name}", named.get(name), self.limits, limit, commas=commas), ()
            )

        def number(name: str) -> float | None:
            value = named.get(name)
            if self.lenient and isinstance(value, str):
                value = SCORE_WORDS.get(value.strip().lower(), value)
            elif self.lenient and isinstance(value, int | float) and 2 <= value <= 10:
                value = value / 10
            return self._optional(lambda: score(f"analysis.{name}", value), None)

        mistake, correction = self._lesson(passage("mistake"), passage("correction"))
        strategy = passage("strategy")
        symptoms, tags = strings("symptoms", commas=False), strings("tags", "max_list_items")
        reflection = passage("reflection", "max_judgement_chars")
        if reflection is None:
            reflection = " ".join(filter(None, (told_lesson(mistake, correction), strategy, *symptoms[:1])))
        if not reflection and self.lenient:  # fields of the agent's own
            reflection = " ".join(f"{name}: {text}" for name, text in aside.items() if text)
        if not reflection:
            raise InputError("analysis", "says nothing of the run", _FIX)
        listed = [(f"analysis.source_event_ids[{at}]", name) for at, name in enumerate(strings("source_event_ids"))]
        listed += [("analysis.reflection", name) for name in self._cited_in(reflection)]
        listed += [("analysis.mistake", name) for name in self._cited_in(mistake or "")]
        return Analysis(
            reflection=reflection,
            strategy=strategy,
            importance=number("importance"),
            confidence=number("confidence"),
            tags=tuple(dict.fromkeys(tag.lstrip("#") for tag in tags if tag.strip("#"))),
            mistake=mistake,
            correction=correction,
            wrong_call=self._call("wrong_call", named),
            right_call=self._call("right_call", named),
            symptoms=symptoms,
            keywords=strings("keywords"),
            source_event_ids=tuple(dict.fromkeys(self._cited(listed))),
            scores=self._optional(lambda: scores("analysis.scores", named.get("scores"), self.limits), {}),
            raw_sections=dict(aside),
        )

    def _call(self, name: str, named: Mapping[str, Json]) -> str | None:
        """A call of the lesson: a shell command, or {tool, arguments} as JSON."""
        value = named.get(name)
        text = value if isinstance(value, str | None) else json.dumps(value, ensure_ascii=False)
        return self._optional(lambda: _text(f"analysis.{name}", text, self.limits, "max_lesson_chars"), None)

    def _lesson(self, mistake: str | None, correction: str | None) -> tuple[str | None, str | None]:
        if not (mistake or correction) or has_content(mistake, correction):
            return mistake, correction
        self.ignored.append("analysis.mistake: it is empty of content")
        return None, None

    def _optional(self, read: Callable[[], _Value], default: _Value) -> _Value:
        try:
            return read()
        except InputError as error:
            if not self.lenient:
                raise
            self.ignored.append(f"{error.field}: {error.fault}")
            return default

    def _cited(self, named: Iterable[tuple[str, str]]) -> Iterator[str]:
        """The ids that are in the trace, where the trace is known, of cited events by their fields."""
        some = ", ".join(map(quoted, list(self.event_ids)[:5]))
        fix = f"Cite ids from the trace ({some}{', …' if len(self.event_ids) > 5 else ''}) or leave them out."
        for field, name in named:
            if not self.event_ids or name in self.event_ids:
                yield name
            else:
                error = InputError(field, f"cites event {quoted(name)}, which is not in this trace", fix)
                if not self.lenient:
                    raise error
                self.ignored.append(f"{field}: {error.fault}")

    def _cited_in(self, text: str) -> list[str]:
        """The events that a text cites as `event e7` or `[e7]`; only traces with ids of that form are checked."""
        if not self.event_ids or not all(re.fullmatch(r"e\d+", name) for name in self.event_ids):
            return []
        return [name.lower() for match in _CITED.finditer(text) for name in _ID.findall(match[0])]


def _field(key: str) -> str | None:
    """The field that a key names, also where it is slightly misspelled; None for another."""
    name = field_name(key[:100])
    near = difflib.get_close_matches(name, _FIELDS, 1, 0.85)
    return _FIELDS.get(name) or (_FIELDS[near[0]] if near else None)


def _told_names(value: Mapping[str, Json]) -> dict[str, str]:
    """The keys under which an agent told a mistake and a correction, where it sent both and not under our names."""
    names: dict[str, str] = {}
    for field, words in (("mistake", _MISTAKES), ("correction", _CORRECTIONS)):
        if not any(_field(key) == field for key in value):
            key = next((key for word in words for key in value if field_name(key[:100]) == word), None)
            if key is None:
                return {}
            names[key] = field
    return names


def _with_prose(analysis: Analysis, text: str) -> Analysis:
    """The analysis with the insights under the text's headings and its assessment of a decision."""
    insights, assessment = read_insights(text), read_assessment(text)
    return replace(
        analysis,
        insights=insights if insights.raw_sections else None,
        assessment=None if assessment == Assessment() else assessment,
    )


def _single(value: Json) -> Json:
    """The item of a list of one, as models like to send `strategies` and `lessons_learned`."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


# The values of fields.


def score(field: str, value: Json) -> float | None:
    """A score in 0..1 from a number, `"0.8"` or `"80% (words)"`; None for none.

    Raises:
        InputError: The value is not a number from 0 to 1.
    """
    fix = "Send a number from 0 to 1, such as 0.8, or leave it out."
    if value is None or value == "":
        return None
    number: float | None = None
    if isinstance(value, str):
        match = _LEADING.match(_OF_ONE.sub("", value[:100]))
        number = round(float(match[1]) / (100 if match[2] else 1), 12) if match else None
    elif isinstance(value, int | float) and not isinstance(value, bool):
        number = value
    if number is None:
        raise InputError(field, f"is {kind(value)}, not a number", fix)
    if not 0 <= number <= 1:
        size = f"{number:g}" if isinstance(number, float) or abs(number) < 10**15 else "a huge number"
        raise InputError(field, f"is {size}, outside 0..1", fix)
    return float(number)


def scores(field: str, value: Json, limits: Limits = DEFAULT) -> dict[str, Score]:
    """Scores by criterion: `{"safety": 0.9}` or `{"safety": {"score": 0.9, "reason": "..."}}`; a score may be null.

    Raises:
        InputError: Names the criterion that cannot be read.
    """
    value = as_mapping(value, "criterion")
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InputError(field, f"is {kind(value)}", 'Send an object like {"safety": 0.9}.')
    limits.refuse_more("max_judgement_items", field, len(value), "items")
    by_name: dict[str, Score] = {}
    for name, item in value.items():
        place, inner = f"{field}.{name[:60]}", item if isinstance(item, dict) else {"score": item}
        reason = _text(f"{place}.reason", inner.get("reason"), limits, "max_lesson_chars") or ""
        by_name[name[:60]] = Score(score=score(place, inner.get("score")), reason=reason)
    return by_name


def read_evaluation(value: Json) -> Assessment:
    """Read an evaluator's reply. InputError names what cannot be used."""
    if not isinstance(value, dict):
        raise InputError("reply", "it is not an object", "Send one object.")
    verdicts: Any = {name: value.get(name) for name in ("decision_appropriate", "execution_effective")}
    for name, verdict in verdicts.items():
        if not isinstance(verdict, bool | None):
            raise InputError(f"reply.{name}", f"is {kind(verdict)}", "Send true, false or null.")
    confidence = score("reply.confidence", value.get("confidence"))
    return Assessment(
        **verdicts,
        confidence=None if confidence is None else level_of(confidence),
        scores=scores("reply.scores", value.get("scores")),
    )


def kind(value: Json) -> str:
    """The kind of a value in words: `a number`, `an object`; a text is quoted."""
    if isinstance(value, str):
        return f'the text "{quoted(value)}"'
    if isinstance(value, list):
        return f"a list of {len(value):,}"
    names: dict[type, str] = {type(None): "null", bool: str(value).lower(), dict: "an object"}
    return names.get(type(value), "a number")


def _text(field: str, value: Json, limits: Limits, limit: str) -> str | None:
    """A text without white space around it; None where it is empty or not given. `limit` names its bound."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise InputError(field, f"is {kind(value)}, not text", "Send it as a string.")
    limits.refuse_more(limit, field, len(value))
    if "\x00" in value:
        raise InputError(field, "holds a NUL character", "Leave it out.")
    if any("\ud800" <= char <= "\udfff" for char in value):
        raise InputError(field, "holds half a character (a lone surrogate)", "Send valid Unicode.")
    return value.strip() or None


def _texts(field: str, value: Json, limits: Limits, limit: str, *, commas: bool) -> tuple[str, ...]:
    """A list of short texts, each once. A string is split at its bullets or lines, else (with `commas`) at commas."""
    if isinstance(value, str):
        whole = _text(field, value, limits, "max_judgement_chars") or ""
        parts = items(whole)
        if commas and whole and "\n" not in whole:
            parts = _SPLIT.split(parts[0].strip("[]"))
        value = [item.strip("`\"' ") for item in parts]
    if not isinstance(value, list | None):
        raise InputError(field, f"is {kind(value)}, not a list", 'Send a list of strings, such as ["timeout"].')
    limits.refuse_more(limit, field, len(value or ()), "items")
    texts = [_text(f"{field}[{place}]", item, limits, "max_item_chars") for place, item in enumerate(value or ())]
    return tuple(dict.fromkeys(item for item in texts if item))
