"""Tasks that run together raise their errors in a group: a person sees the one line all the same, never a traceback."""

import pytest

from mcp_reflect.cli.main import status_after
from mcp_reflect.errors import BankBusyError, BankError, InputError

BUSY = BankBusyError("The bank is busy. Try again.")


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (BUSY, 1, "The bank is busy. Try again."),
        (ExceptionGroup("tasks", [BUSY]), 1, "The bank is busy. Try again."),
        (
            ExceptionGroup("tasks", [ExceptionGroup("inner", [BUSY])]),
            1,
            "The bank is busy. Try again.",
        ),
        (ExceptionGroup("tasks", [OSError(28, "No space left"), BUSY]), 1, "The bank is busy."),
        (
            ExceptionGroup("tasks", [InputError("port", "it is taken", "Name another.")]),
            2,
            "port: it is taken. Name another.",
        ),
        (ExceptionGroup("tasks", [OSError(28, "No space left", "a.db")]), 1, "a.db: No space left"),
    ],
)
def test_an_expected_error_in_a_group_is_one_line_and_a_status(
    error: Exception, status: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_after(error) == status
    said = capsys.readouterr().err
    assert said.startswith(f"mcp-reflect: {line}")
    assert said.count("\n") == 1


def test_a_fault_of_the_package_beside_an_expected_error_is_not_hidden() -> None:
    group = ExceptionGroup("tasks", [BankError("The bank is gone."), KeyError("rows")])
    with pytest.raises(ExceptionGroup) as raised:
        status_after(group)
    assert raised.value is group
