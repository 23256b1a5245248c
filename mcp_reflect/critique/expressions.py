"""Sums in prose: tokens, and a recursive descent that evaluates as it reads, bounded in depth, length and size."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from math import isqrt
from typing import Final, NamedTuple
from unicodedata import numeric

from mcp_reflect.critique.numbers import read

EXACT: Final = 60
"""The decimals of a vulgar fraction: it is never a rounded display."""

CONSTANTS: Final = {"π": Fraction("3.14159265358979323846")}
_MAX_BITS: Final = 4096
_MAX_POWER: Final = 400
_MAX_DEPTH: Final = 30
_MAX_TOKENS: Final = 400  # of one sum
_MAX_CHARACTERS: Final = 20_000  # of one step
_MAX_LABEL_WORDS: Final = 9
_RAISED: Final = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺−", "0123456789-+-")
_VULGAR: Final = {sign: Fraction(numeric(sign)).limit_denominator(8) for sign in "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"}


class Token(NamedTuple):
    """Characters `start` to `end` of a step. `text` is in one form (× is *, − is -); `gap`: white space stands before.

    `kind` is number, name (one letter, perhaps with an index), word, label (a unit behind a number), op, rel, open,
    close, percent, currency, root, frac, break (the end of a clause), or opaque, through which no sum goes. `value` and
    `decimals` belong to numbers: 1,250.50 has value 2501/2 and 2 decimals.
    """

    kind: str
    text: str
    start: int
    end: int
    gap: bool
    value: Fraction = Fraction(1)
    decimals: int = 0


_END: Final = Token("break", "", 0, 0, gap=True)
# Behind a number these end the quantity: what follows is another clause, not a label.
STOPS: Final = frozenset(
    "and or so then is are was were be because since which that but if when while where as thus hence therefore let "
    "has have had we he she they it you gets get gives equals costs equal than more less fewer greater off of squared "
    "cubed remainder mod choose out both not".split()
)
_SCALES: Final = frozenset("hundred thousand million millions billion trillion".split())
_DETERMINERS: Final = frozenset("the his her their its my our those these all your this that a".split())
_UNIT: Final = (
    r"(?:(?:kg|mg|km|cm|mm|nm|ms|min|hr|mol|kJ|MJ|eV|kW|kWh|kN|Pa|kPa|atm|Hz|mL|ml|cal|kcal|KB|MB|GB|TB|ft|lb|oz|"
    r"[msghLNJWVAKCFTMΩ])(?![A-Za-z0-9_'’(])(?:\^\{?[-−]?[1-4]\}?|[²³]|⁻[¹²³])?)"
)
_BEHIND_NUMBER: Final = re.compile(
    rf"[ \u00a0]?{_UNIT}(?:[ ]?[/·⋅*][ ]?\(?{_UNIT}(?:[·⋅ ]{_UNIT}\))?)*(?![A-Za-z0-9_(])"
)
_NUMBER_TAIL: Final = re.compile(r",\d|(?!x\d)[a-z]*\d|\.\d")
_SCANNER: Final = re.compile(
    r"""
    (?P<skip>\\(?:left|right|,|;|!|:|quad|\ |displaystyle|boxed|[Bb]igg?[lr]?)(?![A-Za-z])|[ \t\u00a0\u2009\u202f]+
        |(?<![\w)])[*_]{2,3}(?=[\w$(√\\])|(?<=[\w)%.])[*_]{2,3}(?![\w(]|\s?[\d(])|(?<=[:!?,;])[*_]{2,3}|`|&
        |\\[()\[\]]|<<[^<>\n]{0,200}>>)
    |(?P<opaque>https?://\S{1,500}|\d{4}-\d\d-\d\d|\d{1,4}:\d[\d:.]{0,20}|\d+\.\d+\.\d[\d.]*|0\d+(?![\d.,])
        |0[xXbB][0-9a-fA-F]+|\.\.+|…|⋯|\\[cl]?dots|[+\-*/%]=|={2,}|_{2,}|\d+(?:st|nd|rd|th)\b
        |\d+\ \d{1,2}/\d{1,2}(?![\d.])|\d+\ ?[½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞]|\\pi(?![A-Za-z])|\d[\d,.]{0,12}['’]\d+)
    |(?P<number>(?:\d{1,3}(?:(?:,|\{,\})\d{2,3}){0,8}(?:,|\{,\})\d{3}(?![\d])|\d+)(?:\.\d+)?
            (?:[eE][+\-]?\d{1,4}(?![\w.])|\ ?(?:[×·*]|\\times)\ ?10(?:\^\{?[-−]?\d{1,3}\}?|[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]{1,4}))?
        |\.\d+|[½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞])
    |(?P<raised>[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+)
    |(?P<break><?=+>|<?-{1,2}>|<-|[⇒→⟹←↔⟶⇔]|\\(?:implies|Rightarrow|to|rightarrow|iff)(?![A-Za-z])|\.|\\\\|[,;:?\n\r|"“”—―])
    |(?P<rel>[≈≃≅=]|~=|:=|\\approx(?![A-Za-z])|(?:is|are|was|equals|makes|gives)(?![\w'’]))
    |(?P<root>√|\\?sqrt(?![A-Za-z])|[Ss]quare\ root\ of(?![A-Za-z]))
    |(?P<frac>\\[dt]?frac(?![A-Za-z]))
    |(?P<op>\*\*|[-+*/^×·⋅∙∗✕✖÷∕⁄−–]|\\(?:times|cdot|div)(?![A-Za-z])
        |(?:plus|minus|times|multiplied\ by|divided\ by)(?![A-Za-z]))
    |(?P<label>\\(?:text|mathrm|mbox|textbf|mathbf)\{[^{}]{0,60}\}|°\s?[CFK]?)
    |(?P<percent>\\?%|per\ ?cent(?![A-Za-z]))
    |(?P<currency>\\?\$|[€£¥₹]|(?:US|USD|EUR)\$?(?=\s?\d))
    |(?P<open>\\?[\[({])
    |(?P<close>\\?[\])}])
    |(?P<word>π|[^\W\d_π⁰¹²³⁴⁵⁶⁷⁸⁹½¼¾](?:[^\Wπ⁰¹²³⁴⁵⁶⁷⁸⁹½¼¾]|['’]|_\{[^{}]{0,20}\}|-(?=[a-z]{2})(?<=[a-z]{2}-)){0,60})
    |(?P<bang>!)
    |(?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_OPERATORS: Final = {
    **dict.fromkeys(("×", "·", "⋅", "∙", "∗", "✕", "✖", r"\times", r"\cdot", "multiplied by", "times"), "*"),
    **dict.fromkeys(("÷", "∕", "⁄", r"\div", "divided by"), "/"),
    **dict.fromkeys(("−", "–", "minus"), "-"),
    "plus": "+",
    "**": "^",
}
_WORD_RELATIONS: Final = {"equals": "=", "is": "is", "are": "is", "was": "is", "makes": "is", "gives": "is"}
_RELATED: Final = re.compile(r"[=≈≃≅\\]| (?:is|are|was|equals|makes|gives) ")
_DIGIT: Final = re.compile(r"[\d½¼¾π]")
_BLOCKS: Final = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_BULLET: Final = re.compile(r"(?m)^[ \t]*(?:[-*+•–][ \t]+|\d{1,3}[.)][ \t]+|#+[ \t]+|>[ \t]+)")
_ENDS_OPERAND: Final = {"number", "close", "name", "percent"}
_STARTS: Final = {"number", "name", "open", "currency", "frac", "root"}
_CLOSES: Final = {"(": ")", "[": "]", "{": "}"}


def tokens(text: str, limit: int) -> list[Token]:
    """Return the first tokens of a step, without its code blocks, list marks and lines that state no relation."""
    text = _BULLET.sub(_blank, _BLOCKS.sub(_blank, text[:_MAX_CHARACTERS]))
    lines = (line if _RELATED.search(line) and _DIGIT.search(line) else " " * len(line) for line in text.split("\n"))
    found = list(islice(_scan("\n".join(lines)), limit))
    return [_as_read(found, place) for place in range(len(found))]


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _scan(text: str) -> Iterator[Token]:
    at, gap, operand = 0, True, False
    while match := _SCANNER.match(text, at):
        kind, at = match.lastgroup or "other", match.end()
        if kind == "skip":
            gap = True
            continue
        for token in _tokens_of(kind, match, gap, operand):
            operand, at = token.kind in _ENDS_OPERAND, token.end
            yield token
        gap = False


def _tokens_of(kind: str, match: re.Match[str], gap: bool, operand: bool) -> Iterator[Token]:
    text, start, end, source = match[0], match.start(), match.end(), match.string
    token = Token(kind, text, start, end, gap)
    behind = source[end : end + 1]
    match kind:
        case "number":
            yield from _number(token, source)
        case "raised":
            yield from _exponent(token, operand)
        case "op":
            is_mark = text in {"*", "**"} and gap and not operand and not behind.isspace()
            is_range = text == "–" and not gap and not behind.isspace()  # 5–10
            yield token._replace(
                kind="break" if is_mark else "op", text="–" if is_range else _OPERATORS.get(text, text)
            )
        case "rel":
            yield token._replace(text=_WORD_RELATIONS.get(text, "=" if text in {"=", ":="} else "≈"))
        case "open" | "close":
            yield token._replace(text=text[-1])
        case "word" if not gap and re.fullmatch(r"[xX][0-9]{1,20}", text):  # 12x3
            yield Token("op", "*", start, start + 1, gap=False)
            yield Token("number", text[1:], start + 1, end, gap=False, value=Fraction(text[1:]))
        case "word":
            rest = text[1:].rstrip("'’")
            yield token._replace(kind="name" if not rest or rest.isdigit() or rest[0] == "_" else "word")
        case "bang":  # a factorial where the sum goes on behind it, else the end of a sentence
            factorial = operand and not gap and re.match(r"\s?[-+*/=×÷)\]^]|\w", source[end : end + 2])
            yield token._replace(kind="opaque" if factorial else "break")
        case _:
            yield token._replace(kind="opaque" if kind == "other" else kind)


def _number(token: Token, source: str) -> Iterator[Token]:
    """Yield a number, and the unit behind it: `5 m/s²`."""
    tail, end = _NUMBER_TAIL.match(source, token.end), token.end
    parsed = (_VULGAR[token.text], EXACT) if token.text in _VULGAR else read(_scientific(token.text))
    if parsed is None or tail:
        end = tail.end() if tail else end
        yield token._replace(kind="opaque", end=end)
    else:
        yield token._replace(value=parsed[0], decimals=parsed[1])
    unit = _BEHIND_NUMBER.match(source, end)
    if unit and not (len(unit[0]) == 1 and unit[0].isalpha()):
        yield Token("label", unit[0].strip(), end, unit.end(), gap=True)


def _scientific(text: str) -> str:
    """Return `3.98 × 10^-19` and `3.98 × 10⁻¹⁹` as 3.98e-19, other numbers as they are."""
    mantissa, power, exponent = re.sub(r" ?(?:[×·*]|\\times) ?10", "e", text).partition("e")
    return mantissa + power + exponent.translate(_RAISED).strip("^{}")


def _exponent(token: Token, operand: bool) -> Iterator[Token]:
    """Yield superscript digits as a power of what stands before them."""
    digits = token.text.translate(_RAISED)
    if operand and re.fullmatch(r"[-+]?[0-9]{1,3}", digits):
        yield Token("op", "^", token.start, token.start, gap=False)
        yield token._replace(kind="number", gap=False, value=Fraction(digits))
    else:
        yield token._replace(kind="opaque")


def _as_read(found: list[Token], index: int) -> Token:
    """Return a token, x between two quantities as times, and a lone letter in prose as a word."""
    token = found[index]
    if token.kind != "name":
        return token
    before = found[index - 1] if index else _END
    after = found[index + 1] if index + 1 < len(found) else _END
    ahead = after.kind in {"number", "currency"} or (after.kind == "open" and after.gap)
    if token.text in {"x", "X"} and ahead and before.kind in {*_ENDS_OPERAND, "word", "label"} - {"name"}:
        return token._replace(kind="op", text="*")
    in_sum = (
        before.kind in {"op", "rel", "open", "frac", "root"}
        or (before.kind in {"number", "close"} and not token.gap)
        or after.kind == "op"
        or (after.kind == "rel" and after.text != "is")
        or (after.kind == "open" and not after.gap)
    )
    return token if in_sum else token._replace(kind="word")


class NoSumError(Exception):
    """There is no sum here that can be read."""


@dataclass(slots=True)
class Sum:
    """One sum: tokens `start` to `end` of its list.

    `value` is None where it cannot be known (an unknown, too large, not real, divided by zero), `in_percent` the
    value if 80% counts as 80. `literal` is the number token where the sum is nothing but a number, its sign and its
    unit; `name` the name where it is nothing but a name. `unsure` means that a mismatch proves nothing, since the sum
    may be read otherwise. `shares`: a percentage is taken of something. `lead` is the value of its first number.
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
    percents: bool = False
    shares: bool = False


def parse(tokens: list[Token], start: int, known: Mapping[str, Fraction]) -> Sum | None:
    """Return the longest sum that begins at `start`, None where none does. `known` are the values of names."""
    reader = _Reader(tokens, start, known)
    result, numbers = reader.sum, reader.numbers
    try:
        result.value = result.in_percent = reader.expression(0)
    except NoSumError:
        return None
    result.end = reader.at
    bare = result.operators == 0
    result.literal = numbers[0] if bare and len(numbers) == 1 and not result.names else None
    if bare and result.names and not numbers and tokens[result.end - 1].kind == "name":
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
        return self.tokens[index] if index < self.stop else _END

    def _operator(self, operators: str) -> str | None:
        """Take an operator, if an operand stands behind it."""
        token, behind = self.peek(), self.peek(1)
        signed = behind.text in {"+", "-"} and self.peek(2).kind in {*_STARTS, "op"}
        if token.kind != "op" or token.text not in operators or not (behind.kind in _STARTS or signed):
            return None
        self.at += 1
        self.sum.operators += 1
        return token.text

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
            value, self.kind = _apply(operator, value, right), ""
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
            elif self._of(kind):
                self.sum.shares |= kind == "percent"
                value, self.kind = _apply("*", value, self.factor(depth)), ""
                self.sum.unsure |= self.peek().kind == "op" and self.peek().text in "+-"
            else:
                return value

    def _implicit(self) -> bool:
        """True if a factor follows without an operator: 2x, 3(4 + 1), 3√2, (a)(b)."""
        token, before = self.peek(), self.tokens[self.at - 1]
        if token.kind in {"name", "root"}:
            return before.kind in {"number", "close", "name"} and token.text != "X"
        if token.kind != "open" or token.text != "(":
            return False
        self.sum.unsure |= token.gap and before.kind != "close"
        words = token.gap and before.kind == "number" and self.peek(1).kind == "word"
        return before.kind in {"number", "close"} and not words

    def _of(self, kind: str) -> bool:
        """Take the words of `20% of 50`, `1/2 of the 8`."""
        skip = 1 + (self.peek(1).text in _DETERMINERS)
        if self.peek().text != "of" or kind not in {"percent", "quotient"}:
            return False
        if self.peek(skip).kind not in {"number", "currency", "open", "name"}:
            return False
        self.at += skip
        self.sum.operators += 1
        return True

    def factor(self, depth: int) -> Fraction | None:
        signs, negative = 0, False
        while self.peek().text in {"+", "-"} or (self.peek().kind == "currency" and self.peek(1).text == "-"):
            negative ^= self.peek().text == "-"
            self.at += 1
            signs += 1
            if signs > 4:
                raise NoSumError
        value = self.power(depth)
        self.sum.unsure |= negative and self.kind == "power"  # -2² is 4 on some calculators
        return _apply("*", Fraction(-1), value) if negative else value

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
        while self.peek().kind == "currency":
            self.sum.labels.append(self.peek().text[-1])
            self.at += 1
        token = self.peek()
        if token.kind in {"open", "break"}:
            return self.group(depth)
        self.at += 1
        if token.kind == "number":
            self.numbers.append(token)
            return token.value
        if token.kind == "name":
            self.sum.names |= token.text not in CONSTANTS
            if self.peek().kind == "open" and not self.peek().gap:
                raise NoSumError  # f(2): a function, or a product nobody can tell from one
            return self.known.get(token.text)
        if token.kind not in {"root", "frac"} or depth > _MAX_DEPTH:
            raise NoSumError
        self.sum.operators += 1
        if token.kind == "root":
            value, self.kind = self.group(depth) if self.peek().kind == "open" else self.atom(depth + 1), ""
            return _square_root(value)
        value, self.kind = _apply("/", self.group(depth), self.group(depth)), "quotient"
        return value

    def group(self, depth: int) -> Fraction | None:
        """A bracketed sum; commas, relations or words in it make it no sum."""
        opening = self.peek()
        if opening.kind != "open":
            raise NoSumError
        self.at += 1
        value = self.expression(depth + 1)
        if self.peek().kind != "close" or self.peek().text != _CLOSES[opening.text]:
            raise NoSumError
        self.at += 1
        return value

    def postfix(self, value: Fraction | None) -> Fraction | None:
        """Percent signs and labels behind an operand; a scale (5 million) makes it unsure."""
        while True:
            token = self.peek()
            if token.kind == "percent":
                self.sum.percents = True
                value, self.kind = _apply("*", value, self.hundredth), "percent"
            elif token.kind == "label":
                self.sum.labels.append(token.text)
            elif token.kind == "currency" and not (self.peek(1).kind == "number" and token.gap):
                self.sum.labels.append(token.text[-1])
            elif not self._words():
                return value
            else:
                continue
            self.at += 1

    def _words(self) -> bool:
        """Take the words of a label: `5 apples per basket`, `90 pieces of straw`, `$5 / period`, `60 minutes/hour`."""
        begun = self.at
        while self.at - begun < _MAX_LABEL_WORDS:
            token, behind = self.peek(), self.peek(1)
            word = token.text.lower()
            joins = (word == "of" and self.at > begun) or (token.text == "/" and behind.text.lower() not in STOPS)
            if token.kind == "word" and word not in STOPS:
                self.sum.unsure |= word in _SCALES
                if self.at == begun or self.peek(-1).text == "/":
                    self.sum.labels.append(token.text)
            elif not (joins and behind.kind == "word"):
                break
            self.at += 1
        return self.at > begun


def _apply(operator: str, left: Fraction | None, right: Fraction | None) -> Fraction | None:
    """Return the result; None where a side is unknown or the result is not one to be known."""
    if left is None or right is None or (operator == "/" and not right):
        return None
    results = {"+": left.__add__, "*": left.__mul__, "/": left.__truediv__}
    value = results.get(operator, left.__sub__)(right)
    return None if max(value.numerator.bit_length(), value.denominator.bit_length()) > _MAX_BITS else value


def _square_root(value: Fraction | None) -> Fraction | None:
    """Return the root of a quotient of squares, None for others."""
    if value is None or value < 0:
        return None
    root = Fraction(isqrt(value.numerator), isqrt(value.denominator))
    return root if root**2 == value else None


def _raised(base: Fraction | None, exponent: Fraction | None) -> Fraction | None:
    """Return a power with a whole exponent, None for others and where it is too large."""
    if base is None or exponent is None or exponent.denominator > 1:
        return None
    count = exponent.numerator
    size = max(base.numerator.bit_length(), base.denominator.bit_length())
    if abs(count) > _MAX_POWER or size * abs(count) > _MAX_BITS or (not base and count <= 0):
        return None
    return base**count
