"""Tokens to the value of a sum: recursive descent that evaluates as it reads, bounded in depth, length and size."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import factorial, isqrt
from typing import Final

from mcp_reflect.checkers.arithmetic.numerals import EXACT, MAX_EXPONENT
from mcp_reflect.checkers.arithmetic.tokens import BREAK, DETERMINERS, SCALES, STOPS, Kind, Token

PI: Final = Fraction(314159265358979323846264338327950288419716939937510, 10**50)
_HUNDREDTH: Final = Fraction(1, 100)
_ONE: Final = Fraction(1)
_MAX_BITS: Final = 4096
_MAX_POWER: Final = 400
_MAX_FACTORIAL: Final = 60
_MAX_DEPTH: Final = 30
_MAX_TOKENS: Final = 400
_MAX_LABEL_WORDS: Final = 9
_STARTS: Final = {Kind.NUMBER, Kind.NAME, Kind.OPEN, Kind.CURRENCY, Kind.ROOT, Kind.PI, Kind.FRAC}
_CLOSES: Final = {"(": ")", "[": "]", "{": "}"}


class NoSumError(Exception):
    """There is no sum here that can be read."""


class UnknownError(Exception):
    """The value cannot be known: an unknown in it, too large, not real, divided by zero."""


@dataclass(slots=True)
class Sum:
    """One sum: tokens `start` to `end` of its list.

    `value` is None where it cannot be known, `in_percent` the value if 80% counts as 80, and `others` are those if
    5 dozen counts as 5, or a / b × c is meant as a / (b × c). `literal` is the number token
    where the sum is nothing but a number, its sign and its unit; `name` the name where it is nothing but a name.
    `unsure` means that a mismatch proves nothing, since the sum may be read otherwise; `inexact` that it holds a root
    or π. `weak` labels are single letters that could be variables.
    """

    start: int
    end: int = 0
    value: Fraction | None = None
    in_percent: Fraction | None = None
    others: list[Fraction] = field(default_factory=list[Fraction])
    literal: Token | None = None
    name: str | None = None
    names: bool = False
    lead: Fraction | None = None
    decimals: bool = False
    labels: list[str] = field(default_factory=list[str])
    operators: int = 0
    adds: bool = False
    unsure: bool = False
    inexact: bool = False
    weak: bool = False
    pi: bool = False
    percents: bool = False
    percent: bool = False
    percent_factor: bool = False
    hundred: bool = False
    scale: int = 1


def parse(tokens: list[Token], start: int, known: Mapping[str, Fraction]) -> Sum | None:
    """Return the longest sum that begins at `start`, None where none does. `known` are the values of names."""
    reader = _Reader(tokens, start, known)
    result = reader.sum
    try:
        result.value = reader.expression(0)
    except NoSumError:
        return None
    result.end = reader.at
    if result.operators == 0 and len(reader.numbers) == 1 and not result.names:
        result.literal = reader.numbers[0]
    if result.operators == 0 and result.names and not reader.numbers and tokens[result.end - 1].kind is Kind.NAME:
        result.name = tokens[result.end - 1].text
    result.lead = reader.numbers[0].value if reader.numbers else None
    result.decimals = any(number.decimals > 0 for number in reader.numbers)
    result.hundred = any(number.value == 100 for number in reader.numbers)
    result.percent = result.percents and result.literal is not None
    result.in_percent = result.value
    if result.percents:
        result.in_percent = _Reader(tokens, start, known, hundredth=_ONE).expression(0)
    if result.scale > 1 and (bare := _Reader(tokens, start, known, scaled=False).expression(0)) is not None:
        result.others.append(bare)
    return result


class _Reader:
    def __init__(
        self,
        tokens: list[Token],
        start: int,
        known: Mapping[str, Fraction],
        hundredth: Fraction = _HUNDREDTH,
        *,
        scaled: bool = True,
    ) -> None:
        self.tokens, self.at, self.known, self.hundredth, self.scaled = tokens, start, known, hundredth, scaled
        self.stop = min(len(tokens), start + _MAX_TOKENS)
        self.sum = Sum(start)
        self.numbers: list[Token] = []
        self.kind = ""  # of the operand read last: "percent", "quotient", "power" or ""

    def peek(self, ahead: int = 0) -> Token:
        index = self.at + ahead
        return self.tokens[index] if index < self.stop else BREAK

    def _operator_here(self, operators: str) -> str | None:
        """The operator at this place, if an operand stands behind it."""
        token = self.peek()
        if token.kind is not Kind.OP or token.text not in operators:
            return None
        behind = self.peek(1)
        signed = behind.kind is Kind.OP and behind.text in "+-" and self.peek(2).kind in _STARTS | {Kind.OP}
        return token.text if behind.kind in _STARTS or signed else None

    def _take(self) -> None:
        self.at += 1
        self.sum.operators += 1

    def expression(self, depth: int) -> Fraction | None:
        if depth > _MAX_DEPTH:
            raise NoSumError
        value = self.term(depth)
        kind = self.kind
        while operator := self._operator_here("+-–"):
            self.sum.unsure |= operator == "–"  # 5–10 may be a range
            self._take()
            self.sum.adds = True
            right = self.term(depth)
            self.sum.unsure |= self.kind == "percent" != kind  # 50 - 20% may be 40
            value, self.kind = _apply("+" if operator == "+" else "-", value, right), ""
            self.sum.others = []
        return value

    def term(self, depth: int) -> Fraction | None:
        value = self.factor(depth)
        over: Fraction | None = None  # what stands before the first "/" and
        under: Fraction | None = None  # all that stands behind it: a / b × c may be meant as a / (b × c)
        while True:
            kind = self.kind
            if operator := self._operator_here("*/"):
                self._take()
                right = self.factor(depth)
                if operator == "*":
                    self.sum.percent_factor |= "percent" in {kind, self.kind}
                    if under is not None:
                        under = _apply("*", under, right)
                        self.sum.others = [other for other in (_apply("/", over, under),) if other is not None]
                    value, self.kind = _apply("*", value, right), ""
                else:
                    over, under = value, right
                    value, self.kind = _apply("/", value, right), "quotient"
            elif self._implicit():
                self.sum.unsure |= under is not None
                self.sum.operators += 1
                value, self.kind = _apply("*", value, self.power(depth)), ""
            elif (word := self._of(kind)) is not None:
                self.sum.percent_factor |= kind == "percent"
                right = self.factor(depth)
                share = value if word == "of" else _apply("+" if word == "more" else "-", _ONE, value)
                value, self.kind = _apply("*", share, right), ""
                self.sum.unsure |= self.peek().kind is Kind.OP and self.peek().text in "+-"
            else:
                return value

    def _implicit(self) -> bool:
        """True if a factor follows without an operator: 2x, 3(4 + 1), 2π, 3√2, (a)(b)."""
        token, before = self.peek(), self.tokens[self.at - 1]
        if token.kind in {Kind.NAME, Kind.PI, Kind.ROOT}:
            return before.kind in {Kind.NUMBER, Kind.CLOSE, Kind.PI, Kind.NAME} and token.text != "X"
        if token.kind is Kind.FRAC:
            self.sum.unsure = True  # 1\frac{1}{2} may be mixed
            return before.kind is Kind.CLOSE
        if token.kind is Kind.OPEN and token.text == "(":
            self.sum.unsure |= token.gap and before.kind is not Kind.CLOSE
            words = token.gap and before.kind is Kind.NUMBER and self.peek(1).kind is Kind.WORD
            return before.kind in {Kind.NUMBER, Kind.CLOSE, Kind.PI} and not words
        return False

    def _of(self, kind: str) -> str | None:
        """Take the words of `20% of 50`, `1/2 of 8`, `20% off 50`, `20% more than 50`: "of", "off" or "more"."""
        word, skip = self.peek().text, 1
        if word in {"more", "less", "greater", "fewer"} and self.peek(1).text == "than":
            skip = 2
        elif word not in {"of", "off"}:
            return None
        skip += self.peek(skip).text in DETERMINERS
        share = kind == "percent" or (word == "of" and kind == "quotient")
        if not share or self.peek(skip).kind not in {Kind.NUMBER, Kind.CURRENCY, Kind.OPEN, Kind.NAME}:
            return None
        self.at += skip
        self.sum.operators += 1
        return {"of": "of", "more": "more", "greater": "more"}.get(word, "off")

    def factor(self, depth: int) -> Fraction | None:
        signs, negative = 0, False
        while (self.peek().kind is Kind.OP and self.peek().text in "+-") or (
            self.peek().kind is Kind.CURRENCY and self.peek(1).text == "-"
        ):
            negative ^= self.peek().text == "-"
            self.at += 1
            signs += 1
            if signs > 4:
                raise NoSumError
        value = self.power(depth)
        if not negative:
            return value
        self.sum.unsure |= self.kind == "power"  # -2² is 4 on some calculators
        return _apply("*", Fraction(-1), value)

    def power(self, depth: int) -> Fraction | None:
        value = self.postfix(self.atom(depth))
        if not self._operator_here("^"):
            return value
        if depth > _MAX_DEPTH:
            raise NoSumError
        self.sum.unsure |= self.peek().gap and self.peek(1).gap  # 5 ^ 3 is 6 in code
        self._take()
        negative = self.peek().kind is Kind.OP and self.peek().text == "-"
        self.at += negative
        exponent = self.group(depth) if self.peek().text == "{" else self.power(depth + 1)
        self.kind = "power"
        try:
            value = self._raised(value, -exponent if negative and exponent is not None else exponent)
        except UnknownError:
            value = None
        return self.postfix(value)

    def _raised(self, base: Fraction | None, exponent: Fraction | None) -> Fraction | None:
        if base is None or exponent is None:
            return None
        if exponent.denominator != 1:
            base = self._rooted(base, exponent.denominator)
            self.sum.inexact = True
        count = exponent.numerator
        size = max(base.numerator.bit_length(), base.denominator.bit_length())
        if abs(count) > _MAX_POWER or size * abs(count) > _MAX_BITS or (not base and count <= 0):
            raise UnknownError
        return base**count

    def _rooted(self, value: Fraction, degree: int) -> Fraction:
        """Return the root, exact where it is a square root of whole squares, else as a float gives it."""
        if value < 0 or degree > 9:
            raise UnknownError
        over, under = isqrt(value.numerator), isqrt(value.denominator)
        if degree == 2 and over**2 == value.numerator and under**2 == value.denominator:
            return Fraction(over, under)
        try:
            near = float(value) ** (1 / degree)
        except OverflowError:
            raise UnknownError from None
        whole = Fraction(round(near))
        if whole**degree == value:
            return whole
        self.sum.inexact = True
        return Fraction(near)

    def atom(self, depth: int) -> Fraction | None:
        self.kind = ""
        while self.peek().kind is Kind.CURRENCY:
            self.sum.labels.append(self.peek().text[-1])
            self.at += 1
        token = self.peek()
        if token.kind is Kind.NUMBER:
            self.at += 1
            number = self._scientific(self._mixed(token))
            self.numbers.append(number)
            return number.value
        if token.kind is Kind.PI:
            self.at += 1
            self.sum.pi = self.sum.inexact = True
            self.sum.operators += 1
            return PI
        if token.kind is Kind.NAME:
            self.at += 1
            self.sum.names = True
            if self.peek().kind is Kind.OPEN and not self.peek().gap:
                raise NoSumError  # f(2): a function, or a product nobody can tell from one
            return self.known.get(token.text)
        if token.kind is Kind.ROOT:
            return self._root(depth)
        if token.kind is Kind.FRAC:
            self._take()
            value = _apply("/", self.group(depth), self.group(depth))
            self.kind = "quotient"
            return value
        return self.group(depth)

    def _mixed(self, whole: Token) -> Token:
        """Take `1/2` or `½` behind a whole number, with or without "and"."""
        skip = 1 if self.peek().text == "and" else 0
        over, slash, under = (self.peek(skip + ahead) for ahead in range(3))
        if over.kind is not Kind.NUMBER or whole.value.denominator != 1:
            return whole
        if over.value.denominator != 1 and not over.text[0].isdigit() and over.text[0] != ".":
            part, taken, end = over.value, skip + 1, over.end
        elif slash.text == "/" and under.kind is Kind.NUMBER and under.value > over.value > 0 and (skip or over.gap):
            part, taken, end = over.value / under.value, skip + 3, under.end
            self.sum.operators += 1
        else:
            return whole
        self.at += taken
        return whole._replace(value=whole.value + part, end=end, text="mixed", decimals=EXACT)

    def _scientific(self, number: Token) -> Token:
        """Take `× 10^-19` behind 3.98: its token has that value, the decimals of the whole, and the place of 3.98."""
        star, ten, raised = self.peek(), self.peek(1), self.peek(2)
        if star.text != "*" or ten.text != "10" or raised.text != "^":
            return number
        braces = self.peek(3).kind is Kind.OPEN
        minus = self.peek(3 + braces).text == "-"
        power = self.peek(3 + braces + minus)
        if power.kind is not Kind.NUMBER or power.value.denominator != 1 or power.value > MAX_EXPONENT:
            return number
        self.sum.unsure |= self.at > 1 and self.tokens[self.at - 2].text == "/"
        self.at += 4 + minus + 2 * braces
        shift = -int(power.value) if minus else int(power.value)
        return number._replace(value=number.value * Fraction(10) ** shift, decimals=number.decimals - shift)

    def _root(self, depth: int) -> Fraction | None:
        self._take()
        degree = 2
        if self.peek().text == "[" and self.peek(1).kind is Kind.NUMBER and self.peek(2).text == "]":
            if self.peek(1).value not in range(2, 10):
                raise NoSumError
            degree = int(self.peek(1).value)
            self.at += 3
        if depth > _MAX_DEPTH:
            raise NoSumError
        value = self.group(depth) if self.peek().kind is Kind.OPEN else self.atom(depth + 1)
        self.kind = ""
        try:
            return None if value is None else self._rooted(value, degree)
        except UnknownError:
            return None

    def group(self, depth: int) -> Fraction | None:
        """A bracketed sum; commas, relations or words in it make it no sum."""
        opening = self.peek()
        if opening.kind is not Kind.OPEN:
            raise NoSumError
        self.at += 1
        value = self.expression(depth + 1)
        if self.peek().kind is not Kind.CLOSE or self.peek().text != _CLOSES[opening.text]:
            raise NoSumError
        self.at += 1
        return value

    def postfix(self, value: Fraction | None) -> Fraction | None:
        """Percent signs, factorials, scales (5 dozen) and labels behind an operand."""
        while True:
            token = self.peek()
            if token.kind is Kind.PERCENT:
                self.sum.percents = True
                value, self.kind = _apply("*", value, self.hundredth), "percent"
            elif token.kind is Kind.FACTORIAL:
                self.sum.operators += 1
                value = _factorial(value)
            elif token.kind is Kind.LABEL:
                self.sum.labels.append(token.text)
                self.sum.weak |= len(token.text) == 1
            elif token.kind is Kind.CURRENCY and not (self.peek(1).kind is Kind.NUMBER and token.gap):
                self.sum.labels.append(token.text[-1])
            elif token.kind is Kind.WORD and token.text.lower() in SCALES and self.peek(-1).kind is Kind.NUMBER:
                self.sum.scale = SCALES[token.text.lower()]
                value = _apply("*", value, Fraction(self.sum.scale if self.scaled else 1))
            elif self._words():
                continue
            else:
                return value
            self.at += 1

    def _words(self) -> bool:
        """Take the words of a label: `5 apples per basket`, `$5 / period`, `60 minutes/hour`."""
        begun = self.at
        while self.at - begun < _MAX_LABEL_WORDS:
            token = self.peek()
            word = token.text.lower()
            if token.kind is Kind.WORD and word not in STOPS and (word not in SCALES or self.at > begun):
                if self.at == begun or self.peek(-1).text == "/":
                    self.sum.labels.append(token.text)
                self.at += 1
            elif (word == "of" and self.at > begun and self.peek(1).kind is Kind.WORD) or (
                token.text == "/" and self.peek(1).kind is Kind.WORD and self.peek(1).text.lower() not in STOPS
            ):
                self.at += 1  # 90 pieces of straw
            else:
                break
        return self.at > begun


_OPERATIONS: Final[dict[str, Callable[[Fraction, Fraction], Fraction]]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}


def _apply(operator: str, left: Fraction | None, right: Fraction | None) -> Fraction | None:
    """Return the result; None where a side is unknown or the result is not one to be known."""
    if left is None or right is None or (operator == "/" and not right):
        return None
    result = _OPERATIONS[operator](left, right)
    return None if max(result.numerator.bit_length(), result.denominator.bit_length()) > _MAX_BITS else result


def _factorial(value: Fraction | None) -> Fraction | None:
    if value is None or value.denominator != 1 or not 0 <= value <= _MAX_FACTORIAL:
        return None
    return Fraction(factorial(int(value)))
