"""What the output of a script that nobody knows names: the quick look for signs misses nothing that the patterns find."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.evidence.kinds import ProofKind
from mcp_reflect.evidence.unknown_scripts import kinds_in_words, kinds_that_end, printed_by_kind

KINDS = [
    (kind, summaries)
    for summaries in (True, False)
    for kind in printed_by_kind(summaries=summaries)
]


@pytest.mark.hypothesis
@pytest.mark.parametrize(("kind", "summaries"), KINDS)
def test_each_output_that_a_pattern_matches_has_a_sign(kind: ProofKind, summaries: bool) -> None:
    pattern = printed_by_kind(summaries=summaries)[kind].pattern
    found_in = kinds_that_end if summaries else kinds_in_words

    @given(
        st.from_regex(pattern, alphabet=st.characters(max_codepoint=126)),
        st.sampled_from(("", "before\n", "x " * 400 + "\n")),
    )
    def holds(printed: str, before: str) -> None:
        output = f"{before}{printed}"
        if len(output) < 6_000 and pattern.search(output):
            assert kind in found_in(output)

    holds()
