"""Whether two sides are equal, or may be meant otherwise than as a plain sum.

What is meant otherwise is told by the form of the equation ("12 - 15 = 4"), or by its form and a word of the work.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from mcp_reflect.evidence.calendar_readings import (
    is_counted_with_both_ends,
    is_day_of_a_month,
    is_later_by_days,
    is_minutes_later,
    is_range,
    is_score,
    is_sum_with_decimals,
    is_sum_with_two_decimals,
    is_working_day,
)
from mcp_reflect.evidence.percent_readings import (
    is_change,
    is_clear_change,
    is_clear_compound,
    is_compound,
    is_in_points,
    is_relative_difference,
    is_rounded_hundred,
    is_share_of_difference,
)
from mcp_reflect.evidence.program_readings import (
    is_bitwise,
    is_divided_whole,
    is_in_a_ledger,
    is_joined_text,
    is_keyed_in,
    is_lost_by_a_float,
    is_signed_otherwise,
    is_wrapped,
)
from mcp_reflect.evidence.result_readings import (
    has_more_decimals,
    is_below_a_term,
    is_less_together,
    is_near,
    is_of_bits,
    is_paid_in_part,
)
from mcp_reflect.evidence.sum_comparing import are_comparable, shows
from mcp_reflect.evidence.sum_sides import SumSide
from mcp_reflect.evidence.sum_words import words_for


class SumReading(NamedTuple):
    """A form in which an equation may be meant otherwise.

    `signs` is the heading of words/arithmetic.txt of whose words one must stand in the work; empty where the
    form of the equation is sign enough.
    """

    has_form: Callable[[SumSide, SumSide], bool]
    signs: str = ""


_READINGS: Final = (
    SumReading(is_range),
    SumReading(is_working_day),
    SumReading(is_score),
    SumReading(is_counted_with_both_ends),
    SumReading(is_minutes_later),
    SumReading(is_later_by_days),
    SumReading(is_day_of_a_month, "about dates"),
    SumReading(is_sum_with_decimals, "about parts"),
    SumReading(is_sum_with_two_decimals, "about clocks"),
    SumReading(has_more_decimals),
    SumReading(is_below_a_term, "about beginning again"),
    SumReading(is_below_a_term, "about clocks"),
    SumReading(is_below_a_term, "about programs"),
    SumReading(is_less_together, "about sharing"),
    SumReading(is_near, "about rounding"),
    SumReading(is_paid_in_part, "about offers"),
    SumReading(is_of_bits),
    SumReading(is_keyed_in),
    SumReading(is_bitwise),
    SumReading(is_wrapped),
    SumReading(is_divided_whole),
    SumReading(is_lost_by_a_float),
    SumReading(is_joined_text, "about programs"),
    SumReading(is_signed_otherwise),
    SumReading(is_in_a_ledger),
    SumReading(is_clear_compound),
    SumReading(is_compound, "about changes"),
    SumReading(is_clear_change),
    SumReading(is_change, "about changes"),
    SumReading(is_share_of_difference),
    SumReading(is_relative_difference, "about changes"),
    SumReading(is_in_points),
    SumReading(is_rounded_hundred),
)


def agree(result: SumSide, computed: SumSide, words: frozenset[str]) -> bool:
    """True if the sides are equal, or may be meant otherwise; `words` are those of the work."""
    if not are_comparable(computed, result) or shows(result, computed):
        return True
    return any(
        reading.has_form(computed, result)
        for reading in _READINGS
        if not reading.signs or words & words_for(reading.signs)
    )
