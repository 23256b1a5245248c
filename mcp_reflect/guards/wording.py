"""What the words of a lesson name as wrong and as right: flags, programs, files, and commands in code spans."""

import re
from collections.abc import Sequence
from typing import Final

from mcp_reflect.patterns import lazy_compile

_TOKEN: Final = lazy_compile(r"`+|[^\s`]+")
_FLAG: Final = r"(--?[A-Za-z][\w-]*)"
_PAIR: Final = lazy_compile(rf"{_FLAG}[^\s`]*(?: [A-Z\d]\S*)?`? (?:\(or |\(|or |/ )`?{_FLAG}")
_CLAUSE_ENDS: Final = (".", ";", ":", ",", "!", "?", ")", "—", "–")
_STRIPPED: Final = "\"'()[]{},;:!?“”‘’"
# Words that turn the clause after them: in a mistake to what was missing, in a correction to what was wrong.
_MISSING: Final = frozenset("without missing lacking omitting forgot forgetting no".split())
_AVOIDED: Final = frozenset(
    "never not no without avoid don't dont instead rather than leave omit drop".split()
)
_MOST_CHARS: Final = 4_000


class Wording:
    """The words of a lesson: the terms and the code spans that it names as wrong and as right.

    `missing` are the terms that were missing by the words of the mistake (`without --context`), `avoided` those that
    the correction says to avoid.
    """

    def __init__(self, mistake: str, correction: str) -> None:
        self.mistake, self.correction = mistake, correction
        said, self.missing, spans, _ = _read(mistake, _MISSING)
        told, self.avoided, self.right_spans, avoided_spans = _read(correction, _AVOIDED)
        self.wrong = said | self.avoided
        self.right = told | self.missing
        self.wrong_spans = [*spans, *avoided_spans]

    def alternatives(self, flag: str) -> tuple[str, ...]:
        """Return the other form of a flag that the lesson names: `--dry-run (or -n)`, `--limit HOST` (-l)."""
        pairs = (
            match.groups()
            for text in (self.mistake, self.correction)
            for match in _PAIR.finditer(text)
        )
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
            runs += [
                words[at + 1 :]
                for at, word in enumerate(words)
                if word.rsplit("/", 1)[-1] == program
            ]
        return runs


def tokens_of(text: str) -> list[str]:
    """Return the words of a text without quotes and the signs that end a clause."""
    words = (_stripped(word) for word in text[:_MOST_CHARS].replace("`", " ").split())
    return [word for word in words if word]


def _stripped(word: str) -> str:
    word = word.strip(_STRIPPED)
    return word[:-1] if len(word) > 1 and word[-1] == "." and word[-2] not in "./" else word


def _read(
    text: str, turns: frozenset[str]
) -> tuple[frozenset[str], frozenset[str], list[str], list[str]]:
    """Return the terms of a text, those after a word that turns the clause, and the code spans of both."""
    terms: tuple[set[str], set[str]] = (set(), set())
    spans: tuple[list[str], list[str]] = ([], [])
    open_span: list[str] | None = None
    turned = False
    for token in _TOKEN.findall(text[:_MOST_CHARS]):
        if token[0] == "`":
            if open_span:
                spans[turned].append(" ".join(open_span))
            open_span = [] if open_span is None else None
            continue
        if open_span is not None:
            open_span.append(token)
        elif token.lower().strip(_STRIPPED) in turns:
            turned = True
        terms[turned].add(_stripped(token))
        if open_span is None and token.endswith(_CLAUSE_ENDS):
            turned = False
    return frozenset(terms[0]), frozenset(terms[1]), *spans


def names_flag(terms: frozenset[str], flag: str) -> bool:
    """True if a flag is among the terms, alone, with a value or in a cluster."""
    if any(term.partition("=")[0] == flag for term in terms if term[:1] == "-"):
        return True
    return len(flag) == 2 and any(
        term[:1] == "-"
        and term[1:2] != "-"
        and 2 < len(term) <= 6
        and term[1:].isalpha()
        and flag[1] in term[1:]
        for term in terms
    )


def common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many words two sequences begin with together."""
    pairs = zip(one, other, strict=False)
    return next(
        (at for at, (first, second) in enumerate(pairs) if first != second),
        min(len(one), len(other)),
    )
