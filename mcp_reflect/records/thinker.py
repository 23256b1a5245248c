"""The names of who thought, in results: a language model is named `provider:model` or `sampling`."""

from typing import Final

HOST: Final = "host"
"""The calling agent, by the analysis that it sent."""

RULES: Final = "rules"
"""Nobody but the rules."""
