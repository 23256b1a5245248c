"""Checkers of other packages come through an entry point, and their faults stay their own."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_reflect.checkers import base as registry
from mcp_reflect.checkers.base import Work
from mcp_reflect.checkers.verify import verifier
from mcp_reflect.models.critique import Status

CODE = """
from mcp_reflect.checkers.base import Finding
from mcp_reflect.models.critique import Status

class Kind:
    name = "kind"
    def check(self, work):
        yield Finding(step=1, status=Status.FAIL, claim=work.steps[0], expected="please")

class Raises:
    name = "raises"
    def check(self, work):
        raise KeyError("secret")

class Elsewhere:
    name = "elsewhere"
    def check(self, work):
        yield Finding(step=9, status=Status.FAIL, claim="x")
"""


def installed(folder: Path, monkeypatch: pytest.MonkeyPatch, points: str) -> None:
    """A package on the path whose metadata names these entry points."""
    (folder / "foreign_checks.py").write_text(CODE, encoding="utf-8")
    info = folder / "foreign_checks-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: foreign-checks\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[{registry.GROUP}]\n{points}\n", encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    registry.forget()


@pytest.fixture(autouse=True)
def none_left_behind() -> Iterator[None]:
    yield
    registry.forget()


def test_a_checker_of_another_package_is_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path, monkeypatch, "kind = foreign_checks:Kind")
    found = verifier(Work(goal="", steps=()))(["Do it"])
    assert [(one.checker, one.status) for one in found.verdicts] == [("kind", Status.FAIL)]
    assert found.problems == ()


@pytest.mark.parametrize(
    ("point", "fault"),
    [("Raises", "KeyError"), ("Elsewhere", "no finding"), ("Missing", "AttributeError")],
)
def test_a_checker_that_fails_is_named_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str, fault: str
) -> None:
    installed(tmp_path, monkeypatch, f"odd = foreign_checks:{point}")
    found = verifier(Work(goal="", steps=()))(["2 + 2 = 5"])
    assert [one.checker for one in found.verdicts] == ["arithmetic"]
    (problem,) = found.problems
    assert problem.startswith("checker odd failed: ")
    assert fault in problem
    assert "secret" not in problem
