"""The analysis of a run by an agent or a model: an object, JSON in text, or markdown by its headings."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import ClassVar, Final, NamedTuple

from mcp_reflect.errors import InputError
from mcp_reflect.limits import DEFAULT, Limits
from mcp_reflect.llm.json_replies import objects_in, read_object, without_thinking
from mcp_reflect.models.common import Json
from mcp_reflect.models.lesson_words import has_content, lesson_parts, text_of_parts
from mcp_reflect.models.reflection import Analysis, Assessment, Insights, Score
from mcp_reflect.schemas.analysis_fields import KNOWN_FIELDS, AnalysisArguments, ScoreArguments
from mcp_reflect.schemas.reading import field_of, read
from mcp_reflect.schemas.sections import field_name, items, read_insights, split_sections
from mcp_reflect.security.redact import quoted

_FIX: Final = (
    'Send an object with any of "reflection", "mistake", "correction", "strategy", '
    "or markdown with such headings."
)
_MOST_TOLD: Final = 600  # characters of a text that is a lesson; a longer one is a report
_LONGEST_KEY: Final = 100  # characters of a name that is looked up
_SHOWN_IDS: Final = 5
_LEAST_CONFIDENCE: Final = {"high": 0.75, "medium": 0.4}  # the first that is reached
_ID: Final = re.compile(r"\be\d{1,9}\b")
_CITED: Final = re.compile(
    r"\[\s*e\d{1,9}(?:\s*[,;]\s*e\d{1,9})*\s*\]|\bevents?(?:(?:\s*,|\s+and|\s+or)?\s+e\d{1,9})+\b"
)

_NOTHING: Final[tuple[Json, ...]] = (None, "", [])
_NO_SCORES: Final[Mapping[str, Score]] = {}
"""The scores of an analysis are kept beside its verdict on the decision; only an evaluator's are part of that."""
_AS_SENT: Final = ("importance", "confidence", "wrong_call", "right_call", "symptoms", "keywords")
"""Fields that an analysis takes over as they were read."""


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
    said = _read_form(value, limits)
    sent = _read_fields(said.named, limits, lenient=lenient)
    ignored = [f"analysis.{note}" for note in sent.ignored]
    mistake, correction = _lesson_of(sent, said, lenient=lenient)
    if (mistake or correction) and not has_content(mistake, correction):
        ignored.append("analysis.mistake: it has no content")
        mistake = correction = ""
    reflection = sent.reflection or _reflection_of(mistake, correction, sent, said, lenient=lenient)
    if not reflection:
        raise InputError("analysis", "says nothing of the run", _FIX)
    told = f"{reflection}\n{mistake}".lower()
    for error in _wrong_citations(sent, told, event_ids):
        if not lenient:
            raise error
        ignored.append(f"{error.field}: {error.fault}")
    if not correction and mistake and lenient:
        correction = sent.strategy
    return Analysis(
        reflection=reflection,
        strategy=sent.strategy or None,
        tags=tuple(dict.fromkeys(tag.lstrip("#") for tag in sent.tags if tag.strip("#"))),
        mistake=mistake or None,
        correction=correction or None,
        source_event_ids=_events_cited(sent, told, event_ids),
        scores=_scores(sent.scores),
        insights=_insights_of(said, reflection),
        assessment=_verdict(sent, _NO_SCORES),
        raw_sections=said.aside,
        ignored=tuple(dict.fromkeys(ignored)),
        **{name: getattr(sent, name) for name in _AS_SENT},
    )


class _Said(NamedTuple):
    """An analysis taken apart: its fields that say something, what it says beside them, and its text if it is one."""

    named: dict[str, Json]
    aside: dict[str, str]
    text: str = ""


def _read_fields(named: dict[str, Json], limits: Limits, *, lenient: bool) -> AnalysisArguments:
    """Read the fields of an analysis that say something; `lenient` leaves out those that cannot be read."""
    shape: type[AnalysisArguments] = _ModelAnalysis
    if lenient:
        shape = AnalysisArguments
    stated = {name: item for name, item in named.items() if item not in _NOTHING}
    try:
        return read(shape, stated, limits)
    except InputError as error:
        raise InputError(f"analysis.{error.field}", error.fault, error.fix) from None


def _lesson_of(sent: AnalysisArguments, said: _Said, *, lenient: bool) -> tuple[str, str]:
    """The mistake and the correction; of a short text without fields, which may be a lesson as a whole, its parts."""
    stated = {name for name, item in said.named.items() if item not in _NOTHING}
    has_fields = bool(stated - {"reflection"} or said.aside)
    if has_fields or not lenient or len(sent.reflection) > _MOST_TOLD:
        return sent.mistake, sent.correction
    mistake, correction = lesson_parts(sent.reflection)
    if not correction:
        return "", ""
    return mistake, correction


def _reflection_of(
    mistake: str, correction: str, sent: AnalysisArguments, said: _Said, *, lenient: bool
) -> str:
    """What stands for a missing reflection: the other fields, else what was sent by names that are not ours."""
    parts = (text_of_parts(mistake, correction), sent.strategy, *sent.symptoms[:1])
    reflection = " ".join(filter(None, parts))
    if reflection or not lenient:
        return reflection
    return " ".join(f"{name}: {text}" for name, text in said.aside.items() if text)


