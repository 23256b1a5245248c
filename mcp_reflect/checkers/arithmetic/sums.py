"""Tokens to the value of a sum: recursive descent that evaluates as it reads, bounded in depth, length and size."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import isqrt
from typing import Final

from mcp_reflect.checkers.arithmetic.tokens import BREAK, DETERMINERS, SCALES, STOPS, Kind, Token

_MAX_BITS: Final = 4096
_MAX_POWER: Final = 400
_MAX_DEPTH: Final = 30
_MAX_TOKENS: Final = 400
_MAX_LABEL_WORDS: Final = 9
_STARTS: Final = {Kind.NUMBER, Kind.NAME, Kind.OPEN, Kind.CURRENCY, Kind.ROOT, Kind.FRAC}
_CLOSES: Final = {"(": ")", "[": "]", "{": "}"}


class NoSumError(Exception):
    """There is no sum here that can be read."""


@dataclass(slots=True)
class Sum:
    """One sum: tokens `start` to `end` of its list.

    `value` is None where it cannot be known (an unknown, too large, not real, divided by zero), `in_percent` the
    value if 80% counts as 80. `literal` is the number token where the sum is
    nothing but a number, its sign and its unit; `name` the name where it is nothing but a name. `unsure` means that a
    mismatch proves nothing, since the sum may be read otherwise. `weak` labels are single letters that could be
    variables. `shares` is True where a percentage is taken of something.
    """

    start: int
    end: int = 0
    value: Fraction | None = None
    in_percent: Fraction | None = None
    literal: Token | None = None
    name: str | None = None
    names: bool = False
    lead: Fraction | None = None
    decimals: bool = False
    labels: list[str] = field(default_factory=list[str])
    operators: int = 0
    adds: bool = False
    unsure: bool = False
    weak: bool = False
    percents: bool = False
    shares: bool = False
    scale: int = 1


def parse(tokens: list[Token], start: int, known: Mapping[str, Fraction]) -> Sum | None:
    """Return the longest sum that begins at `start`, None where none does. `known` are the values of names."""
    reader = _Reader(tokens, start, known)
    result, numbers = reader.sum, reader.numbers
    try:
        result.value = result.in_percent = reader.expression(0)
    except NoSumError:
        return None
    result.end = reader.at
    if result.operators == 0 and len(numbers) == 1 and not result.names:
        result.literal = numbers[0]
    if result.operators == 0 and result.names and not numbers and tokens[result.end - 1].kind is Kind.NAME:
        result.name = tokens[result.end - 1].text
    result.lead = numbers[0].value if numbers else None
    result.decimals = any(number.decimals > 0 for number in numbers)
    if result.percents:
        result.in_percent = _Reader(tokens, start, known, hundredth=Fraction(1)).expression(0)
    return result


class _Reader:
    def __init__(
        self, tokens: list[Token], start: int, known: Mapping[str, Fraction], hundredth: Fraction = Fraction(1, 100)
    ) -> None:
        self.tokens, self.at, self.known, self.hundredth = tokens, start, known, hundredth
        self.stop = min(len(tokens), start + _MAX_TOKENS)
        self.sum = Sum(start)
        self.numbers: list[Token] = []
        self.kind = ""  # of the operand read last: "percent", "quotient", "power" or ""

    def peek(self, ahead: int = 0) -> Token:
        index = self.at + ahead
        return self.tokens[index] if index < self.stop else BREAK

    def _operator(self, operators: str) -> str | None:
        """Take an operator, if an operand stands behind it."""
        token, behind = self.peek(), self.peek(1)
        if token.kind is not Kind.OP or token.text not in operators:
            return None
        if behind.kind in _STARTS or (behind.text in {"+", "-"} and self.peek(2).kind in _STARTS | {Kind.OP}):
            self.at += 1
            self.sum.operators += 1
            return token.text
        return None

    def expression(self, depth: int) -> Fraction | None:
        if depth > _MAX_DEPTH:
            raise NoSumError
        value = self.term(depth)
        kind = self.kind
        while operator := self._operator("+-–"):
            self.sum.unsure |= operator == "–"  # 5–10 may be a range
            self.sum.adds = True
            right = self.term(depth)
            self.sum.unsure |= self.kind == "percent" != kind  # 50 - 20% may be 40
            value, self.kind = _apply("+" if operator == "+" else "-", value, right), ""
        return value

    def term(self, depth: int) -> Fraction | None:
        value = self.factor(depth)
        divided = False
        while True:
            kind = self.kind
            if operator := self._operator("*/"):
                right = self.factor(depth)
                self.sum.shares |= operator == "*" and "percent" in {kind, self.kind}
                divided |= operator == "/"
                value, self.kind = _apply(operator, value, right), "quotient" if operator == "/" else ""
            elif self._implicit():
                self.sum.unsure |= divided
                self.sum.operators += 1
                value, self.kind = _apply("*", value, self.power(depth)), ""
            elif word := self._of(kind):
                self.sum.shares |= kind == "percent"
                share = value if word == "of" else _apply("+" if word == "more" else "-", Fraction(1), value)
                value, self.kind = _apply("*", share, self.factor(depth)), ""
                self.sum.unsure |= self.peek().kind is Kind.OP and self.peek().text in "+-"
            else:
                return value

    def _implicit(self) -> bool:
        """True if a factor follows without an operator: 2x, 3(4 + 1), 3√2, (a)(b)."""
        token, before = self.peek(), self.tokens[self.at - 1]
        if token.kind in {Kind.NAME, Kind.ROOT}:
            return before.kind in {Kind.NUMBER, Kind.CLOSE, Kind.NAME} and token.text != "X"
        if token.kind is not Kind.OPEN or token.text != "(":
            return False
        self.sum.unsure |= token.gap and before.kind is not Kind.CLOSE
        words = token.gap and before.kind is Kind.NUMBER and self.peek(1).kind is Kind.WORD
        return before.kind in {Kind.NUMBER, Kind.CLOSE} and not words

    def _of(self, kind: str) -> str | None:
        """Take the words of `20% of 50`, `1/2 of 8`, `20% off 50`, `20% more than 50`: "of", "off" or "more"."""
        word, skip = self.peek().text, 1
        if word in {"more", "less"} and self.peek(1).text == "than":
            skip = 2
        elif word not in {"of", "off"}:
            return None
        skip += self.peek(skip).text in DETERMINERS
        share = kind == "percent" or (word == "of" and kind == "quotient")
        if not share or self.peek(skip).kind not in {Kind.NUMBER, Kind.CURRENCY, Kind.OPEN, Kind.NAME}:
            return None
        self.at += skip
        self.sum.operators += 1
        return "off" if word == "less" else word

    def factor(self, depth: int) -> Fraction | None:
        signs = 0
        negative = False
        while self.peek().text in {"+", "-"} or (self.peek().kind is Kind.CURRENCY and self.peek(1).text == "-"):
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
        if depth > _MAX_DEPTH:
            raise NoSumError
        value = self.postfix(self.atom(depth))
        spaced = self.peek().gap and self.peek(1).gap
        if not self._operator("^"):
            return value
        self.sum.unsure |= spaced  # 5 ^ 3 is 6 in code
        negative = self.peek().text == "-"
        self.at += negative
        exponent = self.group(depth) if self.peek().text == "{" else self.power(depth + 1)
        self.kind = "power"
        return self.postfix(_raised(value, -exponent if negative and exponent is not None else exponent))

    def atom(self, depth: int) -> Fraction | None:
        self.kind = ""
        while self.peek().kind is Kind.CURRENCY:
            self.sum.labels.append(self.peek().text[-1])
            self.at += 1
        token = self.peek()
        if token.kind in {Kind.OPEN, Kind.BREAK}:
            return self.group(depth)
        self.at += 1
        if token.kind is Kind.NUMBER:
            self.numbers.append(token)
            return token.value
        if token.kind is Kind.NAME:
            self.sum.names = True
            if self.peek().kind is Kind.OPEN and not self.peek().gap:
                raise NoSumError  # f(2): a function, or a product nobody can tell from one
            return self.known.get(token.text)
        if token.kind not in {Kind.ROOT, Kind.FRAC}:
            raise NoSumError
        self.sum.operators += 1
        if token.kind is Kind.FRAC:
            value, self.kind = _apply("/", self.group(depth), self.group(depth)), "quotient"
            return value
        if depth > _MAX_DEPTH:
            raise NoSumError
        value, self.kind = self.group(depth) if self.peek().kind is Kind.OPEN else self.atom(depth + 1), ""
        return _raised(value, Fraction(1, 2))

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
        """Percent signs, scales (5 million) and labels behind an operand."""
        while True:
            token = self.peek()
            if token.kind is Kind.PERCENT:
                self.sum.percents = True
                value, self.kind = _apply("*", value, self.hundredth), "percent"
            elif token.kind is Kind.LABEL:
                self.sum.labels.append(token.text)
                self.sum.weak |= len(token.text) == 1
            elif token.kind is Kind.CURRENCY and not (self.peek(1).kind is Kind.NUMBER and token.gap):
                self.sum.labels.append(token.text[-1])
            elif token.kind is Kind.WORD and token.text.lower() in SCALES and self.peek(-1).kind is Kind.NUMBER:
                self.sum.scale = SCALES[token.text.lower()]
                value = _apply("*", value, Fraction(self.sum.scale))
            elif self._words():
                continue
            else:
                return value
            self.at += 1

    def _words(self) -> bool:
        """Take the words of a label: `5 apples per basket`, `90 pieces of straw`, `$5 / period`, `60 minutes/hour`."""
        begun = self.at
        while self.at - begun < _MAX_LABEL_WORDS:
            token, behind = self.peek(), self.peek(1)
            word = token.text.lower()
            joins = (word == "of" and self.at > begun) or (token.text == "/" and behind.text.lower() not in STOPS)
            if token.kind is Kind.WORD and word not in STOPS and (word not in SCALES or self.at > begun):
                if self.at == begun or self.peek(-1).text == "/":
                    self.sum.labels.append(token.text)
            elif not (joins and behind.kind is Kind.WORD):
                break
            self.at += 1
        return self.at > begun


def _bounded(value: Fraction) -> Fraction | None:
    return None if max(value.numerator.bit_length(), value.denominator.bit_length()) > _MAX_BITS else value


def _apply(operator: str, left: Fraction | None, right: Fraction | None) -> Fraction | None:
    """Return the result; None where a side is unknown or the result is not one to be known."""
    if left is None or right is None or (operator == "/" and not right):
        return None
    match operator:
        case "+":
            return _bounded(left + right)
        case "-":
            return _bounded(left - right)
        case "*":
            return _bounded(left * right)
        case _:
            return _bounded(left / right)


def _raised(base: Fraction | None, exponent: Fraction | None) -> Fraction | None:
    """Return a power: a root exactly where it is one of whole squares, else as a float gives it; None if not real."""
    if base is None or exponent is None or exponent.denominator > 9 or (exponent.denominator > 1 and base < 0):
        return None
    if exponent.denominator > 1:
        over, under = isqrt(base.numerator), isqrt(base.denominator)
        if exponent.denominator == 2 and over**2 == base.numerator and under**2 == base.denominator:
            base = Fraction(over, under)
        else:
            try:
                base = Fraction(float(base) ** (1 / exponent.denominator)).limit_denominator(10**15)
            except OverflowError:
                return None
    count = exponent.numerator
    size = max(base.numerator.bit_length(), base.denominator.bit_length())
    if abs(count) > _MAX_POWER or size * abs(count) > _MAX_BITS or (not base and count <= 0):
        return None
    return base**count
