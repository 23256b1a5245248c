"""What a lesson is found and scored by: its analysed terms, field by field, as they are kept beside it."""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from mcp_reflect.bank.analysis import terms_of
from mcp_reflect.bank.stopwords import STOP_WORDS
from mcp_reflect.records.lesson import Lesson, Trust
from mcp_reflect.records.scope import Scope

# How much a term counts in each field: what happened and what to do;
# symptoms and keywords; task type and tags; context.
FIELD_WEIGHTS: Final = (1, 1, 0.6, 0.3)

HELD: Final = "_held"
"""The mark of what is in quarantine: it is looked for apart, so that it takes no honest lesson's place."""

_NUMBER_BYTES: Final = 5


@dataclass(frozen=True, slots=True)
class Features:
    """A row's terms with how often each is there, weighed by field, and how many of them tell something."""

    row: int
    counts: dict[str, float]
    length: float


def scope_number(scope: Scope) -> int:
    """The number that stands for a scope in the index: 40 bits of a hash, so nobody has to hand numbers out.

    Two scopes with the same number would share their counts, never their lessons: those are read by name.
    """
    return int.from_bytes(blake2b(f"{scope.tenant}\0{scope.project}".encode(), digest_size=_NUMBER_BYTES).digest())


def kind_mark(kind: str) -> str:
    """The term by which records of a kind are found; no text gives a term that begins so."""
    return f"_kind_{kind}"


def tag_mark(tag: str) -> str:
    """The term by which records with a tag are found."""
    return f"_tag_{_digest(tag)}"


def type_mark(task_type: str) -> str:
    """The term by which records of a task type are found."""
    return f"_type_{_digest(task_type)}"


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=6).hexdigest()


def features_of(lesson: Lesson, row: int = 0) -> Features:
    """A record's terms by how often they are there, the marks of its kind, tags and task type among them."""
    fields = (
        f"{lesson.text}\n{lesson.why or ''}",
        "\n".join((*lesson.symptoms, *lesson.keywords)),
        "\n".join(dict.fromkeys((lesson.task_type or "", *lesson.tags))),
        lesson.context or "",
    )
    counts: dict[str, float] = {}
    for weight, field in zip(FIELD_WEIGHTS, fields, strict=True):
        for term in terms_of(field):
            counts[term] = counts.get(term, 0) + weight
    length = sum(count for term, count in counts.items() if term not in STOP_WORDS)
    types = (lesson.task_type,) if lesson.task_type else ()
    held = (HELD,) if lesson.trust is Trust.QUARANTINED else ()
    for mark in (kind_mark(lesson.kind.value), *map(tag_mark, lesson.tags), *map(type_mark, types), *held):
        counts[mark] = 1
    return Features(row, {term: round(count, 2) for term, count in counts.items()}, length)
