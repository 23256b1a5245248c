"""Labels of numbers: where two sides count in different units, a plain sum proves nothing."""

import re
from fractions import Fraction
from math import log10

from mcp_reflect.critique.checks.arithmetic.syntax import Binary, Node, Parsed
from mcp_reflect.critique.checks.units.table import UNITS, Unit, compound

_SYMBOL = 4  # letters of the longest unit symbols
_CURRENCIES = {"$", "€", "£", "¥", "₹"}
_FORMULA = re.compile(r"(?:[A-Z][a-z]?\d*){2,}")
_MONEY = (0,) * 8
_COINS = {
    "$": 100,
    "dollar": 100,
    "dollars": 100,
    "£": 100,
    "€": 100,
    "cent": 1,
    "cents": 1,
    "¢": 1,
    "pence": 1,
    "penny": 1,
    "pennies": 1,
    "dime": 10,
    "dimes": 10,
    "nickel": 5,
    "nickels": 5,
    "quarters": 25,
}
# What a result may be multiplied by when its unit was changed on the way: time, circle, calorie, eV, atm.
_CHANGES = (1.0, 60, 3600, 24, 86_400, 7, 12, 3.6, 4.184, 4.186, 1.602e-19, 760, 57.2958, 8.314, 0.0821)
# Steps between prefixes, and between cm, cm² and m.
_POWERS = frozenset(range(-30, 31, 3)) | {-4, -2, 2, 4}


def other_units(left: Parsed, right: Parsed, expected: Fraction | None) -> bool:
    """Whether the sides may count in different units, so that a plain sum proves nothing."""
    if left.weak and not right.labels:
        return True
    labels = left.labels + right.labels
    if "pi" in left.doubts | right.doubts and any(label[0] == "°" for label in labels):
        return True  # degrees and radians
    if _adds(left.node) and _adds(right.node) and any(map(_FORMULA.fullmatch, labels)):
        return True  # a chemical equation
    return _mixes(left, right) or (expected is not None and _prefixed(left, right, expected))


def _mixes(left: Parsed, right: Parsed) -> bool:
    """Hours and minutes on the two sides, or in one sum; 5 kg = 5 × 9.8 N."""
    ours, theirs = _known(left.labels), _known(right.labels)
    every = ours | theirs
    mixed = any(a.dimension == b.dimension and a.factor != b.factor for a in every for b in every)
    if mixed and (_adds(left.node) or not theirs <= ours):
        return True
    return left.literal is not None and bool(ours) and not ours & theirs


def _prefixed(left: Parsed, right: Parsed, expected: Fraction) -> bool:
    """Whether the result has a unit that the sum has not, and is off by what that unit may explain."""
    literal = right.literal
    symbols = {label for label in right.labels if len(label) <= _SYMBOL or "/" in label} - _CURRENCIES
    named = any(compound(symbol) or any(c in symbol for c in "JNWVAΩTPHe°") for symbol in symbols)
    if not named or symbols & set(left.labels) or literal is None or not expected:
        return False
    return _changed(expected, literal[0].value)


def _adds(node: Node) -> bool:
    return isinstance(node, Binary) and (node.op in "+-" or _adds(node.left) or _adds(node.right))


def _known(labels: list[str]) -> set[Unit]:
    found = {unit for label in labels if label != "in" and (unit := compound(label))}
    if "in" in labels and any(unit.family == "foot" for unit in found):
        found.add(UNITS["in"])
    return found | {
        Unit("coin", _MONEY, (Fraction(_COINS[label.lower()]),), "") for label in labels if label.lower() in _COINS
    }


def _changed(expected: Fraction, shown: Fraction) -> bool:
    """Whether the two differ by a step of prefixes or by a usual factor, within 1 %."""
    if not shown or expected * shown < 0:
        return False
    if not abs(expected) < 10**100 * abs(shown) < 10**200 * abs(expected):
        return True
    ratio = float(expected / shown)
    for change in _CHANGES:
        for logarithm in (log10(ratio * change), log10(ratio / change)):
            if abs(logarithm - round(logarithm)) < 0.0043 and round(logarithm) in _POWERS:
                return change != 1.0 or round(logarithm) != 0
    return False
