"""The analysis of an agent or a model: read from an object, JSON in text, or markdown; its citations checked."""

import difflib
import json
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from mcp_reflect.analysis.assessment import read_assessment
from mcp_reflect.analysis.markdown import field_name, items, read_insights, split_sections
from mcp_reflect.config import DEFAULT, Limits
from mcp_reflect.errors import InputError
from mcp_reflect.llm.json_replies import read_json, read_object, without_thinking
from mcp_reflect.models.common import Json
from mcp_reflect.models.lesson import told_lesson
from mcp_reflect.models.reflection import Analysis, Assessment, Score

# The fields of an analysis, one by one: what is taken, what it becomes, and what is said where it is wrong.


_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?")
_LEADING = re.compile(r"[\s*_`]*([+-]?(?:\d+(?:\.\d*)?|\.\d+)\s*%?)(?=[\s*_`(,;—–-]|\.?\s*$)(?!\s*/)")
_OF_ONE = re.compile(r"(?<=\d)\s*/\s*1(?:\.0*)?(?=\s|$)")
_SPLIT = re.compile(r"\s*[,;\n]\s*")


def text(field: str, value: Json, limits: Limits = DEFAULT, limit: str = "max_lesson_chars") -> str | None:
    """A text without white space around it; null where it is empty or not given. `limit` names what bounds it."""
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


def score(field: str, value: Json, *, prose: bool = False) -> float | None:
    """A score in 0..1 from a number, `"0.8"` or `"80%"`. With `prose`, words may follow the number."""
    fix = "Send a number from 0 to 1, such as 0.8, or leave it out."
    if isinstance(value, str):
        value = _OF_ONE.sub("", value.strip())
        if not value:
            return None
        leading = _LEADING.match(value) if prose else None
        number = _from_text_fields(leading[1] if leading else value)
        if number is None:
            raise InputError(field, f"is {quoted(value)}, not a number", fix)
    elif value is None:
        return None
    elif isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(field, f"is {kind(value)}, not a number", fix)
    else:
        number = value
    if not (math.isfinite(number) if isinstance(number, float) else True):
        raise InputError(field, f"is {number}, which is not a finite number", fix)
    if not 0 <= number <= 1:
        raise InputError(field, f"is {_shown(number)}, outside 0..1", fix)
    return float(number)


def scores(field: str, value: Json, limits: Limits = DEFAULT) -> dict[str, Score]:
    """`{"safety": 0.9}` or `{"safety": {"score": 0.9, "reason": "..."}}`; a score may be null. By criterion."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InputError(field, f"is {kind(value)}", 'Send an object like {"safety": 0.9}.')
    found: dict[str, Score] = {}
    limits.refuse_more("max_judgement_items", field, len(value), "items")
    for name, said in value.items():
        given = said if isinstance(said, dict) else {"score": said}
        number = score(f"{field}.{name[:60]}", given.get("score"))
        found[name[:60]] = Score(
            score=number, reason=text(f"{field}.{name[:60]}.reason", given.get("reason"), limits) or ""
        )
    return found


def texts(
    field: str,
    value: Json,
    limits: Limits = DEFAULT,
    limit: str = "max_judgement_items",
    *,
    commas: bool = True,
) -> tuple[str, ...]:
    """A list of short texts, each once and in order.

    A string is a list too: of its bullets or lines, else (with `commas`) of what commas part.
    """
    if value is None:
        return ()
    if isinstance(value, str):
        value = list(_parted(text(field, value, limits, "max_judgement_chars") or "", commas=commas))
    if not isinstance(value, list):
        raise InputError(field, f"is {kind(value)}, not a list", 'Send a list of strings, such as ["timeout"].')
    limits.refuse_more(limit, field, len(value), "items")
    found = [text(f"{field}[{place}]", item, limits, "max_item_chars") for place, item in enumerate(value)]
    return tuple(dict.fromkeys(item for item in found if item))


def _parted(value: str, *, commas: bool) -> Sequence[str]:
    if "\n" in value or not commas:
        return [item.strip("`\"' ") for item in items(value)]
    return [item.strip("`\"' ") for item in _SPLIT.split(items(value)[0].strip("[]"))] if value else []


def _from_text_fields(value: str) -> float | None:
    """The number that a text is, percent taken as hundredths; NaN and Infinity are numbers here, to be refused."""
    if value.lower().lstrip("+-") in {"nan", "inf", "infinity"}:
        return float(value)
    digits = value.removesuffix("%").strip()
    if not _NUMBER.fullmatch(digits) or len(digits) > 40:
        return None
    return round(float(digits) / 100, 12) if value.endswith("%") else float(digits)


def _shown(number: float) -> str:
    shown = f"{number:g}" if isinstance(number, float) or abs(number) < 10**15 else "a huge number"
    return quoted(shown).strip('"')


def kind(value: Json) -> str:
    """What a value is, in words: `a number`, `an object`."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float():
            return "a number"
        case str():
            return f"the text {quoted(value)}"
        case list():
            return f"a list of {len(value):,}"
        case _:
            return "an object"


