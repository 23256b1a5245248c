"""Whether two sides are equal in any way in which people write what looks like an equation.

Many a wrong sum fits some other reading by chance: "400 + 15 = 25" is right on a circle of 26. So a reading counts only
where the equation has a form that plain sums do not have ("28/11 + 5 = 3/12"), or where a word of the work says so.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from mcp_reflect.evidence.calendar_readings import (
    is_count_of_years,
    is_date,
    is_in_minutes,
    is_minutes_later,
    is_next_version,
    is_on_the_clock,
    is_other_date,
    is_range,
    is_score,
    is_version,
    is_working_day,
)
from mcp_reflect.evidence.counting_readings import (
    is_contracted,
    is_counted_with_both_ends,
    is_day_of_the_month,
    is_day_of_the_week,
    is_end_of_a_match,
    is_hour_of_the_day,
    is_in_another_base,
    is_in_parts,
    is_larger_one,
    is_lost_by_a_float,
    is_month_of_the_year,
    is_nim_sum,
    is_of_bits,
    is_paid_in_part,
    is_read_from_the_left,
    is_remainder,
    is_rounded_before,
    is_union,
)
from mcp_reflect.evidence.equations import words_for
from mcp_reflect.evidence.measure_readings import (
    is_put_together_by_words,
    is_put_together_otherwise,
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
    is_clear_bitwise,
    is_in_a_ledger,
    is_joined_text,
    is_just_wrapped,
    is_keyed_in,
    is_on_the_alphabet,
    is_on_the_compass,
    is_signed_otherwise,
    is_wrapped,
)
from mcp_reflect.evidence.sum_comparing import are_comparable, shows
from mcp_reflect.evidence.sum_sides import SumSide


class SumReading(NamedTuple):
    """Another way to read an equation.

    `signs` is the heading of words/arithmetic.txt of whose words one must stand in the work; empty where the
    form of the equation is sign enough.
    """

    makes_equal: Callable[[SumSide, SumSide], bool]
    signs: str = ""


_READINGS: Final = (
    SumReading(is_range),
    SumReading(is_working_day),
    SumReading(is_score),
    SumReading(is_count_of_years),
    SumReading(is_on_the_clock),
    SumReading(is_minutes_later),
    SumReading(is_in_minutes, "about clocks"),
    SumReading(is_next_version),
    SumReading(is_version, "about versions"),
    SumReading(is_date),
    SumReading(is_other_date, "about dates"),
    SumReading(is_keyed_in),
    SumReading(is_clear_bitwise),
    SumReading(is_bitwise, "about programs"),
    SumReading(is_just_wrapped),
    SumReading(is_wrapped, "about programs"),
    SumReading(is_joined_text, "about programs"),
    SumReading(is_on_the_compass, "about circles"),
    SumReading(is_on_the_alphabet, "about letters"),
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
    SumReading(is_put_together_otherwise),
    SumReading(is_put_together_by_words, "about putting together"),
    SumReading(is_of_bits),
    SumReading(is_in_another_base, "about bases"),
    SumReading(is_remainder, "about remainders"),
    SumReading(is_day_of_the_week, "about weekdays"),
    SumReading(is_month_of_the_year, "months"),
    SumReading(is_hour_of_the_day, "about clocks"),
    SumReading(is_day_of_the_month, "about dates"),
    SumReading(is_in_parts, "about parts"),
    SumReading(is_counted_with_both_ends, "about intervals"),
    SumReading(is_union, "about sets"),
    SumReading(is_contracted, "about mixing"),
    SumReading(is_rounded_before, "about rounding"),
    SumReading(is_lost_by_a_float, "about programs"),
    SumReading(is_read_from_the_left, "about calculators"),
    SumReading(is_nim_sum, "about programs"),
    SumReading(is_nim_sum, "about nim"),
    SumReading(is_larger_one, "about maxima"),
    SumReading(is_paid_in_part, "about offers"),
    SumReading(is_end_of_a_match, "about matches"),
)


def agree(own: SumSide, before: SumSide, words: frozenset[str]) -> bool:
    """True if the sides are equal in any way of reading them; `words` are those of the work."""
    if not are_comparable(before, own) or shows(own, before):
        return True
    return any(
        reading.makes_equal(before, own)
        for reading in _READINGS
        if not reading.signs or words & words_for(reading.signs)
    )
