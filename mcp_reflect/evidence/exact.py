"""What exact checks say of a step: the equations that hold, and those that are certainly false."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """A computed replacement: characters `start` to `end` of the step become `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedEquation:
    """An equation that was computed. Steps count from 1; `quote` are its words, `holds` is false where it is wrong.

    `expected` is the value that comes out. `fix` is None where that cannot be put in the place of what is wrong.
    """

    step: int
    start: int
    end: int
    quote: str
    holds: bool
    expected: str | None = None
    fix: Fix | None = None

    @property
    def reason(self) -> str:
        """Say what comes out."""
        left, equals, shown = self.quote.rpartition("=")
        if self.expected and equals and left.strip():
            return f"{left.rstrip()} = {self.expected}, not {shown.strip()}"
        if self.expected:
            return f'"{self.quote}" is wrong: {self.expected} comes out'
        return f'"{self.quote}" does not follow from the equation before it'