def quoted(value: str) -> str:
    """At most 80 characters of what was sent, in quotes, on one line and safe to print."""
    plain = " ".join(value[:400].split()).encode("utf-8", "replace").decode("utf-8")
    plain = "".join(char if char.isprintable() else "?" for char in plain)
    return f'"{plain[:77]}…"' if len(plain) > 78 else f'"{plain}"'


# Events that an analysis cites must be in the trace: a judgement about what did not happen is not kept.


_ID = re.compile(r"[eE]\d{1,9}")
_PLAIN = re.compile(r"e\d+")
_CITED = re.compile(
    r"\[\s*(e\d{1,9}(?:\s*[,;]\s*e\d{1,9})*)\s*\]|\bevents?\s+(e\d{1,9}(?:(?:\s*,\s*|\s+)(?:and\s+|or\s+)?e\d{1,9})*)\b",
    re.IGNORECASE,
)


def check_listed(field: str, cited: Sequence[str], event_ids: Collection[str]) -> None:
    """Refuse an id that is not among the trace's, where the trace is known."""
    for place, one in enumerate(cited):
        if event_ids and one not in event_ids:
            raise InputError(
                f"{field}[{place}]", f"cites {quoted(one)}, which is no event of this trace", _fix(event_ids)
            )


def cited_in(field: str, text: str | None, event_ids: Collection[str]) -> tuple[str, ...]:
    """The events that a text cites as `event e7` or `[e7]`; refuses one that is not there.

    Read only where the trace's own ids are of that form: elsewhere `[e7]` may mean anything.
    """
    if not text or not event_ids or not all(_PLAIN.fullmatch(one) for one in event_ids):
        return ()
    cited = [found.lower() for match in _CITED.finditer(text) for found in _ID.findall(match[0])]
    for one in cited:
        if one not in event_ids:
            raise InputError(field, f"cites event {one}, which is not in this trace", _fix(event_ids))
    return tuple(dict.fromkeys(cited))


def _fix(event_ids: Collection[str]) -> str:
    named = list(event_ids)
    shown = ", ".join(quoted(one).strip('"') for one in named[:5])
    return f"Cite ids from the trace ({shown}{', …' if len(named) > 5 else ''}) or leave them out."


# The judgement of an agent or a model on a run: an object, text that holds one, or markdown with headings.


_Value = TypeVar("_Value")

SYNONYMS: Mapping[str, frozenset[str]] = {
    "reflection": frozenset({
        "reflection_text", "reflections", "root_cause", "what_went_wrong", "what_happened", "what_went_right", "why",
        "diagnosis", "analysis", "summary",
    }),
    "strategy": frozenset({"strategy_text", "strategies", "next_time", "next_strategy", "recommendation"}),
    "importance": frozenset({"importance_score"}),
    "confidence": frozenset({"confidence_score"}),
    "tags": frozenset({"tag", "labels"}),
    "mistake": frozenset({"the_mistake", "key_mistake"}),
    "correction": frozenset({"lesson", "lesson_text", "lesson_learned", "lessons_learned", "fix", "prevention"}),
    "symptoms": frozenset({"symptom"}),
    "keywords": frozenset({"keyword"}),
    "scores": frozenset({"evaluation", "criteria", "ratings"}),
    "source_event_ids": frozenset({"event_ids", "source_events", "cited_events"}),
}  # fmt: skip
_FIELDS = {name: name for name in SYNONYMS} | {other: name for name, others in SYNONYMS.items() for other in others}
_WRAPPERS = {"analysis", "result", "output", "response", "reflection", "data", "answer"}
_FIX = 'Send an object with any of "reflection", "mistake", "correction", "strategy", or markdown with such headings.'


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
    ignored: list[str] | None = [] if lenient else None
    if isinstance(value, list) and value and (lenient or len(value) == 1):
        objects = [item for item in value if isinstance(item, dict)]
        value = _merged(objects) if objects else value[0] if len(value) == 1 else "\n".join(map(str, value))
    if isinstance(value, str):
        analysis = _from_text_analysis(value, event_ids, limits, ignored)
    elif isinstance(value, dict):
        analysis = _of_object(_unwrapped(value), event_ids, limits, ignored)
    else:
        raise InputError("analysis", f"is {kind(value)}", _FIX)
    return replace(analysis, ignored=tuple(dict.fromkeys(ignored or ())))


