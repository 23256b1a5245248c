"""The equations of a text: runs of tokens around `=`, with what stands beside them.

A run is taken only where its ends are plain: a number that belongs to a date, a label, a range or another number is no
start and no end of a sum. Code, quotations and formulas are blanked before a text is read.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from mcp_reflect.evidence.tokens import Token, TokenKind, read_tokens
from mcp_reflect.evidence.unit_names import is_currency
from mcp_reflect.evidence.word_lists import read_word_list

MOST_READ: Final = 20_000
"""Characters of a step that are read."""

_MOST_WORDS_READ: Final = 200_000  # characters of a work whose words are looked at
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
_CODE_SIGN: Final = re.compile(r"[\[\]{}\\~≡±√∑∫]|==|->|:=|(?<!\d)'\d")
"""Beside one of these, an equation is a line of a program or a formula."""

_CLAUSES: Final = re.compile(r"[^\n;]+")
_STOP: Final = re.compile(r"(?<![.!?])[.!?]++(?=\s++\S)")
_WORDS: Final = re.compile(r"[^\W\d_]+|[°&|]")
_PHRASES: Final = {
    "base n": re.compile(r"\b[Bb]ase (?:\d|two|eight|ten|twelve|sixteen)"),
    "decibel": re.compile(r"\bdB"),
    "modulo": re.compile(
        r"ℤ|𝔽|\b[ZF]_?\{?\d|\bfield (?:with|of) \w+ elements\b|\b(?:finite|Galois) field\b"
    ),
}
"""Signs of another arithmetic that are no words, by the word that stands for them."""

_LIST_MARK: Final = re.compile(
    r"\s*(?:[-*+•]\s+|(?:[Ss]tep\s+)?\d{1,3}[.):]\s+|[a-z]\)\s+)?(?:\*\*|__)?"
)


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


@cache
def words_for(heading: str) -> frozenset[str]:
    """Return the words of a heading of words/arithmetic.txt."""
    return frozenset(read_word_list("arithmetic")[heading])


def blanked(step: str) -> str:
    """Return the start of a step with blanks in the place of code and quotations, every other sign in its place."""
    text = _PLAIN_FORMULA.sub(_as_plain_sum, step[:MOST_READ])
    for pattern in (_FENCED, _QUOTED_LINE, _CODE, _QUOTED):
        text = pattern.sub(lambda found: re.sub(r"\S", " ", found[0][:-1]) + "\0", text)
    return text


def _as_plain_sum(formula: re.Match[str]) -> str:
    r"""Return a plain formula without its marks and commands, each sign in its place.

    "$12 \cdot 15 = 180$" -> " 12 *     15 = 180 ". What is no equation, such as "$5 + 3$", stays as it is.
    """
    opening, inner, closing = formula.groups()
    if _CLOSING_MARKS[opening] != closing or "=" not in inner:
        return formula[0]
    for command, sign in _LATEX_SIGNS.items():
        inner = inner.replace(command, sign.ljust(len(command)))
    return " " * len(opening) + inner + " " * len(closing)


def equations_in(step: str, letter: str = "") -> Iterator[Equation]:
    """Yield the equations of a step. With `letter`, it may stand for a number in them."""
    sentences = list(_sentences(blanked(step)))
    for at, (sentence, place) in enumerate(sentences):
        if "=" not in sentence or len(sentence) > _MOST_SENTENCE or _CODE_SIGN.search(sentence):
            continue
        beside = sentences[max(at - 1, 0) : at] + sentences[at + 1 : at + 2]
        if any(_is_refuting(text) for text, _ in beside):
            continue
        head = 0
        if mark := _LIST_MARK.match(sentence):
            head = mark.end()
        tokens = read_tokens(" " * head + sentence[head:])
        if _is_stated(tokens):
            yield from _equations(tokens, place, letter)


def _is_refuting(sentence: str) -> bool:
    """True for "That was a slip", said of a sum in the sentence before it or behind it."""
    return not words_for("refuting").isdisjoint(words_of(sentence[:_MOST_SENTENCE]))


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text in lower case, and the signs that say as much as a word: "°", "&" and "|"."""
    phrases = {name for name, pattern in _PHRASES.items() if pattern.search(text)}
    return frozenset(_WORDS.findall(text.lower())) | phrases


