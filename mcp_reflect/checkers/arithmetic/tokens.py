"""Text to tokens, in one pass of one regular expression."""

import re
from collections.abc import Iterator
from enum import IntEnum, auto
from fractions import Fraction
from itertools import islice
from typing import Final, NamedTuple

from mcp_reflect.checkers.arithmetic.numerals import EXACT, VULGAR, read, read_raised, scientific

ONE = Fraction(1)


class Kind(IntEnum):
    """What a piece of text is to a reader of sums; whole numbers, since they are looked up at every token."""

    NUMBER = auto()
    NAME = auto()  # a variable: one letter, perhaps with an index
    WORD = auto()
    LABEL = auto()  # a unit behind a number, `m/s²`
    OP = auto()  # + - * / ^ and the word operators
    REL = auto()  # = ≈ < > ≤ ≥ ≠ and `is`
    OPEN = auto()
    CLOSE = auto()
    PERCENT = auto()
    CURRENCY = auto()
    ROOT = auto()
    FRAC = auto()  # LaTeX \frac
    BREAK = auto()  # the end of a clause
    OPAQUE = auto()  # whatever cannot be read: no sum goes through it


class Token(NamedTuple):
    """Characters `start` to `end` of the step; `text` is normalised (× is *, − is -).

    `value` and `decimals` belong to numbers: 1,250.50 has value 2501/2 and 2 decimals; in scientific
    notation and before million the decimals may be negative. `gap` tells of white space before it.
    """

    kind: Kind
    text: str
    start: int
    end: int
    gap: bool
    value: Fraction = ONE
    decimals: int = 0


BREAK: Final = Token(Kind.BREAK, "", 0, 0, gap=True)


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


WORD_OPERATORS = {"plus": "+", "minus": "-", "times": "*"}

SCALES: Final = {
    "hundred": 100,
    "thousand": 10**3,
    **dict.fromkeys(("million", "millions"), 10**6),
    "billion": 10**9,
    "trillion": 10**12,
}

# Behind a number these end the quantity: what follows is another clause, not a label.
STOPS = words(
    "and or so then is are was were be because since which that but if when while where as thus hence therefore "
    "let has have had we he she they it you gets get makes make costs equals equal giving gives leaves leaving "
    "than more less fewer greater off of squared cubed remainder mod modulo choose out both not"
)

# Before a number these change its value, so that a sum that starts there is not the whole claim.
LEADS = words(
    "twice double triple thrice half minus negative log ln lg sin cos tan exp sqrt times plus over squared mod "
    "than between arcsin arccos arctan cot sec csc lim max min gcd lcm gcf hcf abs det floor ceil choose quarter "
    "third dozen hundred thousand million point ratio root average mean step part question problem exercise "
    "example line page chapter section eq equation figure table no number item round pages lines days years ages "
    "grades rows weeks chapters version rule case thirds quarters fourth fourths fifth sixth percent square cube "
    "one-half one-third two-thirds one-fourth three-fourths one-quarter power logarithm sine cosine"
)

DETERMINERS = words("the his her their its my our those these all your this that a")


