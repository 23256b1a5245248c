"""Claims about the fields of a JSON result: "the email is ...", "2 orders were found"."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

from mcp_reflect.critique.checks.evidence.judgement import Evidence, Judgement, verdict
from mcp_reflect.critique.checks.evidence.numbers import WORDS
from mcp_reflect.critique.checks.evidence.reading import parsed_json
from mcp_reflect.critique.checks.evidence.sentences import Sentence

_MOST = 3_000


@dataclass(slots=True)
class _Fields:
    """Leaf values, and lengths of lists (-1 where a key has several), by key in lower case with spaces."""

    leaves: dict[str, list[object]] = field(default_factory=dict[str, list[object]])
    lengths: dict[str, int] = field(default_factory=dict[str, int])

    def read(self, value: object, key: str = "") -> None:
        """Takes in a parsed value; its depth is bounded by the reader that parsed it."""
        if len(self.leaves) > _MOST:
            return
        if isinstance(value, dict):
            for name, inner in cast("dict[str, object]", value).items():
                self.read(inner, name.replace("_", " ").replace("-", " ").lower())
        elif isinstance(value, list):
            items = cast("list[object]", value)
            self.lengths[key] = -1 if key in self.lengths else len(items)
            for inner in items:
                self.read(inner, key)
        else:
            self.leaves.setdefault(key, []).append(value)


_CLAIM = re.compile(
    r"[`\"']?\b([A-Za-z][\w-]*(?: [a-z]+)?)[`\"']?(:| ?=| is:?| was:?| equals)? [`\"']?"
    r"([\w.+-]+@[\w.-]+\w|-?\d[\d,]*(?:\.\d+)?\b|true\b|false\b|[\w]+(?:-[\w]+)+)[`\"']?",
)
_FOUND = re.compile(
    r"\b(?:found|returned|returns|contains|has|lists?|there (?:are|is|were))\b.{0,12}?\b(\w+) (\w+)\b", re.IGNORECASE
)
_SKIP = re.compile(
    r"\b(?:not|never|n't|no longer|was previously|changed|set|from|should|step|line)\b|n't\b", re.IGNORECASE
)


def _read(evidence: Evidence) -> _Fields:
    fields = _Fields()
    for result in evidence.seen:
        if (value := parsed_json(result.text)) is not None:
            fields.read(value)
    return fields


def judge_fields(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Only a key that stands once in all results can contradict, and only a value of the same type."""
    fields = evidence.once(_read)
    if not fields.leaves and not fields.lengths:
        return
    for clause in sentence.clauses:
        if clause.hedged or _SKIP.search(clause.text):
            continue
        for name, copula, said in _CLAIM.findall(clause.text):
            if copula or re.search(r"\b(?:id|number)$", name, re.IGNORECASE):
                yield from _judged(sentence, name, said, fields.leaves)
        yield from _lengths(sentence, clause.text, fields)


def _judged(sentence: Sentence, name: str, said: str, found: dict[str, list[object]]) -> Iterator[Judgement]:
    key = name.lower().replace("_", " ")
    last = key.rsplit(" ", 1)[-1]
    for wanted in (key, last):
        values = found.get(wanted)
        if values and len(values) == 1 and (same := _same(values[0], said)) is not None:
            yield verdict(
                sentence, holds=same, expected=f"{wanted}: {values[0]}", detail="the result has another value"
            )
            return


def _same(value: object, said: str) -> bool | None:
    """None where the two are of different types and nothing can be said."""
    if isinstance(value, bool):
        return str(value).lower() == said if said in {"true", "false"} else None
    if isinstance(value, int | float):
        number = said.replace(",", "")
        return (
            float(number) == value if re.fullmatch(r"-?\d{1,15}(?:\.\d{1,15})?", number) and abs(value) < 1e15 else None
        )
    if isinstance(value, str) and " " not in value and _shape(value) == _shape(said) != "word":
        return value.lower() == said.lower().rstrip(".")
    return None


def _shape(text: str) -> str:
    """Addresses are compared with addresses, numbers with numbers, ids with ids; plain words not at all."""
    if "@" in text:
        return "address"
    if re.fullmatch(r"-?\d+(?:\.\d+)?", text):
        return "number"
    return "id" if re.search(r"\d", text) else "word"


def _lengths(sentence: Sentence, clause: str, fields: _Fields) -> Iterator[Judgement]:
    for word, noun in _FOUND.findall(clause):
        number = WORDS.get(word.lower(), int(word) if word.isdecimal() and len(word) < 8 else None)
        length = fields.lengths.get(noun.lower(), -1)
        if number is None or length < 0:
            continue
        totals = [value for key in ("count", "total", "total count") for value in fields.leaves.get(key, [])]
        fits = number == length or number in totals
        yield verdict(sentence, holds=fits, expected=f"{length} {noun}", detail="the result has another number of them")
