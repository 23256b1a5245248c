"""The type of texts without secrets."""


class Clean(str):
    """A text that passed the gate: in its normal form, and without secrets. Only `security` makes one.

    Methods of str return a plain str: what is derived from a text with them is not known to be clean.
    """

    __slots__ = ()
