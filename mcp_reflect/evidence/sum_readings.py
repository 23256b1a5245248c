"""Whether two sides are equal in any way in which people write what looks like an equation."""

from typing import Final

from mcp_reflect.evidence.calendar_readings import (
    is_count_of_years,
    is_date,
    is_in_minutes,
    is_on_the_clock,
    is_range,
    is_score,
    is_version,
    is_working_day,
)
from mcp_reflect.evidence.measure_readings import is_put_together_otherwise
from mcp_reflect.evidence.percent_readings import (
    is_change,
    is_compound,
    is_in_points,
    is_relative_difference,
    is_rounded_hundred,
)
from mcp_reflect.evidence.program_readings import (
    is_bitwise,
    is_in_a_ledger,
    is_joined_text,
    is_keyed_in,
    is_on_a_circle,
    is_signed_otherwise,
    is_wrapped,
)
from mcp_reflect.evidence.sum_comparing import are_comparable, shows
from mcp_reflect.evidence.sum_sides import SumSide

_READINGS: Final = (
    is_range,
    is_working_day,
    is_score,
    is_count_of_years,
    is_on_the_clock,
    is_in_minutes,
    is_version,
    is_date,
    is_keyed_in,
    is_bitwise,
    is_wrapped,
    is_on_a_circle,
    is_joined_text,
    is_signed_otherwise,
    is_in_a_ledger,
    is_compound,
    is_change,
    is_relative_difference,
    is_in_points,
    is_rounded_hundred,
    is_put_together_otherwise,
)


def agree(own: SumSide, before: SumSide) -> bool:
    """True if the sides are equal in any way of reading them."""
    return (
        not are_comparable(before, own)
        or shows(own, before)
        or any(reading(before, own) for reading in _READINGS)
    )
