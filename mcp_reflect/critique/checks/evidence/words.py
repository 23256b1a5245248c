"""Word lists, written as text so that they read as text."""


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())