def words_of_a_work(steps: Sequence[str], goal: str) -> frozenset[str]:
    """Return the words of a work.

    They say how its sums are meant, and may stand anywhere: in the goal, a heading, or sentences before.
    """
    words: set[str] = set()
    room = _MOST_WORDS_READ
    for text in (goal, *steps):
        part = text[: min(room, MOST_READ)]
        words |= words_of(part)
        room -= len(part)
        if room <= 0:
            break
    return frozenset(words)


def is_another_arithmetic(words: frozenset[str]) -> bool:
    """True where the words of a work say that its sums are no plain ones: "modulo", "binary", "In Z_7"."""
    return not words.isdisjoint(words_for("another_arithmetic"))


def _sentences(text: str) -> Iterator[tuple[str, int]]:
    """Yield each sentence with its place: a newline, ";" and a stop before a blank end one, a point between digits none."""
    for clause in _CLAUSES.finditer(text):
        start = clause.start()
        for stop in _STOP.finditer(text, clause.start(), clause.end()):
            yield text[start : stop.end()], start
            start = stop.end()
        yield text[start : clause.end()], start


def _is_stated(tokens: Sequence[Token]) -> bool:
    """False for a sentence that asks, supposes, quotes, says what is wrong, or has a date or a time in it."""
    if any(token.text == "?" or token.kind is TokenKind.PLACE for token in tokens):
        return False
    words = {token.text.lower() for token in tokens if token.kind is TokenKind.WORD}
    return not words & words_for("unstated")


def _equations(tokens: Sequence[Token], place: int, letter: str) -> Iterator[Equation]:
    """Yield the equations of a sentence: "so 3 + 4 = 7 = 2 + 5" has the sides 3 + 4, 7 and 2 + 5.

    A side that may be part of something larger, "May 3 + 4 = 7", is left out, since its value is not known.
    """
    for first, last in _runs(tokens, letter):
        run = tokens[first:last]
        if not any(token.kind is TokenKind.EQUALS for token in run) or _is_conditional(
            tokens, first
        ):
            continue
        if _has_remark_behind(tokens, last):
            continue
        starts_plainly = _starts_plainly(tokens, first)
        if not _ends_plainly(tokens, last):
            run = run[: _last_equals(run)]
        sides = list(_sides(run, place))
        if not starts_plainly:
            sides = sides[1:]  # a side behind an equals sign is whole
        if len(sides) < 2:
            continue
        unit = ""
        if last < len(tokens) and tokens[last].kind is TokenKind.WORD:
            unit = tokens[last].text
        yield Equation(sides=tuple(sides), unit_behind=unit)


def _is_conditional(tokens: Sequence[Token], first: int) -> bool:
    """True if the clause before a run begins with a condition: "if 2 + 2 = 5", not "if so, 2 + 2 = 5"."""
    conditions = words_for("conditions")
    for token in reversed(tokens[:first]):
        if token.text in (",", ":", "then", "dann", "alors", "entonces"):
            return False
        if token.kind is TokenKind.WORD and token.text.lower() in conditions:
            return True
    return False


def _has_remark_behind(tokens: Sequence[Token], last: int) -> bool:
    """True for "50 ml + 50 ml = 96 ml (water and ethanol)": the words may say how it is counted."""
    unit = tokens[last : last + 1]
    if unit and unit[0].kind is TokenKind.WORD:
        last += 1
    remark = tokens[last : last + 2]
    return (
        len(remark) == 2 and remark[0].kind is TokenKind.OPEN and remark[1].kind is TokenKind.WORD
    )


def _last_equals(run: Sequence[Token]) -> int:
    return max(at for at, token in enumerate(run) if token.kind is TokenKind.EQUALS)


def _runs(tokens: Sequence[Token], letter: str) -> Iterator[tuple[int, int]]:
    """Yield the first and last place (not included) of tokens that may belong to one equation."""
    start: int | None = None
    for at in range(len(tokens) + 1):
        if at < len(tokens) and _belongs(tokens, at, letter):
            if start is None:
                start = at
        elif start is not None:
            yield start, _without_open_end(tokens, start, at)
            start = None


