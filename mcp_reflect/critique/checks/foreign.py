"""A checker of another package: whatever it does, the tool goes on without it and says so."""

from mcp_reflect.critique.checks.checker import Checker, Finding, Work


class Foreign:
    """Calls the checker that `load` makes. `name` is that of its entry point."""

    def __init__(self, name: str, checker: Checker) -> None:
        self.name = name
        self._checker = checker

    def check(self, work: Work) -> tuple[Finding, ...]:
        """Its findings, none where it fails."""
        found = self.findings(work)
        return () if isinstance(found, str) else found

    def findings(self, work: Work) -> tuple[Finding, ...] | str:
        """Its findings, or in one sentence how it failed."""
        try:
            found = tuple(self._checker.check(work))
        except Exception as error:  # noqa: BLE001 - the edge to code that is not ours: its fault is no fault of the work
            return f"checker {self.name} failed: {type(error).__name__}"
        for finding in found:
            if not isinstance(finding, Finding) or not 1 <= finding.step <= len(work.steps):  # pyright: ignore[reportUnnecessaryIsInstance]
                return f"checker {self.name} failed: it gave something that is no finding on a step"
        return found


class Absent:
    """In the place of a checker that could not even be loaded."""

    def __init__(self, error: Exception) -> None:
        self._error = error
        self.name = type(error).__name__

    def check(self, work: Work) -> tuple[Finding, ...]:
        """Raises what loading raised."""
        del work
        raise self._error