def _wrong_citations(
    sent: AnalysisArguments, told: str, event_ids: Collection[str]
) -> Iterator[InputError]:
    """An error for each cited event that the run does not have; of a run without events nothing can be said."""
    if not event_ids:
        return
    cited = [("source_event_ids", name) for name in sent.source_event_ids]
    if all(map(_ID.fullmatch, event_ids)):  # only ids of this form are looked for in a text
        for part in _CITED.findall(told):
            cited += [("reflection", name) for name in _ID.findall(part)]
    known = ", ".join(list(event_ids)[:_SHOWN_IDS])
    for field, name in cited:
        if name not in event_ids:
            fault = f"cites event {quoted(name)}, which is not in this trace"
            fix = f"Cite ids from the trace ({known}, …) or leave them out."
            yield InputError(f"analysis.{field}", fault, fix)


def _events_cited(
    sent: AnalysisArguments, told: str, event_ids: Collection[str]
) -> tuple[str, ...]:
    """The events that the analysis names in its field or its text, each once."""
    cited = [name for name in sent.source_event_ids if not event_ids or name in event_ids]
    cited += [name for name in _ID.findall(told) if name in event_ids]
    return tuple(dict.fromkeys(cited))


def _insights_of(said: _Said, reflection: str) -> Insights | None:
    """The sections of the text, unless its headings were all fields of the analysis."""
    insights = read_insights(said.text or reflection)
    is_beside_fields = said.aside or said.text in ("", reflection)
    if not insights.raw_sections or not is_beside_fields:
        return None
    return insights


def _read_form(value: Json, limits: Limits) -> _Said:
    """Take an analysis apart that is an object, a text, or a list of one of these."""
    if isinstance(value, list) and value:
        objects = [item for item in value if isinstance(item, dict)]
        value = next(iter(objects), "\n".join(map(str, value)))
    if isinstance(value, str):
        limits.refuse_more("max_analysis_chars", "analysis", len(value))
        plain = without_thinking(value).strip()
        value = _object_in(value, plain)
        if value is None:
            return _of_markdown(plain)
    if not isinstance(value, dict):
        raise InputError("analysis", "it is neither an object nor text", _FIX)
    return _of_object(value)


def _object_in(value: str, plain: str) -> dict[str, Json] | None:
    """The object that a text is; one inside of other words counts where it says that it is the reflection."""
    sent = read_object(value, KNOWN_FIELDS)
    if sent is None and plain.startswith("{"):  # keys of another spelling, or none that is known
        sent = next(iter(objects_in(value)), None)
    if sent is None or plain.startswith(("{", "[", "```")):
        return sent
    if any(_field(key) == "reflection" for key in sent):
        return sent
    return None


def _of_object(value: dict[str, Json]) -> _Said:
    """Read an object, perhaps in a wrapper such as `{"analysis": {...}}` or with `{"lesson": {...}}` in it."""
    if len(value) == 1:
        (inner,) = value.values()
        if isinstance(inner, dict) and any(map(_field, inner)):
            value = inner
    lesson = value.get("lesson")
    if isinstance(lesson, dict):
        value = {key: item for key, item in value.items() if key != "lesson"} | lesson
    return _placed(value.items())


def _placed(pairs: Iterable[tuple[str, Json]]) -> _Said:
    """Return the values of fields by their names, the first of each that says something, and all else as text."""
    named: dict[str, Json] = {}
    aside: dict[str, str] = {}
    for key, item in pairs:
        name = _field(key)
        if name is not None and named.get(name) in _NOTHING:
            named[name] = item
        elif name is None or item not in _NOTHING:
            aside[key[:_LONGEST_KEY]] = _as_words(item)
    return _Said(named, aside)


def _as_words(item: Json) -> str:
    """Return a text as it is, any other value as JSON."""
    if isinstance(item, str):
        return item
    return json.dumps(item, ensure_ascii=False)


def _of_markdown(text: str) -> _Said:
    """Read known headings as fields and keep the others; without a known one the whole text is the reflection."""
    sections = split_sections(text)
    if not any(_field(title) for title, _ in sections):
        return _Said({"reflection": text}, {}, text)
    named, aside, _ = _placed(sections)
    for name in named.keys() & {"tags", "symptoms", "keywords"}:
        listed = items(str(named[name]))
        named[name] = "".join(listed)
        if len(listed) > 1:
            named[name] = [*listed]
    if not named.get("reflection") and any(aside.values()):
        named["reflection"] = aside.pop("", text)
    by_heading = {title or "preamble": body for title, body in aside.items()}
    return _Said(named, by_heading, text)


def _field(key: str) -> str | None:
    """Return the field of an analysis that a key or a heading means, None for none."""
    name = field_name(key[:_LONGEST_KEY])
    if not name:
        return None
    return field_of(AnalysisArguments, name)


def _verdict(sent: AnalysisArguments, scores: Mapping[str, Score]) -> Assessment | None:
    """Return the verdict on a decision and its execution, None if there is none and no score."""
    if not scores and sent.decision_appropriate is sent.execution_effective is None:
        return None
    return Assessment(
        decision_appropriate=sent.decision_appropriate,
        execution_effective=sent.execution_effective,
        confidence=_level_of(sent.confidence),
        scores=scores,
    )


def _level_of(confidence: float | None) -> str | None:
    """A share of confidence as a word."""
    if confidence is None:
        return None
    for level, least in _LEAST_CONFIDENCE.items():
        if confidence >= least:
            return level
    return "low"


def _scores(sent: Mapping[str, ScoreArguments]) -> dict[str, Score]:
    return {name: Score(score=item.score, reason=item.reason) for name, item in sent.items()}


def read_evaluation(value: Json) -> Assessment:
    """Read an evaluator's reply. InputError names what cannot be used."""
    if not isinstance(value, dict):
        raise InputError("reply", "it is not an object", "Send one object.")
    sent = read(_ModelAnalysis, value)
    return _verdict(sent, _scores(sent.scores)) or Assessment()