def _without_open_end(tokens: Sequence[Token], start: int, end: int) -> int:
    """Return the end of a run without a parenthesis that words follow: "= $21 (with the tip)"."""
    while end > start and tokens[end - 1].kind is TokenKind.OPEN:
        end -= 1
    return end


def _belongs(tokens: Sequence[Token], at: int, letter: str) -> bool:
    """True if a token may be a part of an equation: a word ends the run, unless it belongs to a number beside it.

    Numbers and signs of arithmetic belong, and the letter that stands for the unknown. Other tokens ("," or "#") do not.
    """
    token = tokens[at]
    if token.kind in (TokenKind.OTHER, TokenKind.PLACE):
        return False
    is_word = token.kind is TokenKind.WORD
    return not is_word or (bool(letter) and token.text == letter) or _is_word_of_a_sum(tokens, at)


def _is_word_of_a_sum(tokens: Sequence[Token], at: int) -> bool:
    """True if a word stands where a sum has words.

    - a unit behind "per" or "/": the "day" of "$5 per day", the "hour" of "60 km/hour"
    - the "of" of "20% of 50", in any language, and no other: "a total of 5" begins a sum behind it
    - a currency at a number, on either side: "costs USD 5", "5 euros"
    - the "per" between a number or its unit and a unit: "5 per day", "5 km per day"
    - a unit that a sign of arithmetic follows: the first "km" of "3 km + 2 km"

    A word at the start or end of the sentence is none of the last four: nothing on one side shows that it is a part.
    """
    token = tokens[at]
    before = tokens[at - 1] if at else None
    after = tokens[at + 1] if at + 1 < len(tokens) else None
    if before is not None and before.text in ("/", "per"):
        return at > 1 and tokens[at - 2].kind in (TokenKind.NUMBER, TokenKind.WORD)
    if before is None or after is None:
        return False
    if before.kind is TokenKind.PERCENT:
        return token.text in words_for("of")
    if is_currency(token):
        return TokenKind.NUMBER in (before.kind, after.kind)
    if token.text == "per":
        is_behind_amount = before.kind is TokenKind.NUMBER or _is_unit(tokens, at - 1)
        return is_behind_amount and after.kind is TokenKind.WORD
    return _is_unit(tokens, at)


def _is_unit(tokens: Sequence[Token], at: int) -> bool:
    """True for a word between a number and a sign: the "km" of "3 km + 2 km"."""
    if at == 0 or at + 1 >= len(tokens) or tokens[at - 1].kind is not TokenKind.NUMBER:
        return False
    after = tokens[at + 1]
    ends_an_operand = after.kind in (
        TokenKind.OPERATOR,
        TokenKind.EQUALS,
        TokenKind.CLOSE,
        TokenKind.POWER,
    )
    return ends_an_operand or after.text == "per"


def _sides(run: Sequence[Token], place: int) -> Iterator[Side]:
    """Yield the sides of a run; one without a token for "= = 5" and "= 5", so that each equals sign parts two sides."""
    own: list[Token] = []
    for token in [*run, None]:
        if token is not None and token.kind is not TokenKind.EQUALS:
            own.append(token)
            continue
        if own:
            yield Side(tuple(own), place + own[0].start, place + own[-1].end)
        else:
            yield Side((), place, place)
        own = []


def _starts_plainly(tokens: Sequence[Token], first: int) -> bool:
    """True if what stands before a run does not belong to its first number.

    Otherwise that number is a part of something larger, such as "May 3", "4:30" or "12,000", and its side is left out.
    """
    if first == 0:
        return True
    before, token = tokens[first - 1], tokens[first]
    if (
        token.kind is TokenKind.WORD
    ):  # the letter of the unknown: nothing is a larger number with it
        return before.kind is TokenKind.WORD or before.text in ",:;→⇒"
    if before.kind is TokenKind.OTHER:
        return _starts_behind_a_mark(tokens, first)
    if before.kind is TokenKind.WORD and token.apart:
        return _starts_behind_a_word(tokens, first)
    return False  # the word touches the number: "v2"


