"""The analysed terms of a lesson, field by field, as they are stored beside it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson, Trust
from mcp_reflect.storage.retrieval.terms import STOP_WORDS, terms_of

# How much a term counts in the names of task type and tags, and in the context; elsewhere 1.
_NAMED: Final = 0.6
_CONTEXT: Final = 0.3

HELD: Final = "_held"
"""The mark of what is in quarantine: it is looked for apart, so that it takes no honest lesson's place."""

_NUMBER_BYTES: Final = 5


@dataclass(frozen=True, slots=True)
class Features:
    """A row's terms with how often each is there, weighed by field, and how many of them tell something.

    `telling` are those that tell something, as often as they are there.
    """

    row: int
    counts: dict[str, float]
    length: float
    telling: Sequence[str]


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


def terms_kept(lesson: Lesson) -> str:
    """A record's terms as they are kept, in seven lines: telling terms, then stop words, of each weight, then marks.

    Terms hold no white space, and such lines are read in a fraction of the time that JSON takes.
    """
    fields = (
        "\n".join((lesson.text, lesson.why or "", *lesson.symptoms, *lesson.keywords)),
        "\n".join(dict.fromkeys((lesson.task_type or "", *lesson.tags))),
        lesson.context or "",
    )
    terms = list(map(terms_of, fields))
    types = (lesson.task_type,) if lesson.task_type else ()
    held = (HELD,) if lesson.trust is Trust.QUARANTINED else ()
    marks = (kind_mark(lesson.kind.value), *map(tag_mark, lesson.tags), *map(type_mark, types), *held)
    return "\n".join(
        (
            *(" ".join(term for term in field if term not in STOP_WORDS) for field in terms),
            *(" ".join(term for term in field if term in STOP_WORDS) for field in terms),
            " ".join(marks),
        )
    )


def features_read(row: int, kept: str) -> Features:
    """What is kept of a row's terms as the record."""
    text, named, context, stops, named_stops, context_stops, marks = kept.split("\n")
    telling = text.split()
    length: float = len(telling)
    counts = _counted([*telling, *stops.split(), *marks.split()])
    for weight, terms, others in ((_NAMED, named, named_stops), (_CONTEXT, context, context_stops)):
        if terms or others:
            more = terms.split()
            telling += more
            length += weight * len(more)
            for term in (*more, *others.split()):
                counts[term] = counts.get(term, 0) + weight
    return Features(row, counts, length, telling)


def _counted(terms: Sequence[str]) -> dict[str, float]:
    counts = dict.fromkeys(terms, 1.0)
    return counts if len(counts) == len(terms) else dict(Counter(terms))  # which takes four times as long