def _merged(values: Sequence[dict[str, Json]]) -> dict[str, Json]:
    """Several analyses as one: texts joined by line breaks, lists together, the first of anything else."""
    merged: dict[str, Json] = {}
    for value in values:
        for name, item in value.items():
            before = merged.get(name)
            if isinstance(before, str) and isinstance(item, str):
                merged[name] = f"{before}\n{item}"
            elif isinstance(before, list) and isinstance(item, list):
                merged[name] = [*before, *item]
            elif before is None:
                merged[name] = item
    return merged


def _of_object(
    value: Mapping[str, Json], event_ids: Collection[str], limits: Limits, ignored: list[str] | None
) -> Analysis:
    """An object, whose reflection may itself be markdown."""
    named, aside = _named(value)
    analysis = _checked(named, event_ids, limits, aside, ignored=ignored)
    return _of_prose(analysis, analysis.reflection)


def _from_text_analysis(text: str, event_ids: Collection[str], limits: Limits, ignored: list[str] | None) -> Analysis:
    limits.refuse_more("max_analysis_chars", "analysis", len(text))
    if not text.strip():
        raise InputError("analysis", "is empty", _FIX)
    found = read_object(text, _FIELDS.keys())
    plain = without_thinking(text).strip()
    if found is None and plain.startswith("{"):  # keys of another spelling, or none that is known
        whole = read_json(text)
        found = whole if isinstance(whole, dict) else None
    if found is not None and (_holds_reflection(found) or plain.startswith(("{", "[", "```"))):
        return _of_object(_unwrapped(found), event_ids, limits, ignored)
    return _from_markdown(plain, event_ids, limits, ignored)


def _holds_reflection(found: Mapping[str, Json]) -> bool:
    return any(_FIELDS.get(field_name(key)) == "reflection" for key in found)


def _from_markdown(text: str, event_ids: Collection[str], limits: Limits, ignored: list[str] | None) -> Analysis:
    """Known headings are fields, the others are kept; without a known one the whole text is the reflection."""
    sections = split_sections(text, _FIELDS.keys())
    if not any(section.name in _FIELDS for section in sections):
        return _of_prose(_checked({"reflection": text}, event_ids, limits, ignored=ignored), text)
    bodies: dict[str, Json] = {}
    other: dict[str, str] = {}
    for section in sections:
        name = _FIELDS.get(section.name)
        if name is None:
            other[section.title] = _joined(other.get(section.title), section.body)
        elif section.body:
            before = bodies.get(name)
            bodies[name] = _joined(before if isinstance(before, str) else None, section.body)
    if "reflection" not in bodies and "" in other:
        bodies["reflection"] = other.pop("")
    if "reflection" not in bodies and any(other.values()):
        bodies["reflection"] = text
    raw = {title or "preamble": body for title, body in other.items()}
    found = _of_prose(_checked(bodies, event_ids, limits, raw, prose=True, ignored=ignored), text)
    return found if raw else replace(found, insights=None)  # its headings are the fields


def _of_prose(analysis: Analysis, text: str) -> Analysis:
    """With what the text says under headings, and what it makes of the decision and its execution."""
    insights = read_insights(text)
    assessment = read_assessment(text)
    return replace(
        analysis,
        insights=insights if insights.raw_sections else None,
        assessment=None if assessment == Assessment() else assessment,
    )


def _joined(before: str | None, after: str) -> str:
    return f"{before}\n\n{after}" if before else after


def _unwrapped(value: dict[str, Json]) -> dict[str, Json]:
    """The object in `{"analysis": {...}}`."""
    if len(value) == 1:
        ((key, inner),) = value.items()
        if isinstance(inner, list) and len(inner) == 1:
            inner = inner[0]
        known = isinstance(inner, dict) and any(field_name(name) in _FIELDS for name in inner)
        if isinstance(inner, dict) and (known or field_name(key) not in _FIELDS) and field_name(key) in _WRAPPERS:
            return inner
    return value


