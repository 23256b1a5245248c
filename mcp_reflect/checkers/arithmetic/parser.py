"""Tokens to expressions: recursive descent, bounded in depth and length."""

from fractions import Fraction

from mcp_reflect.checkers.arithmetic.expressions import (
    Binary,
    Factorial,
    Neg,
    Node,
    Num,
    Parsed,
    Percent,
    Pi,
    Root,
    Scaled,
    Var,
)
from mcp_reflect.checkers.arithmetic.numerals import EXACT
from mcp_reflect.checkers.arithmetic.tokens import DETERMINERS, SCALES, STOPS, Kind, Token


def mixed(whole: Token, *behind: Token) -> tuple[Num, int]:
    """The number that begins with `whole`, and how many of the four tokens behind it belong to it."""
    skip = 1 if behind[0].text == "and" else 0
    over, slash, under = behind[skip : skip + 3]
    if over.kind is not Kind.NUMBER or whole.value.denominator != 1:
        return Num(whole), 0
    if over.value.denominator != 1 and not over.text[0].isdigit() and over.text[0] != ".":
        return _joined(whole, over.value, over.end), skip + 1
    proper = slash.text == "/" and under.kind is Kind.NUMBER and under.value > over.value > 0
    if not proper or (not skip and not over.gap):
        return Num(whole), 0
    return _joined(whole, over.value / under.value, under.end), skip + 3


def _joined(whole: Token, part: Fraction, end: int) -> Num:
    return Num(whole._replace(value=whole.value + part, end=end, text="mixed", decimals=EXACT))


MAX_DEPTH = 30
MAX_TOKENS = 400
_MAX_LABEL_WORDS = 9
_STARTS = {Kind.NUMBER, Kind.NAME, Kind.OPEN, Kind.CURRENCY, Kind.ROOT, Kind.PI, Kind.FRAC}
_CLOSES = {"(": ")", "[": "]", "{": "}"}
_END = Token(Kind.BREAK, "", 0, 0, gap=True)


class NoSumError(Exception):
    """There is no sum here that can be read."""


def parse(tokens: list[Token], start: int) -> Parsed | None:
    """The longest sum that begins at `start`, or None."""
    parser = _Parser(tokens, start)
    try:
        node = parser.expression(0)
    except NoSumError:
        return None
    return Parsed(node, start, parser.at, parser.labels, parser.doubts, parser.unsure, parser.weak, parser.operators)


