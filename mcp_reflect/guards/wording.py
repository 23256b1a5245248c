"""What the words of a lesson name as wrong and as right: flags, programs, files, and commands in code spans."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from mcp_reflect.patterns import lazy_compile

_TOKEN: Final = lazy_compile(r"`+|[^\s`]+")
_FLAG: Final = r"(--?[A-Za-z][\w-]*)"
_PAIR: Final = lazy_compile(rf"{_FLAG}[^\s`]*(?: [A-Z\d]\S*)?`? (?:\(or |\(|or |/ )`?{_FLAG}")
_CLAUSE_ENDS: Final = (".", ";", ":", ",", "!", "?", ")", "—", "–")
_STRIPPED: Final = "\"'()[]{},;:!?“”‘’"
# Words that turn the clause after them: in a mistake to what was missing, in a correction to what was wrong.
_MISSING: Final = frozenset("without missing lacking omitting forgot forgetting no".split())
_AVOIDED: Final = frozenset("never not no without avoid don't dont instead rather than leave omit drop".split())
_MOST_CHARS: Final = 4_000


@dataclass(frozen=True, slots=True)
class Span:
    """A code span of a lesson; `avoided` in a correction that says not to do it."""

    text: str
    turned: bool


@dataclass(frozen=True)
class Wording:
    """The words of a lesson."""

    mistake: str
    correction: str

    @cached_property
    def _parts(self) -> tuple[tuple[frozenset[str], frozenset[str], tuple[Span, ...]], ...]:
        return _read(self.mistake, _MISSING), _read(self.correction, _AVOIDED)

    @cached_property
    def wrong(self) -> frozenset[str]:
        """The terms that it names as wrong."""
        (said, _, _), (_, avoided, _) = self._parts
        return said | avoided

    @cached_property
    def right(self) -> frozenset[str]:
        """The terms that it names as right."""
        (_, missing, _), (said, _, _) = self._parts
        return said | missing

    @property
    def missing(self) -> frozenset[str]:
        """The terms that were missing, by the words of the mistake: `without --context`."""
        return self._parts[0][1]

    @property
    def avoided(self) -> frozenset[str]:
        """The terms that the correction says to avoid."""
        return self._parts[1][1]

    @property
    def wrong_spans(self) -> list[str]:
        """The code spans of what was done wrong, those of the mistake first."""
        (_, _, spans), (_, _, others) = self._parts
        return [span.text for span in spans if not span.turned] + [span.text for span in others if span.turned]

    @property
    def right_spans(self) -> list[str]:
        """The code spans of what is right."""
        return [span.text for span in self._parts[1][2] if not span.turned]

    def alternatives(self, flag: str) -> tuple[str, ...]:
        """Return the other form of a flag that the lesson names: `--dry-run (or -n)`, `--limit HOST` (-l)."""
        pairs = (match.groups() for text in (self.mistake, self.correction) for match in _PAIR.finditer(text))
        found = (one if other == flag else other for one, other in pairs if flag in (one, other))
        return tuple(other for other in found if other.startswith("--") != flag.startswith("--"))

    def after(self, program: str, text: str | None = None) -> frozenset[str]:
        """Return the words right after a program in the mistake (or `text`), up to the end of a code span or clause."""
        return frozenset(word for run in self.runs(program, text) for word in run)

    def runs(self, program: str, text: str | None = None) -> list[list[str]]:
        """Return the same words in their order, for each time that the program is named."""
        runs: list[list[str]] = []
        for part in re.split("[`;\n]", (self.mistake if text is None else text)[:_MOST_CHARS]):
            words = [_stripped(word) for word in part.split()]
            runs += [words[at + 1 :] for at, word in enumerate(words) if word.rsplit("/", 1)[-1] == program]
        return runs


def tokens_of(text: str) -> list[str]:
    """Return the words of a text without quotes and the signs that end a clause."""
    words = (_stripped(word) for word in text[:_MOST_CHARS].replace("`", " ").split())
    return [word for word in words if word]


def _stripped(word: str) -> str:
    word = word.strip(_STRIPPED)
    return word[:-1] if len(word) > 1 and word[-1] == "." and word[-2] not in "./" else word


def _read(text: str, turns: frozenset[str]) -> tuple[frozenset[str], frozenset[str], tuple[Span, ...]]:
    """Return the terms of a text, those after a word that turns the clause, and the code spans."""
    said: set[str] = set()
    turned_terms: set[str] = set()
    spans: list[Span] = []
    open_span: list[str] | None = None
    turned = False
    for token in _TOKEN.findall(text[:_MOST_CHARS]):
        if token[0] == "`":
            if open_span:
                spans.append(Span(" ".join(open_span), turned))
            open_span = [] if open_span is None else None
            continue
        if open_span is not None:
            open_span.append(token)
        elif token.lower().strip(_STRIPPED) in turns:
            turned = True
        word = _stripped(token)
        (turned_terms if turned else said).add(word)
        if open_span is None and token.endswith(_CLAUSE_ENDS):
            turned = False
    return frozenset(said), frozenset(turned_terms), tuple(spans)


def names_flag(terms: frozenset[str], flag: str) -> bool:
    """True if a flag is among the terms, alone, with a value or in a cluster."""
    if any(term.partition("=")[0] == flag for term in terms if term[:1] == "-"):
        return True
    return len(flag) == 2 and any(
        term[:1] == "-" and term[1:2] != "-" and 2 < len(term) <= 6 and term[1:].isalpha() and flag[1] in term[1:]
        for term in terms
    )


def common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many words two sequences begin with together."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (first, second) in enumerate(pairs) if first != second), min(len(one), len(other)))
