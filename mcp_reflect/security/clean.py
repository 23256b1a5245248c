"""The type of texts without secrets."""

from typing import LiteralString, TypeAlias


class Clean(str):
    """A text that passed the gate: in its normal form, and without secrets. Only `security` makes one.

    Methods of str return a plain str: what is derived from a text with them is not known to be clean.
    """

    __slots__ = ()


Sayable: TypeAlias = Clean | LiteralString
"""What an answer may say: a text that passed the gate, or one that stands in our own code."""
