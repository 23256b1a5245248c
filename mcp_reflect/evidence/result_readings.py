"""Results that no plain sum has: less than one of its terms, more digits than its terms, a zero of two ones."""

from fractions import Fraction
from typing import Final

from mcp_reflect.evidence.expressions import Operation, WrittenNumber, numbers_in
from mcp_reflect.evidence.sum_sides import CURRENCIES, SumSide, terms_in
from mcp_reflect.evidence.sum_words import words_for
from mcp_reflect.evidence.tokens import TokenKind

_HOURS: Final = 24  # of a day


def is_below_a_term(computed: SumSide, result: SumSide) -> bool:
    """True for "22 + 9 = 7" and "22 h + 5 h = 3 h": a sum that is not above one of its terms.

    What begins again gives such results: hours, days, months, degrees, letters, remainders, numbers of a program. So do
    resistors side by side. "25 hours + 12 hours" are no times of a day.
    """
    shown = result.bounds.exact
    terms = _terms_of_a_sum(computed)
    if shown is None or len(terms) < 2:
        return False
    are_times = computed.units <= words_for("clock") and terms[0] <= _HOURS
    return shown <= max(terms) and (are_times or not computed.units)


def is_less_together(computed: SumSide, result: SumSide) -> bool:
    """True for "5 + 4 = 8" where one is in both: a result from the largest term up to the sum.

    So it is with what is counted once in two sets, with notes that intervals share, and with liquids that mix.
    """
    value, shown = computed.bounds.exact, result.bounds.exact
    terms = _terms_of_a_sum(computed)
    if value is None or shown is None or len(terms) < 2:
        return False
    return max(terms) <= shown < value


def is_near(computed: SumSide, result: SumSide) -> bool:
    """True for "40 + 30 = 80" and "33 + 33 + 33 = 100", where each number was rounded by itself."""
    value, shown = computed.bounds.exact, result.bounds.exact
    terms = _terms_of_a_sum(computed)
    if value is None or shown is None or len(terms) < 2:
        return False
    return abs(value - shown) <= max(len(terms), value / 5)


def is_paid_in_part(computed: SumSide, result: SumSide) -> bool:
    """True for "3 * 4 = 8": three for the price of two."""
    value, shown = computed.bounds.exact, result.bounds.exact
    is_product = isinstance(computed.tree, Operation) and computed.tree.operator == "*"
    return is_product and value is not None and shown is not None and value / 2 <= shown < value


def _terms_of_a_sum(side: SumSide) -> list[Fraction]:
    """Return the numbers of "5 + 4"; none of a difference, or where a term is no number."""
    terms = terms_in(side.tree)
    numbers = [term.value for term in terms if isinstance(term, WrittenNumber)]
    operators = [token.text for token in side.written.tokens if token.kind is TokenKind.OPERATOR]
    if len(numbers) != len(terms) or any(operator != "+" for operator in operators):
        return []
    return numbers


def has_more_decimals(computed: SumSide, result: SumSide) -> bool:
    """True for "1.9 + 0.1 = 1.10" and "10 - 6 = .625": no sum has more decimals than its terms.

    It is a version, a share of matches, or an older money. "$3 + $4 = $7.00" is none of these.
    """
    tree, shown = computed.tree, result.literal
    if not isinstance(tree, Operation) or tree.operator not in "+-" or shown is None:
        return False
    terms = terms_in(tree)
    if (
        not all(isinstance(term, WrittenNumber) for term in terms)
        or computed.units
        or result.units & CURRENCIES
    ):
        return False
    most = max(number.decimals for number in numbers_in(tree))
    return most < 2 and shown.decimals > most  # two may be money


def is_of_bits(computed: SumSide, result: SumSide) -> bool:
    """True for "1 + 1 = 0", "1 + 1 = 1" and "1 + 1 = 10": nobody adds one and one wrongly, so it is logic."""
    tree, shown = computed.tree, result.literal
    if not isinstance(tree, Operation) or tree.operator != "+" or computed.units or shown is None:
        return False
    are_bits = all(number.text in ("0", "1") for number in numbers_in(tree))
    return are_bits and shown.text in ("0", "1", "10", "11")
