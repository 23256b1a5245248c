"""The analysis of a run by an agent or a model: an object, JSON in text, or markdown by its headings."""

import json
import re
from collections.abc import Collection, Iterable, Mapping
from typing import ClassVar, Final

from mcp_reflect.config import DEFAULT, Limits
from mcp_reflect.errors import InputError
from mcp_reflect.llm.json_replies import objects_in, read_object, without_thinking
from mcp_reflect.models.common import Json
from mcp_reflect.models.lesson import has_content, lesson_parts, told_lesson
from mcp_reflect.models.reflection import Analysis, Assessment, Score
from mcp_reflect.schemas.analysis_fields import KNOWN_FIELDS, AnalysisArguments, ScoreArguments
from mcp_reflect.schemas.fields import field_of, read
from mcp_reflect.schemas.sections import field_name, items, read_insights, split_sections
from mcp_reflect.security.redact import quoted

_FIX: Final = 'Send an object with any of "reflection", "mistake", "correction", "strategy", or markdown with such headings.'
_MOST_TOLD: Final = (
    600  # characters of a text that is a lesson as a whole; a longer one is a report
)
_ID: Final = re.compile(r"\be\d{1,9}\b")
_CITED: Final = re.compile(
    r"\[\s*e\d{1,9}(?:\s*[,;]\s*e\d{1,9})*\s*\]|\bevents?(?:(?:\s*,|\s+and|\s+or)?\s+e\d{1,9})+\b"
)


_NOTHING: Final[tuple[Json, ...]] = (None, "", [])
_AS_SENT: Final = ("importance", "confidence", "wrong_call", "right_call", "symptoms", "keywords")


class _ModelAnalysis(AnalysisArguments):
    """The analysis of a language model, which is asked again where a field cannot be read."""

    STRICT: ClassVar = frozenset(AnalysisArguments.model_fields)


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
    found, aside, text = _fields_of(value, limits)
    named = {name: item for name, item in found.items() if item not in _NOTHING}
    shape = AnalysisArguments if lenient else _ModelAnalysis
    try:
        sent = read(shape, named, limits)
    except InputError as error:
        raise InputError(f"analysis.{error.field}", error.fault, error.fix) from None
    ignored = [f"analysis.{note}" for note in sent.ignored]
    mistake, correction, reflection = sent.mistake, sent.correction, sent.reflection
    if not (named.keys() - {"reflection"} or aside) and lenient and len(reflection) <= _MOST_TOLD:
        told = lesson_parts(reflection)
        mistake, correction = told if told[1] else ("", "")
    if (mistake or correction) and not has_content(mistake, correction):
        ignored.append("analysis.mistake: it has no content")
        mistake = correction = ""
    if not reflection:
        parts = (told_lesson(mistake, correction), sent.strategy, *sent.symptoms[:1])
        own = (f"{name}: {said}" for name, said in aside.items() if said and lenient)
        reflection = " ".join(filter(None, parts)) or " ".join(own)
    if not reflection:
        raise InputError("analysis", "says nothing of the run", _FIX)
    text_said = f"{reflection}\n{mistake}".lower()
    cited = [("source_event_ids", name) for name in sent.source_event_ids]
    if all(map(_ID.fullmatch, event_ids)):  # only ids of this form are looked for in a text
        cited += [
            ("reflection", name) for part in _CITED.findall(text_said) for name in _ID.findall(part)
        ]
    for field, name in cited if event_ids else ():
        if name not in event_ids:
            fix = (
                f"Cite ids from the trace ({', '.join(list(event_ids)[:5])}, …) or leave them out."
            )
            error = InputError(
                f"analysis.{field}", f"cites event {quoted(name)}, which is not in this trace", fix
            )
            if not lenient:
                raise error
            ignored.append(f"{error.field}: {error.fault}")
    known = [name for name in sent.source_event_ids if not event_ids or name in event_ids]
    known += [name for name in _ID.findall(text_said) if name in event_ids]
    insights = read_insights(text or reflection)
    return Analysis(
        reflection=reflection,
        strategy=sent.strategy or None,
        tags=tuple(dict.fromkeys(tag.lstrip("#") for tag in sent.tags if tag.strip("#"))),
        mistake=mistake or None,
        correction=correction or (sent.strategy if mistake and lenient else None) or None,
        source_event_ids=tuple(dict.fromkeys(known)),
        scores=_scores(sent.scores),
        insights=insights
        if insights.raw_sections and (aside or text in ("", reflection))
        else None,
        assessment=_verdict(sent, {}),
        raw_sections=aside,
        ignored=tuple(dict.fromkeys(ignored)),
        **{name: getattr(sent, name) for name in _AS_SENT},
    )


