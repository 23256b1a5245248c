"""The kinds of proof: what a run of a program shows, such as tests that pass or a commit.

What a command may prove is read in `command_kinds`, and what a name tells (`npm run test:unit`) in `name_kinds`.
"""

from enum import StrEnum
from typing import Final


class ProofKind(StrEnum):
    """What a run of a program shows."""

    TESTS = "tests"
    BUILD = "build"
    TYPES = "types"
    LINT = "lint"
    FORMAT = "format"
    COMMIT = "commit"
    PUSH = "push"
    MIGRATION = "migration"
    DEPLOYMENT = "deployment"
    HEALTH = "health"
    IMAGE = "image"
    ANY = "any"
    """A run of a program that is not known: it may show any of these."""


CHECKS: Final = frozenset(
    {ProofKind.TESTS, ProofKind.BUILD, ProofKind.TYPES, ProofKind.LINT, ProofKind.FORMAT}
)
"""The kinds that a run of `make check` or `pre-commit` may show, whichever of them it holds."""
