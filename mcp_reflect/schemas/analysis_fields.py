"""The fields of an analysis, under the names that agents and models use for them."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, cast

from pydantic import AfterValidator, BeforeValidator, Field

from mcp_reflect.llm.json_replies import as_mapping
from mcp_reflect.schemas import fields
from mcp_reflect.schemas.fields import Arguments

_LONGEST_CRITERION: Final = 60  # characters of the name of a criterion


class ScoreArguments(Arguments):
    """The score of one criterion, with its reason."""

    score: fields.Share | None = None
    reason: str = ""


def _as_scores(value: Any) -> Any:
    """Return scores by criterion from `{"safety": 0.9}`, `{"safety": {...}}`, or a list of {criterion, score}."""
    value = as_mapping(value, "criterion")
    if not isinstance(value, Mapping):
        return value
    scores: dict[str, dict[str, Any]] = {}
    for criterion, item in cast("Mapping[str, Any]", value).items():
        entry: dict[str, Any] = {"score": item}
        if isinstance(item, dict):
            entry = cast("dict[str, Any]", item)
        scores[criterion[:_LONGEST_CRITERION]] = {
            name: entry[name] for name in ("score", "reason") if entry.get(name) is not None
        }
    return scores


_Passage = Annotated[
    str, fields.most("max_lesson_chars"), AfterValidator(str.strip), BeforeValidator(fields.as_text)
]
_Call = Annotated[str, fields.most("max_lesson_chars"), BeforeValidator(fields.as_text)]
_Scores = Annotated[dict[str, ScoreArguments], BeforeValidator(_as_scores)]


class AnalysisArguments(Arguments):
    """The fields of an analysis; all are optional, and one of the first four has to be there."""

    SYNONYMS: ClassVar = {
        "reflection": "reflection_text reflections root_cause what_went_wrong what_happened what_went_right why "
        "diagnosis analysis summary",
        "strategy": "strategy_text strategies next_time next_strategy recommendation",
        "importance": "importance_score",
        "confidence": "confidence_score",
        "tags": "tag labels",
        "mistake": "the_mistake key_mistake problem issue what_failed pitfall",
        "correction": "lesson lesson_text lesson_learned lessons_learned learned fix prevention solution what_to_do "
        "what_works resolution takeaway",
        "wrong_call": "failing_call wrong_command",
        "right_call": "working_call right_command",
        "symptoms": "symptom",
        "keywords": "keyword",
        "scores": "evaluation criteria ratings",
        "source_event_ids": "event_ids source_events cited_events",
    }

    reflection: Annotated[
        str,
        fields.most("max_judgment_chars"),
        AfterValidator(str.strip),
        BeforeValidator(fields.as_text),
    ] = ""
    strategy: _Passage = ""
    mistake: _Passage = ""
    correction: _Passage = ""
    importance: fields.Share | None = None
    confidence: fields.Share | None = None
    tags: fields.Labels = ()
    wrong_call: _Call | None = None
    right_call: _Call | None = None
    symptoms: fields.Phrases = ()
    keywords: fields.Labels = ()
    decision_appropriate: bool | None = None
    execution_effective: bool | None = None
    scores: _Scores = Field(default_factory=dict[str, ScoreArguments])
    source_event_ids: fields.Labels = ()


KNOWN_FIELDS: Final = {
    *AnalysisArguments.model_fields,
    *" ".join(AnalysisArguments.SYNONYMS.values()).split(),
}
