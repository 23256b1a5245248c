"""The table of word vectors is the same on machines of either byte order."""

import sys
from array import array

import pytest

from mcp_reflect.text.word_vectors import read_little_endian


@pytest.mark.skipif(sys.byteorder == "big", reason="simulates a big-endian machine on the other")
def test_a_big_endian_machine_swaps_the_bytes_that_it_read() -> None:
    as_a_big_endian_array = array("H", [0x0102])
    data = as_a_big_endian_array.tobytes()
    assert list(read_little_endian("H", data, "big")) == [0x0201]


def test_the_numbers_of_the_file_are_little_endian() -> None:
    assert list(read_little_endian("H", b"\x01\x00\x00\x01")) == [1, 256]