_UNIT = (
    r"(?:(?:kg|mg|µg|μg|km|cm|mm|nm|µm|μm|ms|ns|min|hr|mol|mmol|kmol|kJ|MJ|eV|keV|MeV|kW|kWh|Wh|MW|kN|Pa|kPa|MPa|"
    r"atm|Hz|kHz|MHz|GHz|mL|ml|dL|cal|kcal|rad|KB|MB|GB|TB|mA|kV|mV|ft|lb|oz|dm|"
    r"[msghlLNJWVAKCFTMΩ])(?![A-Za-z0-9_'’(])(?:\^\{?[-−]?[1-4]\}?|[²³]|⁻[¹²³])?)"
)
SCANNER = re.compile(
    r"""
    (?P<skip>\\(?:left|right|,|;|!|:|quad|qquad|\ |displaystyle|boxed|fbox|big|Big|bigl|bigr)(?![A-Za-z])
        |[ \t\u00a0\u2009\u202f]+|(?<![\w)])[*_]{2,3}(?=[\w$(√\\])
        |(?<=[\w)%.])[*_]{2,3}(?![\w(]|\s?[\d(])|(?<=[:!?,;])[*_]{2,3}|`|&)
    |(?P<calc><<[^<>\n]{0,200}>>)
    |(?P<opaque>https?://\S{1,500}|\d{4}-\d\d-\d\d(?:T[\d:.]{1,20})?|\d{1,4}:\d[\d:.]{0,20}|\d+\.\d+\.\d[\d.]*|0\d+(?![\d.,])
        |0[xXbB][0-9a-fA-F]+|\.\.+|…|⋯|\\[cl]?dots|[+\-*/%]=|={2,}|_{2,}|\d+(?:st|nd|rd|th)\b
        |\d+\ \d{1,2}/\d{1,2}(?![\d.])|\d+\ ?[½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞]|π|\\pi(?![A-Za-z])
        |\d[\d,.]{0,12}['’]\d+)
    |(?P<number>(?:\d{1,3}(?:(?:,|\{,\})\d{2,3}){0,8}(?:,|\{,\})\d{3}(?![\d])|\d+)(?:\.\d+)?
            (?:[eE][+\-]?\d{1,4}(?![\w.])|\ ?(?:[×·*]|\\times)\ ?10(?:\^\{?[-−]?\d{1,3}\}?|[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]{1,4}))?
        |\.\d+(?:[eE][+\-]?\d{1,4}(?!\w))?)
    |(?P<vulgar>[½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞])
    |(?P<raised>[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+)
    |(?P<arrow><?=+>|<?-{1,2}>|<-|[⇒→⟹←↔⟶⇔]|\\(?:implies|Rightarrow|to|rightarrow|iff)(?![A-Za-z]))
    |(?P<rel><=|>=|!=|≤|≥|≠|≈|≃|≅|~=|:=|=|<|>|\\(?:approx|leq?|geq?|neq?|simeq|lt|gt)(?![A-Za-z]))
    |(?P<root>√|\\sqrt|sqrt(?![A-Za-z])|[Ss]quare\ root\ of(?![A-Za-z]))
    |(?P<frac>\\[dt]?frac(?![A-Za-z]))
    |(?P<op>\*\*|[-+*/^×·⋅∙∗✕✖÷∕⁄−–]|\\(?:times|cdot|div)(?![A-Za-z])|(?:multiplied|divided)\ by(?![A-Za-z]))
    |(?P<label>\\(?:text|mathrm|mbox|textbf|mathbf|operatorname)\{[^{}]{0,60}\}|°\s?[CFK]?|\\?º)
    |(?P<percent>\\?%|per\ ?cent(?![A-Za-z]))
    |(?P<command>\\[A-Za-z]+)
    |(?P<currency>\\?\$|[€£¥₹]|(?:US|USD|EUR)\$?(?=\s?\d))
    |(?P<open>\\?[\[({])
    |(?P<close>\\?[\])}])
    |(?P<word>[^\W\d_⁰¹²³⁴⁵⁶⁷⁸⁹½¼¾](?:[^\W⁰¹²³⁴⁵⁶⁷⁸⁹½¼¾]|['’]|_\{[^{}]{0,20}\}|-(?=[a-z]{2})(?<=[a-z]{2}-)){0,60})
    |(?P<point>\.)
    |(?P<bang>!)
    |(?P<end>\\\\|[,;:?\n\r|"“”—―])
    |(?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
BEHIND_NUMBER = re.compile(rf"[ \u00a0]?{_UNIT}(?:[ ]?[/·⋅*][ ]?\(?{_UNIT}(?:[·⋅ ]{_UNIT}\))?)*(?![A-Za-z0-9_(])")
NUMBER_TAIL = re.compile(r",\d|[a-z]*\d|\.\d")
OPERATORS: Final = {
    **dict.fromkeys(("×", "·", "⋅", "∙", "∗", "✕", "✖", r"\times", r"\cdot", "multiplied by"), "*"),
    **dict.fromkeys(("÷", "∕", "⁄", r"\div", "divided by"), "/"),
    "−": "-",
    "–": "-",
    "**": "^",
}
RELATIONS: Final = {
    **dict.fromkeys(("≃", "≅", "~=", r"\approx", r"\simeq"), "≈"),
    **dict.fromkeys(("<=", r"\le", r"\leq"), "≤"),
    **dict.fromkeys((">=", r"\ge", r"\geq"), "≥"),
    **dict.fromkeys(("!=", r"\ne", r"\neq"), "≠"),
    r"\lt": "<",
    r"\gt": ">",
    ":=": "=",
}
WORD_RELATIONS = {"equals": "=", "is": "is", "are": "is", "was": "is", "makes": "is", "gives": "is"}
RELATED = re.compile(r"[=≈≠<>≤≥≃≅\\]| (?:is|are|was|equals|makes|gives) ")
DIGIT = re.compile(r"[\d½¼¾π]|[A-Za-z]['\d_]* ?[-+*/×÷]")
BLOCKS = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
BULLET = re.compile(r"(?m)^[ \t]*(?:[-*+•–][ \t]+|\d{1,3}[.)][ \t]+|#+[ \t]+|>[ \t]+)")


MAX_CHARACTERS = 20_000  # per step; what stands behind is not looked at
_SIMPLE = {
    "root": Kind.ROOT,
    "frac": Kind.FRAC,
    "percent": Kind.PERCENT,
    "currency": Kind.CURRENCY,
    "arrow": Kind.BREAK,
    "point": Kind.BREAK,
    "end": Kind.BREAK,
    "label": Kind.LABEL,
    "opaque": Kind.OPAQUE,
    "command": Kind.OPAQUE,
    "other": Kind.OPAQUE,
}


def tokens(text: str, limit: int) -> list[Token]:
    """Return the first tokens of one step without its code blocks and list marks."""
    text = text[:MAX_CHARACTERS]
    if "```" in text or "~~~" in text:
        text = BLOCKS.sub(_blank, text)
    if "\n" in text:
        text = _claims_only(text)
    return _judge_letters(list(islice(_scan(BULLET.sub(_blank, text)), limit)))


def _claims_only(text: str) -> str:
    """Lines that can hold no claim made blank: those without a digit, or without a relation near."""
    lines = text.split("\n")
    related = [RELATED.search(line) is not None for line in lines]
    near = [mine or (index + 1 < len(lines) and related[index + 1]) for index, mine in enumerate(related)]
    return "\n".join(
        line if keep and DIGIT.search(line) else " " * len(line) for line, keep in zip(lines, near, strict=True)
    )


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _scan(text: str) -> Iterator[Token]:
    position, gap, operand = 0, True, False
    while match := SCANNER.match(text, position):
        name, position = match.lastgroup or "other", match.end()
        if name in {"skip", "calc"}:
            gap = True
            continue
        for token in _token(name, match, gap, operand):
            operand = token.kind in {Kind.NUMBER, Kind.CLOSE, Kind.NAME, Kind.PERCENT}
            position = token.end if name == "number" else position
            yield token
        gap = False


def _number(text: str, start: int, end: int, gap: bool) -> Iterator[Token]:
    """A number with the unit behind it: `5 m/s²`."""
    parsed, tail = read(scientific(text[start:end])), NUMBER_TAIL.match(text, end)
    if parsed is None or (tail and text[end] != "x"):
        end = tail.end() if tail else end
        yield Token(Kind.OPAQUE, text[start:end], start, end, gap)
    else:
        yield Token(Kind.NUMBER, text[start:end], start, end, gap, parsed[0], parsed[1])
    unit = BEHIND_NUMBER.match(text, end)
    if unit and not (len(unit[0]) == 1 and unit[0].isalpha()):
        yield Token(Kind.LABEL, unit[0].strip(), end, unit.end(), gap=True)


def _token(name: str, match: re.Match[str], gap: bool, operand: bool) -> Iterator[Token]:
    text, start, end = match.group(), match.start(), match.end()
    if name in _SIMPLE:
        yield Token(_SIMPLE[name], text, start, end, gap)
    elif name == "number":
        yield from _number(match.string, start, end, gap)
    elif name == "word":
        yield from _word(text, start, end, gap)
    elif name == "op":
        yield _operator(match, gap, operand)
    elif name == "rel":
        yield Token(Kind.REL, RELATIONS.get(text, text), start, end, gap)
    elif name in {"open", "close"}:
        if text not in {r"\(", r"\)", r"\[", r"\]"}:
            yield Token(Kind.OPEN if name == "open" else Kind.CLOSE, text[-1], start, end, gap)
    elif name == "vulgar":
        yield Token(Kind.NUMBER, text, start, end, gap, VULGAR[text], EXACT)
    elif name == "raised":
        yield from _raised(Token(Kind.OPAQUE, text, start, end, gap), operand)
    else:  # a factorial where the sum goes on behind it, else the end of a sentence
        factorial = operand and not gap and re.match(r"\s?[-+*/=×÷)\]^]|\w", match.string[end : end + 2])
        yield Token(Kind.OPAQUE if factorial else Kind.BREAK, "!", start, end, gap)


def _raised(token: Token, operand: bool) -> Iterator[Token]:
    """Superscript digits are a power of what stands before them."""
    value = read_raised(token.text) if operand else None
    if value is None:
        yield token
    else:
        yield Token(Kind.OP, "^", token.start, token.start, gap=False)
        yield token._replace(kind=Kind.NUMBER, gap=False, value=value)


def _operator(match: re.Match[str], gap: bool, operand: bool) -> Token:
    text, start, end, source = match.group(), match.start(), match.end(), match.string
    if text in {"*", "**"} and gap and not operand and (end >= len(source) or not source[end].isspace()):
        return Token(Kind.BREAK, text, start, end, gap)
    if text == "–" and not gap and not source[end : end + 1].isspace():
        return Token(Kind.OP, "–", start, end, gap)  # 5–10 may be a range
    return Token(Kind.OP, OPERATORS.get(text, text), start, end, gap)


def _word(text: str, start: int, end: int, gap: bool) -> Iterator[Token]:
    low = text.lower()
    if low in WORD_OPERATORS:
        yield Token(Kind.OP, WORD_OPERATORS[low], start, end, gap)
    elif low in WORD_RELATIONS:
        yield Token(Kind.REL, WORD_RELATIONS[low], start, end, gap)
    elif low[0] == "x" and low[1:].isdecimal() and len(low) > 1 and low[1:].isascii() and not gap:
        yield Token(Kind.OP, "*", start, start + 1, gap=False)  # 12x3
        parsed = read(low[1:])
        kind = Kind.NUMBER if parsed else Kind.OPAQUE
        yield Token(kind, low[1:], start + 1, end, gap=False, value=parsed[0] if parsed else Fraction(0))
    else:
        rest = text[1:].rstrip("'’")
        name = not rest or rest.isdigit() or rest[0] == "_"
        yield Token(Kind.NAME if name else Kind.WORD, text, start, end, gap)


def _judge_letters(found: list[Token]) -> list[Token]:
    """x between two quantities is times; a lone letter in prose is a word."""
    for index, token in enumerate(found):
        if token.kind is not Kind.NAME:
            continue
        before = found[index - 1] if index else BREAK
        after = found[index + 1] if index + 1 < len(found) else BREAK
        if token.text in {"x", "X"} and _is_times(before, after):
            found[index] = token._replace(kind=Kind.OP, text="*")
        elif not (
            before.kind in {Kind.OP, Kind.REL, Kind.OPEN, Kind.FRAC, Kind.ROOT}
            or (before.kind in {Kind.NUMBER, Kind.CLOSE} and not token.gap)
            or after.kind is Kind.OP
            or (after.kind is Kind.REL and after.text != "is")
            or (after.kind is Kind.OPEN and not after.gap)
        ):
            found[index] = token._replace(kind=Kind.WORD)
    return found


def _is_times(before: Token, after: Token) -> bool:
    ahead = after.kind in {Kind.NUMBER, Kind.CURRENCY} or (after.kind is Kind.OPEN and after.gap)
    return ahead and before.kind in {Kind.NUMBER, Kind.CLOSE, Kind.PERCENT, Kind.WORD, Kind.LABEL}