def _named(value: Mapping[str, Json]) -> tuple[dict[str, Json], dict[str, str]]:
    """The values by field, and as text what has no field or stands for one that is given already."""
    aside: dict[str, str] = {}
    lesson = value.get("lesson")
    if isinstance(lesson, dict):  # {"lesson": {"mistake": ..., "correction": ...}}
        value = {key: inner for key, inner in value.items() if key != "lesson"} | lesson
    named: dict[str, Json] = {}
    for key, inner in value.items():
        name = _field(key)
        if name is None:
            aside[key[:100]] = inner if isinstance(inner, str) else json.dumps(inner, ensure_ascii=False)
            continue
        before = named.get(name)
        if before in (None, "", []) or before is inner:
            named[name] = inner
        elif name == "reflection" and isinstance(before, str) and isinstance(inner, str):
            named[name] = _joined(before, inner) if inner not in before else before
        elif inner not in (None, "", []):
            aside[key[:100]] = inner if isinstance(inner, str) else json.dumps(inner, ensure_ascii=False)
    return named, aside


def _field(key: str) -> str | None:
    """The field that a key names, also where it is slightly misspelled; None for another."""
    name = field_name(key[:100])
    near = difflib.get_close_matches(name, _FIELDS, 1, 0.85)
    return _FIELDS.get(name) or (_FIELDS[near[0]] if near else None)


def _checked(  # noqa: C901 - one line for each field
    named: Mapping[str, Json],
    event_ids: Collection[str],
    limits: Limits,
    other: Mapping[str, str] | None = None,
    *,
    prose: bool = False,
    ignored: list[str] | None = None,
) -> Analysis:
    """The fields as an analysis. With `ignored`, optional fields that cannot be read are noted there and left out."""

    def optional(read: Callable[[], _Value], default: _Value) -> _Value:
        try:
            return read()
        except InputError as error:
            if ignored is None:
                raise
            ignored.append(f"{error.field}: {error.fault}")
            return default

    def passage(name: str, limit: str = "max_lesson_chars") -> str | None:
        value = _one(named.get(name))
        if ignored is not None and not isinstance(value, str | None):
            value = "\n".join(map(str, value)) if isinstance(value, list) else json.dumps(value, ensure_ascii=False)
        return text(f"analysis.{name}", value, limits, limit)

    def strings(name: str, limit: str = "max_judgement_items", *, commas: bool = True) -> tuple[str, ...]:
        return optional(lambda: texts(f"analysis.{name}", named.get(name), limits, limit, commas=commas), ())

    def number(name: str) -> float | None:
        return optional(lambda: score(f"analysis.{name}", named.get(name), prose=prose), None)

    def sources() -> tuple[str, ...]:
        ids = texts("analysis.source_event_ids", named.get("source_event_ids"), limits)
        check_listed("analysis.source_event_ids", ids, event_ids)
        return ids

    mistake, correction, strategy = passage("mistake"), passage("correction"), passage("strategy")
    symptoms = strings("symptoms", commas=False)
    reflection = passage("reflection", "max_judgement_chars")
    if reflection is None:
        reflection = " ".join(filter(None, (told_lesson(mistake, correction), strategy, *symptoms[:1])))
    if not reflection:
        raise InputError("analysis", "says nothing of the run", _FIX)
    cited = (
        *optional(sources, ()),
        *optional(lambda: cited_in("analysis.reflection", reflection, event_ids), ()),
        *optional(lambda: cited_in("analysis.mistake", mistake, event_ids), ()),
    )
    return Analysis(
        reflection=reflection,
        strategy=strategy,
        importance=number("importance"),
        confidence=number("confidence"),
        tags=tuple(dict.fromkeys(tag.lstrip("#") for tag in strings("tags", "max_list_items") if tag.strip("#"))),
        mistake=mistake,
        correction=correction,
        symptoms=symptoms,
        keywords=strings("keywords"),
        source_event_ids=tuple(dict.fromkeys(cited)),
        scores=optional(lambda: scores("analysis.scores", named.get("scores"), limits), {}),
        raw_sections=dict(other or {}),
    )


def _one(value: Json) -> Json:
    """The text in a list of one, as models like to send `strategies` and `lessons_learned`."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value
