"""Messages that say the same over and over cost little to read for what they claim."""

import time

import pytest

from mcp_reflect.evidence.success_claims import claims_of

MOST_SECONDS = 0.5  # of the processor; the first of these took three


@pytest.mark.parametrize(
    "atom", ["1.", "1. ", "a. ", "v1.", "。", "- ", "| ", "1 of 2 ", "is now "]
)
def test_a_message_of_one_atom_is_read_soon(atom: str) -> None:
    claims_of(
        f"All tests pass. Version 1.2 is deployed. {atom * 9}"
    )  # it has compiled what it needs
    began = time.process_time()
    assert claims_of(atom * (100_000 // len(atom))) == []
    assert time.process_time() - began < MOST_SECONDS


@pytest.mark.parametrize("version", ["1.2", "v1.2.3", "10.0.0.1", "1.2."])
def test_a_version_of_any_length_is_published(version: str) -> None:
    assert claims_of(f"Version {version} is published.")
    assert claims_of(f"{version.rstrip('.')} is now published.")