_BEFORE_A_SUM: Final = frozenset(",:;([{|—…→⇒，：；")


def _starts_behind_a_mark(tokens: Sequence[Token], first: int) -> bool:
    """True for "Total: 3 + 4", "(3 + 4", and with no blank between for "total:3 + 4".

    Without a blank "4:30" is a time and "12,000" is one number. Behind "#" or "@" a number is a name.
    """
    mark = tokens[first - 1].text
    if mark not in _BEFORE_A_SUM:
        return False
    if tokens[first].apart:
        return True
    is_clock = mark == ":" and first > 1 and tokens[first - 2].kind is TokenKind.NUMBER
    return mark != "," and not is_clock


def _starts_behind_a_word(tokens: Sequence[Token], first: int) -> bool:
    """True if the word before a run, with a blank between, is a word of the sentence and no part of its number.

    The first rule that knows the word decides:
    - the first word of a sentence: "Hence 3 + 4", but not a label ("Step 3 + 4"), a month or a word that joins
    - a word that links a sum to its sentence: "it is 3 + 4", "gives 3 + 4"
    - a word that joins two numbers begins a sum only behind an amount: "a total of 3 + 4", but not "5 and 3 + 4"
    - any other word: "we add 3 + 4". Not a label, not the unit of a number before ("5 ft 3 + 4"), not a name ("the
      Boeing 737 + 3"), which is a capital behind another word
    """
    before = tokens[first - 1]
    earlier = tokens[first - 2] if first > 1 else None
    word = before.text.lower()
    if earlier is None:
        return word not in _UNFIT
    if word in words_for("linking"):
        return True
    if word in words_for("joined"):
        return _begins_an_amount(word, earlier)
    is_name = (
        before.text[0].isupper() and earlier.kind is TokenKind.WORD and not _has_unit(tokens, first)
    )
    return word not in _UNFIT and earlier.kind is not TokenKind.NUMBER and not is_name


def _has_unit(tokens: Sequence[Token], first: int) -> bool:
    """True for a number that cannot be part of a name before it, since it has a unit: "Tim 60 feet / 3", "Tim $5 + $3"."""
    if is_currency(tokens[first]):
        return True
    return first + 1 < len(tokens) and _is_unit(tokens, first + 1)


def _begins_an_amount(word: str, earlier: Token) -> bool:
    """True for "a total of 24 + 48", "comes to 3 × 4" and ", and 3 + 4", where no number stands before."""
    if earlier.text in (",", ")"):
        return word in words_for("adding")
    if earlier.kind is not TokenKind.WORD:
        return False
    if word == "to":
        return True
    if word == "by":
        return earlier.text.lower() not in words_for("operations")
    return earlier.text.lower() in words_for("amounts")


def _unfit() -> frozenset[str]:
    headings = ("labels", "joined", "months")
    return frozenset[str]().union(*map(words_for, headings)) | {"x"}


_UNFIT: Final = _unfit()
"""Words behind which a number is no start of a sum: "Step 3", "of 3", "May 3", "x 3"."""


_MAY_FOLLOW: Final = frozenset(".,:;)]}|—…→⇒，：；。")


def _ends_plainly(tokens: Sequence[Token], last: int) -> bool:
    """True if what stands behind a run does not belong to its last number: no "17 March 2026", no "5 ft 3 in"."""
    if last == len(tokens):
        return True
    token = tokens[last]
    if token.kind is TokenKind.OPEN:
        return token.apart
    if token.kind is TokenKind.OTHER:
        following = tokens[last + 1] if last + 1 < len(tokens) else None
        return token.text in _MAY_FOLLOW and (
            following is None or following.apart or token.text in ")]}"
        )
    if token.kind is not TokenKind.WORD:
        return False
    word = token.text.lower()
    if word in words_for("months"):
        return False
    following = tokens[last + 1 : last + 3]
    if any(one.kind is TokenKind.NUMBER for one in following[:1]):
        return False
    if len(following) < 2 or following[1].kind is not TokenKind.NUMBER:
        return True
    return following[0].text.lower() not in words_for("adding")  # "7 apples and 2 pears"