class _Parser:
    def __init__(self, tokens: list[Token], start: int) -> None:
        self.tokens = tokens
        self.at = start
        self.stop = min(len(tokens), start + MAX_TOKENS)
        self.labels: list[str] = []
        self.doubts: set[str] = set()
        self.unsure = self.weak = False
        self.operators = 0

    def peek(self, ahead: int = 0) -> Token:
        index = self.at + ahead
        return self.tokens[index] if index < self.stop else _END

    def _operator_here(self, operators: str) -> str | None:
        """The operator at this place, if an operand stands behind it."""
        token = self.peek()
        if token.kind is not Kind.OP or token.text not in operators:
            return None
        behind = self.peek(1)
        signed = behind.kind is Kind.OP and behind.text in "+-" and self.peek(2).kind in _STARTS | {Kind.OP}
        return token.text if behind.kind in _STARTS or signed else None

    def expression(self, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise NoSumError
        node = self.term(depth)
        while operator := self._operator_here("+-–"):
            if operator == "–":
                self.unsure = True
            self.at += 1
            self.operators += 1
            right = self.term(depth)
            if isinstance(right, Percent) and not isinstance(node, Percent):
                self.doubts.add("relative")
            node = Binary("+" if operator == "+" else "-", node, right)
        return node

    def term(self, depth: int) -> Node:
        node = self.factor(depth)
        while True:
            if operator := self._operator_here("*/"):
                if operator == "*" and _divides(node):
                    self.doubts.add("grouping")
                self.at += 1
                self.operators += 1
                right = self.factor(depth)
                if operator == "/" and self._is_power_of_ten():
                    self.doubts.add("grouping")
                node = Binary(operator, node, right)
            elif self._implicit():
                if _divides(node):
                    self.unsure = True
                self.operators += 1
                node = Binary("*", node, self.power(depth))
            elif joined := self._of(node, depth):
                node = joined
            else:
                return node

    def _is_power_of_ten(self) -> bool:
        star, ten, raise_ = self.peek(), self.peek(1), self.peek(2)
        return star.text == "*" and ten.text == "10" and raise_.text == "^"

    def _implicit(self) -> bool:
        """True if a factor follows without an operator: 2x, 3(4 + 1), 2π, 3√2, (a)(b)."""
        token, before = self.peek(), self.tokens[self.at - 1]
        if token.kind in {Kind.NAME, Kind.PI, Kind.ROOT}:
            return before.kind in {Kind.NUMBER, Kind.CLOSE, Kind.PI, Kind.NAME} and token.text != "X"
        if token.kind is Kind.FRAC:
            self.unsure = True  # 1\frac{1}{2} may be mixed
            return before.kind is Kind.CLOSE
        if token.kind is Kind.OPEN and token.text == "(":
            self.unsure |= token.gap and before.kind is not Kind.CLOSE
            return before.kind in {Kind.NUMBER, Kind.CLOSE, Kind.PI} and not (
                token.gap and before.kind is Kind.NUMBER and self.peek(1).kind is Kind.WORD
            )
        return False

    def _of(self, node: Node, depth: int) -> Node | None:
        """`20% of 50`, `1/2 of 8`, `20% off 50`, `20% more than 50`."""
        word = self.peek().text
        skip = 1
        if word in {"more", "less", "greater", "fewer"} and self.peek(1).text == "than":
            skip = 2
        elif word not in {"of", "off"}:
            return None
        if self.peek(skip).text in DETERMINERS:
            skip += 1
        fraction = isinstance(node, Percent) or (word == "of" and isinstance(node, Binary) and node.op == "/")
        if not fraction or self.peek(skip).kind not in {Kind.NUMBER, Kind.CURRENCY, Kind.OPEN, Kind.NAME}:
            return None
        self.at += skip
        self.operators += 1
        right = self.factor(depth)
        if self.peek().kind is Kind.OP and self.peek().text in "+-":
            self.unsure = True
        operator = {"of": "*", "off": "off", "more": "more", "greater": "more"}.get(word, "off")
        return Binary(operator, node, right)

    def factor(self, depth: int) -> Node:
        signs, negative = 0, False
        while (self.peek().kind is Kind.OP and self.peek().text in "+-") or self._sign_in_money():
            negative ^= self.peek().text == "-"
            self.at += 1
            signs += 1
            if signs > 4:
                raise NoSumError
        node = self.power(depth)
        if negative:
            if isinstance(node, Binary) and node.op == "^":
                self.doubts.add("sign")
            return Neg(node)
        return node

    def _sign_in_money(self) -> bool:
        return self.peek().kind is Kind.CURRENCY and self.peek(1).kind is Kind.OP and self.peek(1).text == "-"

    def power(self, depth: int) -> Node:
        node = self.postfix(self.atom(depth))
        if self._operator_here("^"):
            if depth > MAX_DEPTH:
                raise NoSumError
            self.at += 1
            self.operators += 1
            if self.peek(-1).text == "^" and self.peek(-1).gap and self.peek().gap:
                self.doubts.add("xor")  # 5 ^ 3 is 6 in code
            exponent = self.group(depth) if self.peek().text == "{" else self.factor_of_power(depth + 1)
            return self.postfix(Binary("^", node, exponent))
        return node

    def factor_of_power(self, depth: int) -> Node:
        if self.peek().kind is Kind.OP and self.peek().text == "-":
            self.at += 1
            return Neg(self.factor_of_power(depth + 1)) if depth <= MAX_DEPTH else self._fail()
        return self.power(depth)

    def _fail(self) -> Node:
        raise NoSumError

    def atom(self, depth: int) -> Node:
        while self.peek().kind is Kind.CURRENCY:
            self.labels.append(self.peek().text[-1])
            self.at += 1
        token = self.peek()
        if token.kind is Kind.NUMBER:
            self.at += 1
            number, taken = mixed(token, self.peek(), self.peek(1), self.peek(2), self.peek(3))
            self.at += taken
            self.operators += taken > 1
            return number
        if token.kind is Kind.PI:
            self.at += 1
            self.doubts.add("pi")
            return Pi()
        if token.kind is Kind.NAME:
            self.at += 1
            if self.peek().kind is Kind.OPEN and not self.peek().gap:
                raise NoSumError  # f(2): a function, or a product nobody can tell from one
            return Var(token.text)
        if token.kind is Kind.ROOT:
            return self._root(depth)
        if token.kind is Kind.FRAC:
            self.at += 1
            self.operators += 1
            return Binary("/", self.group(depth), self.group(depth))
        if token.kind is Kind.OPEN:
            return self.group(depth)
        raise NoSumError

    def _root(self, depth: int) -> Node:
        self.at += 1
        self.operators += 1
        degree = 2
        if self.peek().text == "[" and self.peek(1).kind is Kind.NUMBER and self.peek(2).text == "]":
            value = self.peek(1).value
            if value.denominator != 1 or not 2 <= value <= 9:
                raise NoSumError
            degree = int(value)
            self.at += 3
        if depth > MAX_DEPTH:
            raise NoSumError
        return Root(self.group(depth) if self.peek().kind is Kind.OPEN else self.atom(depth + 1), degree)

    def group(self, depth: int) -> Node:
        """A bracketed sum; commas, relations or words in it make it no sum."""
        opening = self.peek()
        if opening.kind is not Kind.OPEN:
            raise NoSumError
        self.at += 1
        node = self.expression(depth + 1)
        if self.peek().kind is not Kind.CLOSE or self.peek().text != _CLOSES[opening.text]:
            raise NoSumError
        self.at += 1
        return node

    def postfix(self, node: Node) -> Node:
        """Percent signs, factorials, scales (5 dozen) and labels behind an operand."""
        while True:
            token = self.peek()
            if token.kind is Kind.PERCENT:
                self.doubts.add("percent")
                node = Percent(node)
            elif token.kind is Kind.FACTORIAL:
                node = Factorial(node)
                self.operators += 1
            elif token.kind is Kind.LABEL:
                self._label(token)
            elif token.kind is Kind.CURRENCY and not (self.peek(1).kind is Kind.NUMBER and token.gap):
                self.labels.append(token.text[-1])
            elif token.kind is Kind.WORD and token.text.lower() in SCALES and isinstance(node, Num):
                self.doubts.add("scale")
                node = Scaled(node, SCALES[token.text.lower()])
            elif self._words():
                continue
            else:
                return node
            self.at += 1

    def _label(self, token: Token) -> None:
        text = token.text
        self.labels.append(text)
        self.weak |= len(text) == 1

    def _words(self) -> bool:
        """Take the words of a label: `5 apples per basket`, `$5 / period`, `60 minutes/hour`."""
        begun = self.at
        while self.at - begun < _MAX_LABEL_WORDS:
            token = self.peek()
            word = token.text.lower()
            if token.kind is Kind.WORD and word not in STOPS and (word not in SCALES or self.at > begun):
                if self.at == begun or self.peek(-1).text == "/":
                    self.labels.append(token.text)
                self.at += 1
            elif word == "of" and self.at > begun and self.peek(1).kind is Kind.WORD:
                self.at += 1  # 90 pieces of straw
            elif token.text == "/" and self.peek(1).kind is Kind.WORD and self.peek(1).text.lower() not in STOPS:
                self.at += 1
            else:
                break
        return self.at > begun


def _divides(node: Node) -> bool:
    while isinstance(node, Binary) and node.op == "*":
        node = node.left
    return isinstance(node, Binary) and node.op == "/"
