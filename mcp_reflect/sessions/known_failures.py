"""The forms of a call, by which it is compared with calls that failed, and failures as they are stored."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mcp_reflect.models.common import Json
from mcp_reflect.models.run import Failure
from mcp_reflect.sessions.text import clip
from mcp_reflect.sessions.tools import (
    command_of,
    file_of,
    is_shell,
    parts_of,
    tool_words,
    without_labels,
)
from mcp_reflect.shell import COMMAND_LIMIT, doing_in
from mcp_reflect.text.signature import (
    bounded,
    digest,
    dressed_call,
    fingerprint,
    normalized_call,
    signature,
    steady,
    unquoted,
)

if TYPE_CHECKING:
    from mcp_reflect.sessions.faults import Fault

# The forms in which a call is compared with known failures, from the strictest to the loosest. A shell command is read
# as commands, a read or an edit by its file, a search by its query, other calls by their arguments.

_MOST_HEAD: Final = 200  # characters of a head
_FILE_TOOLS: Final = frozenset(
    {"read", "edit", "write", "view", "open", "replace", "patch", "notebook", "file", "str"}
)


@dataclass(frozen=True, slots=True)
class Forms:
    """A call in its forms.

    `head` is what it is a call of (`shell:git push`, `read:src/a.py`, `search`), `exact` the call without white space
    and order, `bare` without quotation marks too, `loose` without dates, ids and the like. Keys have 16 hex digits.
    """

    head: str
    exact: str
    bare: str
    loose: str

    @property
    def family(self) -> str:
        """The name of the tool; all shells are one."""
        return self.loose.partition("(")[0]

    @property
    def exact_key(self) -> str:
        return digest(self.exact)

    @property
    def loose_key(self) -> str:
        return digest(self.loose)

    @property
    def bare_key(self) -> str:
        return digest(self.bare)


def forms_of(tool: str, arguments: Json) -> Forms:
    """The forms of a call; bounded, whatever its arguments are."""
    name = tool.strip().lower()[:_MOST_HEAD]
    arguments = without_labels(tool, arguments)
    if is_shell(tool):
        command = command_of(arguments)
        if command and command.strip():
            return _shell_forms(tool, command, arguments)
    head = name
    if tool_words(tool) & _FILE_TOOLS and isinstance(arguments, dict):
        file = file_of(arguments)
        if file is not None:
            head = f"{name}:{steady(file)}"
    return Forms(
        head=bounded(head, _MOST_HEAD),
        exact=bounded(dressed_call(name, arguments)),
        bare=bounded(unquoted(name, arguments)),
        loose=normalized_call(name, arguments),
    )


def _shell_forms(tool: str, command: str, arguments: Json) -> Forms:
    """A command in one form for all shells; the folder in which it runs belongs to it.

    It is written as its simple commands, one after another; what is behind the limit of the parser as it is.
    """
    parts = parts_of(tool, arguments, syntax=True)
    line = " ; ".join(part.form for part in parts) or " ".join(command.split())
    line += command[COMMAND_LIMIT:]
    without_quotes = line.replace("'", "").replace('"', "")
    head = ""
    doing = doing_in(command)
    if doing is not None:
        head = doing.head
    return Forms(
        head=bounded(f"shell:{steady(head)}", _MOST_HEAD),
        exact=bounded(f"shell({line})"),
        bare=bounded(f"shell({without_quotes})"),
        loose=bounded(f"shell({steady(without_quotes)})"),
    )


def drops_quotes(new: Forms, known: Forms) -> bool:
    """Return whether the new call is the known one without some of its quotation marks, which may be the correction."""
    return new.bare == known.bare and len(new.exact) < len(known.exact)


# Failures as they are stored.

ERROR_LIMIT: Final = 500  # characters of the error in a failure


def failure_of(
    tool: str,
    arguments: Json,
    fault: "Fault",
    event_id: str,
    *,
    forms: Forms | None = None,
    worked: Json = None,
) -> Failure:
    """The failure of a call; `worked` are the arguments of the call that then worked."""
    forms = forms or forms_of(tool, arguments)
    error = fingerprint(fault.headline)
    return Failure(
        event_id=event_id,
        tool=tool,
        arguments=arguments,
        call=forms.loose,
        head=forms.head,
        exact=forms.exact_key,
        bare=forms.bare_key,
        loose=forms.loose_key,
        fingerprint=error,
        signature=signature(forms.family, forms.loose, error),
        category=fault.category,
        error=clip(fault.text, ERROR_LIMIT),
        worked=worked,
    )
