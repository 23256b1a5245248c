"""What to write instead of a wrong result, in the style of what stands there."""

from fractions import Fraction

from mcp_reflect.critique.checks.arithmetic.chains import Chain
from mcp_reflect.critique.checks.arithmetic.numerals import fixed, read, terminates, write
from mcp_reflect.critique.checks.arithmetic.syntax import Parsed, Scaled
from mcp_reflect.critique.checks.arithmetic.tokens import Kind, Token
from mcp_reflect.critique.checks.checker import Fix

_TINY, _HUGE = Fraction(1, 10**4), Fraction(10**15)


def plain_text(value: Fraction) -> str:
    """The value in as few decimals as write it exactly, at most six; tiny and huge ones with a power of ten."""
    if value and not _TINY <= abs(value) < _HUGE:
        mantissa, _, power = write(value, "0.00e0").partition("e")
        return f"{mantissa} × 10^{power}"
    places = next((n for n in range(7) if terminates(value, n)), 6)
    return fixed(value, places)


def fix_of(step: str, chain: Chain, index: int, right: Parsed, expected: Fraction) -> Fix | None:
    """The replacement for the right side of relation `index`, and for what follows from a wrong sum."""
    found = chain.members[index + 1].tokens
    literal = right.literal
    if literal is not None:
        return _literal_fix(step, found[right.start : right.end], literal[0], right, expected)
    last_member, last = found, right
    for member in chain.members[index + 2 :]:
        if member.right is None:
            break
        last_member, last = member.tokens, member.right
    start, end = found[right.start].start, last_member[last.end - 1].end
    return Fix(start=start, end=end, text=plain_text(expected))


def _literal_fix(step: str, found: list[Token], number: Token, right: Parsed, expected: Fraction) -> Fix | None:
    if number.text == "mixed" or not number.text[0].isascii():
        return None
    value = _nearest(expected, 100, number.value) if right.percent else expected
    if isinstance(right.node, Scaled):
        value = _nearest(expected, Fraction(1, right.node.scale), number.value)
    written, tail, end = read(number.text), "", number.end
    if written and written[0] and written[0] != number.value:  # 3.98 × 10^-19: only the 3.98 is written anew
        value = value * written[0] / number.value
        if not 1 <= abs(value) < 10:
            return None
        end = max(token.end for token in found if token.kind in {Kind.NUMBER, Kind.CLOSE})
        tail = step[number.end : end]
    signs = [token for token in found if token.kind is Kind.OP and token.start < number.start]
    money = any(token.kind is Kind.CURRENCY for token in found)
    start = signs[0].start if signs else number.start
    currency = next((t.text for t in found if t.kind is Kind.CURRENCY and start <= t.start < number.start), "")
    wide = "," in step[max(0, start - 80) : start] and abs(value) >= 1000
    grouped = wide and _grouped_before(step, start)
    text = write(abs(value), number.text, money=money, grouped=grouped)
    return Fix(start=start, end=end, text=("-" if value < 0 else "") + currency + text + tail)


def _grouped_before(step: str, start: int) -> bool:
    text = step[max(0, start - 80) : start]
    return any(
        text[i] == "," and text[i - 1 : i].isdigit() and text[i + 1 : i + 4].isdigit() for i in range(1, len(text) - 3)
    )


def _nearest(expected: Fraction, factor: Fraction | int, shown: Fraction) -> Fraction:
    """0.25 before a percent sign is 25, 60 before dozen is 5, unless the sum has seen to that itself."""
    return min((expected * factor, expected), key=lambda value: abs(value - shown))
