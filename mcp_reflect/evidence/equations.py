"""The equations of a text: runs of tokens around `=`, with the unit behind them.

Code, quotations and formulas are blanked before a text is read. A run is taken only where its ends are plain, which
`equation_ends` says.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from mcp_reflect.evidence.equation_ends import ends_plainly, starts_plainly
from mcp_reflect.evidence.sum_words import MOST_READ, words_for, words_of
from mcp_reflect.evidence.tokens import Token, TokenKind, read_tokens
from mcp_reflect.evidence.unit_names import is_currency, is_unit_at

_MOST_SENTENCE: Final = 2_000
_FENCED: Final = re.compile(r"(?ms)^[ \t]{0,3}(```|~~~).*?(?:^[ \t]{0,3}\1|\Z)")
_CODE: Final = re.compile(r"`[^`\n]{1,300}`|\$[^$\n]{0,200}[\\_^=][^$\n]{0,200}\$(?!\d)")
_PLAIN_FORMULA: Final = re.compile(
    r"(?<![\w\\$])"
    r"(\$\$?|\\\(|\\\[)"
    r"((?=[\d(a-z ])(?:[\d+=.,() -]|(?<![a-z])[a-z](?![a-z])|\^\d(?!\d)|\\(?:cdot|times|div)(?![a-z]))++)"
    r"(\$\$?|\\\)|\\\])"
    r"(?![\w$])"
)
"""A formula of LaTeX that says no more than a plain sum: "$12 \\cdot 15 = 180$", "\\(2x + 3 = 7\\)"."""

_CLOSING_MARKS: Final = {"$": "$", "$$": "$$", r"\(": r"\)", r"\[": r"\]"}
_LATEX_SIGNS: Final = {r"\cdot": "*", r"\times": "*", r"\div": "/"}
_QUOTED: Final = re.compile(r"\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|«[^»\n]{1,300}»|„[^“\n]{1,300}“")
_QUOTED_LINE: Final = re.compile(r"(?m)^[ \t]{0,3}>.*$")
_CODE_MARK: Final = re.compile(r"[\[\]{}\\~≡±√∑∫]|==|->|:=|(?<!\d)'\d")
"""Beside one of these, an equation is a line of a program or a formula."""

_CLAUSES: Final = re.compile(r"[^\n;]+")
_STOP: Final = re.compile(r"(?<![.!?])[.!?]++(?=\s++\S)")
_LIST_MARK: Final = re.compile(
    r"\s*(?:[-*+•]\s+|(?:[Ss]tep\s+)?\d{1,3}[.):]\s+|[a-z]\)\s+)?(?:\*\*|__)?"
)

_CONDITION_ENDS: Final = (",", ":", "then", "dann", "alors", "entonces")
"""What parts a condition from what follows from it: "if so, 2 + 2 = 4"."""


@dataclass(frozen=True, slots=True)
class Side:
    """One side of an equation: its tokens, and where it stands in the step."""

    tokens: tuple[Token, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Equation:
    """Two sides or more, as they stand in a step, with the word behind them, which may be a unit of the last side."""

    sides: tuple[Side, ...]
    unit_behind: str


def blanked(step: str) -> str:
    """Return the start of a step with blanks in the place of code and quotations, every other sign in its place."""
    text = _PLAIN_FORMULA.sub(_as_plain_sum, step[:MOST_READ])
    for pattern in (_FENCED, _QUOTED_LINE, _CODE, _QUOTED):
        text = pattern.sub(lambda match: re.sub(r"\S", " ", match[0][:-1]) + "\0", text)
    return text


def _as_plain_sum(formula: re.Match[str]) -> str:
    r"""Return a plain formula without its marks and commands, each sign in its place.

    "$12 \cdot 15 = 180$" -> " 12 *     15 = 180 ". What is no equation, such as "$5 + 3$", stays as it is.
    """
    opening, inner, closing = formula.groups()
    if _CLOSING_MARKS[opening] != closing or "=" not in inner:
        return formula[0]
    for command, operator in _LATEX_SIGNS.items():
        inner = inner.replace(command, operator.ljust(len(command)))
    return " " * len(opening) + inner + " " * len(closing)


def equations_in(step: str, letter: str = "") -> Iterator[Equation]:
    """Yield the equations of a step; `letter` is the unknown that may stand for a number in them.

    No equation is read in a sentence that is a line of code, that states nothing, or beside one that says it is wrong.
    """
    sentences = list(_sentences(blanked(step)))
    for index, sentence in enumerate(sentences):
        text = sentence.text
        if "=" not in text or len(text) > _MOST_SENTENCE or _CODE_MARK.search(text):
            continue
        beside = sentences[max(index - 1, 0) : index] + sentences[index + 1 : index + 2]
        if any(_is_refuting(other.text) for other in beside):
            continue
        tokens = read_tokens(_without_list_mark(text))
        if _is_stated(tokens):
            yield from _equations(tokens, sentence.offset, letter)


def _without_list_mark(sentence: str) -> str:
    """Return a sentence with blanks in the place of its mark in a list: "2. 3 + 4 = 7" -> "   3 + 4 = 7"."""
    mark = _LIST_MARK.match(sentence)
    if mark is None:
        return sentence
    return " " * mark.end() + sentence[mark.end() :]


def _is_refuting(sentence: str) -> bool:
    """True for "That was a slip", said of a sum in the sentence before it or behind it."""
    return not words_for("refuting").isdisjoint(words_of(sentence[:_MOST_SENTENCE]))


class _PlacedSentence(NamedTuple):
    """A sentence, and its offset in the step."""

    text: str
    offset: int


def _sentences(text: str) -> Iterator[_PlacedSentence]:
    """Yield each sentence: a newline, ";" and a stop before a blank end one, a point between digits does not."""
    for clause in _CLAUSES.finditer(text):
        start = clause.start()
        for stop in _STOP.finditer(text, clause.start(), clause.end()):
            yield _PlacedSentence(text[start : stop.end()], start)
            start = stop.end()
        yield _PlacedSentence(text[start : clause.end()], start)


def _is_stated(tokens: Sequence[Token]) -> bool:
    """False for a sentence that asks, supposes, quotes, says what is wrong, or has a date or a time in it."""
    if any(token.text == "?" or token.kind is TokenKind.NOT_COMPUTED for token in tokens):
        return False
    words = {token.text.lower() for token in tokens if token.kind is TokenKind.WORD}
    return not words & words_for("unstated")


def _equations(tokens: Sequence[Token], offset: int, letter: str) -> Iterator[Equation]:
    """Yield the equations of a sentence: "so 3 + 4 = 7 = 2 + 5" has the sides 3 + 4, 7 and 2 + 5.

    A side that may be part of something larger, "May 3 + 4 = 7", is left out, since its value is not known. `offset` is
    that of the sentence in the step.
    """
    is_conditional = False
    done = 0
    for first, end in _runs(tokens, letter):
        is_conditional = _is_conditional_behind(tokens[done:first], before=is_conditional)
        done = first
        if is_conditional or _has_remark_behind(tokens, end):
            continue
        run = tokens[first:end]
        equals_signs = [index for index, one in enumerate(run) if one.kind is TokenKind.EQUALS]
        if not equals_signs:
            continue
        if not ends_plainly(tokens, end):
            run = run[: equals_signs[-1]]
        sides = list(_sides(run, offset))
        if not starts_plainly(tokens, first):
            sides = sides[1:]  # a side behind an equals sign is whole
        if len(sides) > 1:
            yield Equation(sides=tuple(sides), unit_behind=_word_at(tokens, end))


def _word_at(tokens: Sequence[Token], index: int) -> str:
    """Return the word at an index, empty where none stands there."""
    if index < len(tokens) and tokens[index].kind is TokenKind.WORD:
        return tokens[index].text
    return ""


def _is_conditional_behind(tokens: Iterable[Token], *, before: bool) -> bool:
    """Return whether a condition stands behind some tokens: in "if 2 + 2 = 5", not behind "if so,".

    `before` tells it of the tokens in front of these, so that each token of a sentence is looked at once.
    """
    conditions = words_for("conditions")
    is_conditional = before
    for token in tokens:
        if token.text in _CONDITION_ENDS:
            is_conditional = False
        elif token.kind is TokenKind.WORD and token.text.lower() in conditions:
            is_conditional = True
    return is_conditional


def _has_remark_behind(tokens: Sequence[Token], end: int) -> bool:
    """Return whether words in parentheses follow, which may say how it is counted: "= 96 ml (water and ethanol)"."""
    if _word_at(tokens, end):  # the unit of the last side
        end += 1
    following = [token.kind for token in tokens[end : end + 2]]
    return following == [TokenKind.OPEN, TokenKind.WORD]


class _Run(NamedTuple):
    """Tokens that may belong to one equation: the index of the first one, and that behind the last one."""

    first: int
    end: int


def _runs(tokens: Sequence[Token], letter: str) -> Iterator[_Run]:
    """Yield the longest runs of tokens that may belong to one equation; what ends them are mostly words."""
    first: int | None = None
    for index in range(len(tokens) + 1):
        if index < len(tokens) and _belongs(tokens, index, letter):
            if first is None:
                first = index
        elif first is not None:
            yield _Run(first, _without_open_end(tokens, first, index))
            first = None


def _without_open_end(tokens: Sequence[Token], start: int, end: int) -> int:
    """Return the end of a run without a parenthesis that words follow: "= $21 (with the tip)"."""
    while end > start and tokens[end - 1].kind is TokenKind.OPEN:
        end -= 1
    return end


def _belongs(tokens: Sequence[Token], index: int, letter: str) -> bool:
    """Return whether a token may be a part of an equation; the first row that fits decides.

    | the token                                         | belongs                                         |
    |---------------------------------------------------|-------------------------------------------------|
    | a date, or a sign of no sum such as "," and "#"   | no                                              |
    | a number, an operator, a parenthesis              | yes                                             |
    | the letter of the unknown                         | yes                                             |
    | any other word                                    | only where a sum has words: the "km" of "3 km + 2 km" |
    """
    token = tokens[index]
    if token.kind in (TokenKind.OTHER, TokenKind.NOT_COMPUTED):
        return False
    if token.kind is not TokenKind.WORD:
        return True
    is_unknown = bool(letter) and token.text == letter
    return is_unknown or _is_word_of_a_sum(tokens, index)


def _is_word_of_a_sum(tokens: Sequence[Token], index: int) -> bool:
    """True if a word stands where a sum has words.

    - a unit behind "per" or "/": the "day" of "$5 per day", the "hour" of "60 km/hour"
    - the "of" of "20% of 50", in any language, and no other: "a total of 5" begins a sum behind it
    - a currency at a number, on either side: "costs USD 5", "5 euros"
    - the "per" between a number or its unit and a unit: "5 per day", "5 km per day"
    - a unit that a sign of arithmetic follows: the first "km" of "3 km + 2 km"

    A word at the start or end of the sentence is none of the last four: nothing on one side shows that it is a part.
    """
    token = tokens[index]
    before = tokens[index - 1] if index else None
    after = tokens[index + 1] if index + 1 < len(tokens) else None
    if before is not None and before.text in ("/", "per"):
        return index > 1 and tokens[index - 2].kind in (TokenKind.NUMBER, TokenKind.WORD)
    if before is None or after is None:
        return False
    if before.kind is TokenKind.PERCENT:
        return token.text in words_for("of")
    if is_currency(token):
        return TokenKind.NUMBER in (before.kind, after.kind)
    if token.text == "per":
        is_behind_amount = before.kind is TokenKind.NUMBER or is_unit_at(tokens, index - 1)
        return is_behind_amount and after.kind is TokenKind.WORD
    return is_unit_at(tokens, index)


def _sides(run: Sequence[Token], offset: int) -> Iterator[Side]:
    """Yield the sides of a run; one without a token for "= = 5" and "= 5", so that each equals sign parts two sides."""
    tokens_of_side: list[Token] = []
    for token in run:
        if token.kind is TokenKind.EQUALS:
            yield _side_of(tokens_of_side, offset)
            tokens_of_side = []
        else:
            tokens_of_side.append(token)
    yield _side_of(tokens_of_side, offset)


def _side_of(tokens: Sequence[Token], offset: int) -> Side:
    """Return the side that some tokens are; `offset` is that of their sentence in the step."""
    if not tokens:
        return Side((), offset, offset)
    return Side(tuple(tokens), offset + tokens[0].start, offset + tokens[-1].end)