def _fields_of(value: Json, limits: Limits) -> tuple[dict[str, Json], dict[str, str], str]:
    """Return the fields of an analysis, what it says beside them by its own names, and its text if it is no object."""
    if isinstance(value, list) and value:
        objects = [item for item in value if isinstance(item, dict)]
        value = objects[0] if objects else "\n".join(map(str, value))
    if isinstance(value, str):
        limits.refuse_more("max_analysis_chars", "analysis", len(value))
        plain = without_thinking(value).strip()
        found = read_object(value, KNOWN_FIELDS)
        if found is None and plain.startswith(
            "{"
        ):  # keys of another spelling, or none that is known
            found = next(iter(objects_in(value)), None)
        reflects = found is not None and any(_field(key) == "reflection" for key in found)
        if found is None or not (reflects or plain.startswith(("{", "[", "```"))):
            return *_of_markdown(plain), plain
        value = found
    if not isinstance(value, dict):
        raise InputError("analysis", "it is neither an object nor text", _FIX)
    return *_of_object(value), ""


def _of_object(value: dict[str, Json]) -> tuple[dict[str, Json], dict[str, str]]:
    """Read an object, perhaps in a wrapper such as `{"analysis": {...}}` or with `{"lesson": {...}}` in it."""
    inner = next(iter(value.values())) if len(value) == 1 else None
    if isinstance(inner, dict) and any(map(_field, inner)):
        value = inner
    lesson = value.get("lesson")
    if isinstance(lesson, dict):
        value = {key: item for key, item in value.items() if key != "lesson"} | lesson
    return _placed(value.items())


def _placed(pairs: Iterable[tuple[str, Json]]) -> tuple[dict[str, Json], dict[str, str]]:
    """Return the values of fields by their names, the first of each that says something, and all else as text."""
    named: dict[str, Json] = {}
    aside: dict[str, str] = {}
    for key, item in pairs:
        name = _field(key)
        if name is not None and named.get(name) in _NOTHING:
            named[name] = item
        elif name is None or item not in _NOTHING:
            aside[key[:100]] = (
                item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
            )
    return named, aside


def _of_markdown(text: str) -> tuple[dict[str, Json], dict[str, str]]:
    """Read known headings as fields and keep the others; without a known one the whole text is the reflection."""
    sections = split_sections(text)
    if not any(_field(title) for title, _ in sections):
        return {"reflection": text}, {}
    named, aside = _placed(sections)
    for name in named.keys() & {"tags", "symptoms", "keywords"}:
        listed = items(str(named[name]))
        named[name] = [*listed] if len(listed) > 1 else "".join(listed)
    if not named.get("reflection") and any(aside.values()):
        named["reflection"] = aside.pop("", text)
    return named, {title or "preamble": body for title, body in aside.items()}


def _field(key: str) -> str | None:
    name = field_name(key[:100])
    return field_of(AnalysisArguments, name) if name else None


def _verdict(sent: AnalysisArguments, scores: Mapping[str, Score]) -> Assessment | None:
    """Return the verdict on a decision and its execution, None if there is none and no score."""
    if not scores and sent.decision_appropriate is sent.execution_effective is None:
        return None
    share = sent.confidence
    return Assessment(
        decision_appropriate=sent.decision_appropriate,
        execution_effective=sent.execution_effective,
        confidence=None
        if share is None
        else "high"
        if share >= 0.75
        else "medium"
        if share >= 0.4
        else "low",
        scores=scores,
    )


def _scores(sent: Mapping[str, ScoreArguments]) -> dict[str, Score]:
    return {name: Score(score=item.score, reason=item.reason) for name, item in sent.items()}


def read_evaluation(value: Json) -> Assessment:
    """Read an evaluator's reply. InputError names what cannot be used."""
    if not isinstance(value, dict):
        raise InputError("reply", "it is not an object", "Send one object.")
    sent = read(_ModelAnalysis, value)
    return _verdict(sent, _scores(sent.scores)) or Assessment()
