"""Each kind of proof stands in all tables by kind: one that a table lacks would be read as no claim, or as no run."""

from collections.abc import Collection

import pytest

from mcp_reflect.evidence.claim_words import DIRECT, NOUNS, SAID
from mcp_reflect.evidence.command_kinds import words_of_kinds
from mcp_reflect.evidence.kinds import ProofKind
from mcp_reflect.evidence.outcomes import ReportedEnding, read_outcome
from mcp_reflect.evidence.unknown_scripts import printed_by_kind

TABLES: dict[str, Collection[ProofKind]] = {
    "programs.txt": words_of_kinds(),
    "claims.txt, nouns": NOUNS,
    "SAID in claim_words.py, or claims.txt, direct": {*SAID, *DIRECT},
    "_SUMMARIES in unknown_scripts.py": printed_by_kind(summaries=True),
    "_WORDS in unknown_scripts.py": printed_by_kind(summaries=False),
}


@pytest.mark.parametrize("kind", [kind for kind in ProofKind if kind is not ProofKind.ANY])
def test_a_kind_of_proof_is_in_each_table(kind: ProofKind) -> None:
    assert [name for name, table in TABLES.items() if kind not in table] == []
    assert read_outcome(kind, "", ReportedEnding(0)).passed, "_GROUPS in outcomes.py"
