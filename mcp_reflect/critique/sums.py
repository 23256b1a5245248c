"""Sums in prose: tokens, chains of members with relations between them, and what a member is worth.

A value carries how far it may be off, since a long decimal is a rounded one: 1.1255 for 1.03^4. What may be read in
more than one way has no value.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Final, NamedTuple
from unicodedata import numeric

from mcp_reflect.critique.numbers import read, unit_of

_MOST_BITS: Final = 4096
_MOST_POWER: Final = 400
_MOST_DEPTH: Final = 30
_MOST_TOKENS: Final = 400  # of one sum
_IMPLICIT: Final = "·"  # the sign of 2x and 3(4 + 1)
_MOST_CHARACTERS: Final = 20_000  # of one step
_LONG: Final = 4  # decimals from which a number may be a rounded one
_EXACT: Final = 60  # decimals of a vulgar fraction, which is never a rounded number


class Value(NamedTuple):
    """A number that may be off by `spread`."""

    exact: Fraction
    spread: Fraction = Fraction(0)

    def nearest(self, shown: Fraction) -> Fraction:
        """Return the number next to another one that this may stand for."""
        return min(max(shown, self.exact - self.spread), self.exact + self.spread)


CONSTANTS: Final = {"π": Value(Fraction("3.14159265358979"), Fraction("0.0016"))}
"""Values of names that need no definition; who computes with 3.14 or 22/7 is right too."""


class Token(NamedTuple):
    """Characters `start` to `end` of a step; `gap`: white space stands before; `label` is the unit of a number.

    `kind` is number, name (of an unknown), word, op, rel, open, close, percent, currency, root, break (the end of a
    clause), or bad, through which no sum goes. 1,250.50 has value 2501/2 and 2 decimals.
    """

    kind: str
    text: str
    start: int
    end: int
    gap: bool
    value: Value = Value(Fraction(1))
    decimals: int = 0
    label: str = ""


_END: Final = Token("break", "", 0, 0, gap=True)
# Behind a number these end the quantity: what follows is another clause, not a label.
STOPS: Final = frozenset(
    "and or so then is are was were be because since which that but if when while where as thus hence therefore let "
    "has have had we he she they it you gets get gives equals costs equal than more less fewer greater off of squared "
    "cubed remainder mod choose out both not".split()
)
_SCALES: Final = frozenset("hundred thousand million millions billion trillion".split())
_DETERMINERS: Final = frozenset("the his her their its my our those these all your this that a".split())
_SIGNS: Final = str.maketrans("×·⋅∙∗✕✖÷∕⁄−≃≅[]{}\u00a0\u2009\u202f&\t", "*******///-≈≈()()     ")
_RAISED: Final = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_BLANK: Final = re.compile(
    r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|^[ \t]*(?:[-*+•–][ \t]+|\d{1,3}[.)][ \t]+|#+[ \t]+|>[ \t]+)|"
    r"\\(?:left|right|,|;|!|:|quad|displaystyle|boxed)(?![A-Za-z])|`|\\[()\[\]]|<<[^<>\n]{0,200}>>|\\(?=[$%])|"
    r"\b(?:about|approximately|approx\.?|roughly|around|nearly|almost|exactly|just) (?=[$€£]?\d)",
    re.DOTALL | re.MULTILINE,
)
# Marks of LaTeX, code and markdown that are written in plain signs first, with as many characters.
_PLAIN: Final = (
    (re.compile(r"\\[dt]?frac\{([^{}]{1,80})\}\{([^{}]{1,80})\}"), r"((\1)/(\2))"),
    (re.compile(r"\\(?:text|mathrm|mbox|textbf|mathbf)\{([^{}]{0,60})\}"), r" \1 "),
    (re.compile(r"\\(?:times|cdot)(?![A-Za-z])|\bmultiplied by\b|(?<=[\w)] )times(?= [\d$(])"), "*"),
    (re.compile(r"\\div(?![A-Za-z])|\bdivided by\b"), "/"),
    (re.compile(r"\\approx(?![A-Za-z])"), "≈"),
    (re.compile(r"\bplus\b"), "+"),
    (re.compile(r"\bminus\b"), "-"),
    (re.compile(r"(?<=[\w)])\*\*(?=[\w(])|(?<= )\*\*(?= )"), "^"),
    (re.compile(r"\*\*|__"), ""),
)
_SCANNER: Final = re.compile(
    r"""
    (?P<bad>https?://\S{1,500}|\d{4}-\d\d-\d\d|\d{1,4}:\d[\d:.]{0,20}|\d+\.\d+\.\d[\d.]*|0\d+(?![\d.,])|0[xXbB][0-9a-fA-F]+
        |…|\.\.+|\\[cl]?dots|[+\-*/%]=|={2,}|\d+(?:st|nd|rd|th)\b|\d+\ \d{1,2}/\d{1,2}(?![\d.])|\d+\ ?[½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞]
        |\d[\d,.]{0,20}(?:['’]\d|[a-df-wyzA-DF-WYZ]{1,9}\d)\w*|(?<=[\w)])!(?=\s?[-+*/=)^])
        |(?<=\d)–(?=\d)|(?<=\ )\^(?=\ ))
    |(?P<number>(?>\d{1,3}(?:,\d{3})++|\d++)(?:\.\d++)?+
            (?:[eE][+-]?\d{1,3}(?!\w)|\ ?\*\ ?10(?:\^\(?-?\d{1,3}\)?|[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]{1,4}))?+(?!,\d|\.\d)|(?<!\d)\.\d++
        |[½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞])
    |(?P<raised>[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+)
    |(?P<break><?=+>|<?-{1,2}>|<-|[⇒→⟹←↔⟶⇔]|\\(?:implies|Rightarrow|to|rightarrow|iff)(?![A-Za-z])|\\\\|[.,;:?!\n\r|"“”—―])
    |(?P<rel>[=≈]|~=|(?:is|are|was|equals|makes|gives)(?![\w'’]))
    |(?P<op>[-+*/^–])
    |(?P<percent>%|per\ ?cent(?![A-Za-z]))
    |(?P<currency>[$€£¥₹])
    |(?P<open>\()|(?P<close>\))
    |(?P<word>°\s?[CFK]?|π|[^\W\d_π⁰¹²³⁴⁵⁶⁷⁸⁹](?:[^\Wπ⁰¹²³⁴⁵⁶⁷⁸⁹½¼¾]|['’]|-(?=[a-z]{2})(?<=[a-z]{2}-)){0,60})
    |(?P<junk>\d[\d.,]*|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_RELATED: Final = re.compile(r"[=≈]|\b(?:is|are|was|equals|makes|gives) ")
_NAME: Final = re.compile(r"π|[A-Za-z](?:_?\d{1,3})?")
_ENDS: Final = frozenset({"number", "close", "name"})
_STARTS: Final = frozenset({"number", "name", "open"})


def tokens(text: str, limit: int) -> list[Token]:
    """Return the first tokens of a step, without its code blocks, list marks and lines that state no relation."""
    text = _BLANK.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text[:_MOST_CHARACTERS])
    for pattern, plain in _PLAIN:
        text = pattern.sub(lambda found, plain=plain: found.expand(plain).rjust(len(found[0])), text)
    text = text.translate(_SIGNS)
    lines = (
        line if _RELATED.search(line) and re.search(r"[\d½¼¾π]", line) else " " * len(line) for line in text.split("\n")
    )
    text = "\n".join(lines)
    found: list[Token] = []
    at, gap = 0, True
    while at < len(text) and len(found) < limit:
        if text[at] == " ":
            at, gap = at + 1, True
        elif match := _SCANNER.match(text, at):
            found += _read(match, gap, found[-1] if found else _END)
            at, gap = found[-1].end, False
    return found


def _scientific(text: str) -> str:
    """Return `3.98 * 10^-19` and `3.98 * 10⁻¹⁹` as 3.98e-19, other numbers as they are."""
    mantissa, times, exponent = text.partition("*")
    return f"{mantissa.strip()}e{exponent.strip()[2:].translate(_RAISED).strip('^()')}" if times else text


def _read(match: re.Match[str], gap: bool, before: Token) -> list[Token]:
    kind, text, end = match.lastgroup or "junk", match[0], match.end()
    token = Token("bad" if kind == "junk" else kind, text, match.start(), end, gap)
    behind = match.string[end : end + 40].lstrip()[:1]
    operand = before.kind in _ENDS or (before.kind == "percent")
    if kind == "number":
        vulgar = len(text) == 1 and not text.isdigit()
        parsed = (Fraction(numeric(text)).limit_denominator(8), _EXACT) if vulgar else read(_scientific(text))
        if parsed is None:
            return [token._replace(kind="bad")]
        spread = Fraction(1, 2 * 10 ** parsed[1]) if _LONG <= parsed[1] < _EXACT else Fraction(0)
        return [token._replace(value=Value(parsed[0], spread), decimals=parsed[1])]
    if kind == "raised":
        digits = text.translate(_RAISED)
        if not operand or not re.fullmatch(r"[-+]?[0-9]{1,3}", digits):
            return [token._replace(kind="word" if before.kind == "word" else "bad")]
        power = token._replace(kind="number", gap=False, value=Value(Fraction(digits)))
        return [Token("op", "^", token.start, token.start, gap=False), power]
    if kind == "rel":
        return [token._replace(text="≈" if text in {"≈", "~="} else "=" if text in {"=", "equals"} else "is")]
    if kind != "word":
        return [token]
    counted = text[1:].isdigit() or (len(text) == 1 and behind in {*"0123456789.$(½¼¾"} and (gap or behind != "("))
    if text[0] in "xX" and counted and (operand or before.kind == "word"):  # 12x3, 2 boxes x 3
        return [Token("op", "*", token.start, token.start + 1, gap)]
    unit = gap and before.kind == "number" and unit_of(text)
    beside = before.kind in {"op", "open"} or (before.kind == "rel" and before.text != "is")
    beside = beside or (operand and not gap) or (behind in {*"+-*/^=≈"} and not (unit and behind in "/=≈"))
    if _NAME.fullmatch(text) and (beside or (behind == "(" and match.string[end] == "(")):
        return [token._replace(kind="name")]
    return [token._replace(kind="bad")] if text.lower() in _SCALES else [token]


@dataclass(frozen=True, slots=True)
class Sum:
    """Tokens `start` to `end` of a member as one sum. `value` is None where it cannot be known.

    `in_percent` is the value if 80% counts as 80.
    """

    start: int
    end: int
    tokens: Sequence[Token]
    value: Value | None
    in_percent: Value | None

    @property
    def operators(self) -> str:
        """The operators between operands, in their order."""
        pairs = pairwise(self.tokens)
        return "".join(token.text for before, token in pairs if token.kind == "op" and before.kind in _ENDS)

    @property
    def literal(self) -> Token | None:
        """The number, where the sum is nothing but a number with its sign and unit."""
        numbers = [token for token in self.tokens if token.kind in {"number", "name"}]
        return numbers[0] if len(numbers) == 1 and numbers[0].kind == "number" and not self.operators else None

    @property
    def name(self) -> str | None:
        """The name, where the sum is nothing else."""
        return self.tokens[0].text if len(self.tokens) == 1 and self.tokens[0].kind == "name" else None

    @property
    def percents(self) -> bool:
        """Whether a number of it has a percent sign."""
        return any(token.label.startswith("%") for token in self.tokens)


class Chain(NamedTuple):
    """Relations in a row, `lefts[i]` and `rights[i]` are the sides of `signs[i]` (=, ≈ or is)."""

    lefts: list[Sum | None]
    signs: list[str]
    rights: list[Sum | None]


# Before a number these change its value, so that a sum that starts there is not the whole claim.
_LEADS: Final = frozenset(
    "twice double triple half minus negative log ln sin cos tan exp sqrt times over squared mod than between lim max "
    "min gcd lcm abs det floor ceil choose quarter third dozen point ratio root average mean "
    "step part question problem exercise example line page pages chapter section eq equation figure table no number "
    "item round days years grades rows weeks version rule case percent square cube one-half one-third two-thirds "
    "power".split()
)


def chains(found: Sequence[Token], known: Mapping[str, Value]) -> Iterator[Chain]:
    """Yield the chains of one step, in the order of the text; `known` are the values of names, as they are then."""
    ends = [-1, *(place for place, token in enumerate(found) if token.kind == "break"), len(found)]
    for start, end in pairwise(ends):
        segment = found[start + 1 : end]
        places = [place for place, token in enumerate(segment) if token.kind == "rel"]
        members = [_labeled(segment[low + 1 : high]) for low, high in pairwise([-1, *places, len(segment)])]
        rights = [_right(member, known) for member in members[1:]]
        lefts = [
            right if right and right.end == len(member) else _left(member, known, right)
            for member, right in zip(members, [None, *rights], strict=True)
        ]
        if places:
            yield Chain(lefts[:-1], [segment[place].text for place in places], rights)


def _labeled(found: Sequence[Token]) -> list[Token]:
    """Return tokens with the words of units and signs of money taken off: 5 apples per basket, $5 / period."""
    kept: list[Token] = []
    currency, skip = "", 0
    for place, token in enumerate(found):
        ahead = found[place + 1] if place + 1 < len(found) else _END
        before = kept[-1] if kept else _END
        operand, word, in_words = before.kind in _ENDS, token.text.lower(), ahead.kind == "word"
        if skip:
            skip -= 1
        elif token.kind == "percent" and before.kind == "number":
            kept[-1] = before._replace(label="%", end=token.end)
        elif token.kind == "currency":
            currency = token.text
        elif operand and token.text == "/" and (in_words or (ahead.kind == "name" and before.label)):
            kept[-1] = before._replace(label=f"{before.label}/{ahead.text}")
            skip = 3 if place + 2 < len(found) and found[place + 2].text == "^" else 1  # m/s²
        elif operand and word == "of" and (before.label == "%" or (_quotient(kept) and not before.label)):
            kept.append(token._replace(kind="op", text="*"))
            skip = int(ahead.text.lower() in _DETERMINERS)
        elif operand and token.kind == "word" and (word not in STOPS or (before.label and word == "of" and in_words)):
            kept[-1] = before._replace(label=f"{before.label} {token.text}".strip())
        else:
            follows = token.kind == "name" or (token.kind == "open" and before.kind != "name")
            if operand and follows and (not token.gap or before.kind == "close"):
                kept.append(Token("op", _IMPLICIT, token.start, token.start, gap=False))
            kept.append(token._replace(label=currency) if currency else token)
            currency = ""
    if currency and kept and kept[-1].kind in _ENDS:
        kept[-1] = kept[-1]._replace(label=currency)
    return kept


def _quotient(kept: Sequence[Token]) -> bool:
    return "".join(token.text if token.kind == "op" else token.kind for token in kept[-3:]) == "number/number"


def _right(found: Sequence[Token], known: Mapping[str, Value]) -> Sum | None:
    result = parse(found, 0, known)
    if result is None or result.end >= len(found):
        return result
    token, behind = found[result.end], found[result.end + 1] if result.end + 1 < len(found) else _END
    if token.kind == "op":
        return result if behind.text.lower() in STOPS else None  # "= 5 times as many"
    # "20% of" what nobody has said
    glued = (token.kind == "open" and not token.gap) or (token.kind == "number" and _compound(found[result.end - 1]))
    part = token.text == "of" and (result.literal is None or result.percents)
    return None if glued or part or token.kind in {"bad", "name"} else result


def _compound(before: Token) -> bool:
    """True if a number behind this one belongs to it: 2 h 30 min, or a number without a word between."""
    return before.label in {"", "%"} or (unit_of(before.label) is not None and " " not in before.label)


def _left(found: Sequence[Token], known: Mapping[str, Value], right: Sum | None) -> Sum | None:
    """Return the sum that ends where the member ends, from as far left as it can be read.

    It may begin behind the right side of the relation before it: `= 7 and 5 + 5 =`.
    """
    index = 0
    while index < len(found):
        result = parse(found, index, known) if _can_start(found, index) else None
        if result is not None and result.end == len(found):
            anew = right is not None and index == right.end + 1
            return result if anew or not _doubtful_start(found, index) else None
        index = max(result.end if result else 0, index + 1)
    return None


def _can_start(found: Sequence[Token], index: int) -> bool:
    token, before = found[index], found[index - 1] if index else None
    if token.text == "-":
        glued = index + 1 < len(found) and not found[index + 1].gap
        return before is None or (token.gap and glued and before.kind == "word")
    return token.kind in _STARTS and (before is None or before.kind not in {"op", "open"})


def _doubtful_start(found: Sequence[Token], index: int) -> bool:
    """True if what stands before the sum may belong to it: half of, twice, floor(, difference between 9 and."""
    if not index:
        return False
    before, earlier = found[index - 1], found[index - 2] if index > 1 else None
    word = (before.label or before.text).split()[-1].lower()
    function = found[index].kind == "open" and not found[index].gap
    if (before.kind != "word" and _compound(before)) or function or word in _LEADS:
        return True
    operator = next((token for token in reversed(found[:index]) if token.kind != "word"), None)
    if operator and operator.kind == "op":
        return True  # "+ his 1 teacher"
    if earlier is None or word not in {"of", "and", "the", "from", "to"}:
        return False
    if earlier.kind != "word" and not earlier.label:
        return True
    return (earlier.label or earlier.text).split()[-1].lower() in _LEADS


def parse(found: Sequence[Token], start: int, known: Mapping[str, Value]) -> Sum | None:
    """Return the longest sum that begins at `start`, None where none does. `known` are the values of names."""
    depth, operand, end = 0, False, start
    for place in range(start, min(len(found), start + _MOST_TOKENS)):
        token = found[place]
        if operand:
            if token.kind == "close" and depth:
                depth -= 1
            elif token.kind == "op":
                operand = False
            else:
                break
        elif token.kind in {"number", "name"}:
            operand = True
        elif token.kind == "open" and depth < _MOST_DEPTH:
            depth += 1
        elif token.text not in {"+", "-"} or sum(other.kind == "op" for other in found[max(place - 3, 0) : place]) > 2:
            break
        end = place + 1 if operand and not depth else end
    own = found[start:end]
    if not own:
        return None
    percents = any(token.label.startswith("%") for token in own)
    value = _value(own, known, Fraction(1, 100))
    return Sum(start, end, own, value, _value(own, known, Fraction(1)) if percents else value)


def _value(own: Sequence[Token], known: Mapping[str, Value], percent: Fraction) -> Value | None:
    """Return what a sum is worth, None where it cannot be known or may be read in more than one way."""
    values: dict[str, Value | None] = {}
    texts: list[str] = []
    signs = {token.text for token in own if token.kind == "op"}
    for place, token in enumerate(own):
        if token.kind in {"number", "name"}:
            value = token.value if token.kind == "number" else known.get(token.text)
            values[f"n{place}"] = _apply("*", value, Value(percent)) if token.label.startswith("%") else value
            texts.append(f"n{place}" if token.label[:1] != "%" else f"p{place}")
        else:
            texts.append({"^": "**", _IMPLICIT: "*", "–": "-"}.get(token.text, token.text))
    if {_IMPLICIT, "/"} <= signs:  # 1/2x
        return None
    return _evaluated(ast.parse("".join(texts), mode="eval").body, values)


def _evaluated(node: ast.expr, values: Mapping[str, Value | None]) -> Value | None:
    match node:
        case ast.Name():
            return values[f"n{node.id[1:]}"]
        case ast.UnaryOp():
            if isinstance(node.operand, ast.BinOp) and isinstance(node.operand.op, ast.Pow):
                return None  # -2² is 4 on some calculators
            value = _evaluated(node.operand, values)
            return _apply("*", Value(Fraction(-1)), value) if isinstance(node.op, ast.USub) else value
        case ast.BinOp():
            left, right = _evaluated(node.left, values), _evaluated(node.right, values)
            operator = _OPERATORS[type(node.op)]
            percent = isinstance(node.right, ast.Name) and node.right.id[0] == "p"
            if (
                operator in "+-"
                and percent
                and any(isinstance(one, ast.Name) and one.id[0] == "n" for one in ast.walk(node.left))
            ):
                return None  # 50 - 20% may be 40
            return _raised(left, right) if operator == "^" else _apply(operator, left, right)
        case _:
            return None


_OPERATORS: Final[dict[type[ast.operator], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "^",
}


def _apply(operator: str, left: Value | None, right: Value | None) -> Value | None:
    """Return the result; None where a side is unknown or the result is not one to be known."""
    if left is None or right is None or (operator == "/" and not right.exact):
        return None
    (a, off_a), (b, off_b) = left, right
    if operator in "+-":
        value = Value(a + b if operator == "+" else a - b, off_a + off_b)
    elif operator == "*":
        value = Value(a * b, abs(a) * off_b + abs(b) * off_a)
    else:
        value = Value(a / b, (off_a + abs(a / b) * off_b) / abs(b))
    bits = max(value.exact.numerator.bit_length(), value.exact.denominator.bit_length())
    return None if bits > _MOST_BITS else value


def _raised(base: Value | None, exponent: Value | None) -> Value | None:
    """Return a power with a whole exponent, None for others and where it is too large."""
    if base is None or exponent is None or exponent.exact.denominator > 1:
        return None
    number, count = base.exact, exponent.exact.numerator
    size = max(number.numerator.bit_length(), number.denominator.bit_length())
    if abs(count) > _MOST_POWER or size * abs(count) > _MOST_BITS or (not number and count <= 0):
        return None
    return Value(number**count, abs(count * number ** (count - 1)) * base.spread if number else base.spread)
