"""Where a person's bank lies: the file that a setting names, or the usual one.

It is found without a library, because hooks need it before they import anything else.
"""

import os
import sys
from typing import Final

# The variables of settings that hooks read before anything else.
BANK: Final = "MCP_REFLECT_BANK"
PROJECT: Final = "MCP_REFLECT_PROJECT"
GUARDS: Final = "MCP_REFLECT_GUARDS"
NESTED: Final = "MCP_REFLECTING"
"""Set in the environment of an agent program that answers us: our hooks and server are silent in it."""

_FOLDER_OF_WORK: Final = r"[$%]\{?(?:env:)?(?:PWD|OLDPWD|INIT_CWD|\w*PROJECT_DIR)\b"
"""A variable that hosts, shells and npm set to the folder that is worked in."""

_OPENING_SIGNS: Final = frozenset("`{<!(")
"""What somebody was to fill in begins with one of these: `<path>`, `{{project}}`, `$(pwd)`."""

_EMPTY_QUOTES: Final = 2  # characters: a pair of quotation marks with nothing between them


def filled_in_name(text: str) -> str | None:
    """Return the name of a bank or project with its variables filled in, without quotation marks around it.

    None where a part of the name is not known: a variable is not set (`filled_in`), or a shell or a person was to put
    something in: `$(pwd)`, `{{project}}`, `<path>`. With that part as it stands, another bank would be opened.
    """
    if len(text) > _EMPTY_QUOTES and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    if not _OPENING_SIGNS.isdisjoint(text):
        import re  # noqa: PLC0415 - hooks need it only then

        if re.search(r"\$\(|`|\{\{[^{}]*\}\}|<[\w -]+>|![A-Za-z_]\w*!", text):
            return None
    return filled_in(text)


def filled_in(text: str) -> str | None:
    """Return a setting with the variables in it filled in: `$HOME`, `${HOME}`, `${env:HOME}`, `${HOME:-/x}`, `%APPDATA%`.

    None if one of them is not set, or is one of a host's own (`${workspaceFolder}`) that the host did not fill in.
    """
    if "$" not in text and "%" not in text:
        return text
    import re  # noqa: PLC0415 - hooks need it only then

    has_unknown = False

    def value_of(variable: re.Match[str]) -> str:
        """Return the value of a variable that was found in the text, empty (and noted) where it has none."""
        nonlocal has_unknown
        in_braces, plain, of_windows = variable.groups()
        name_and_default = in_braces or plain or of_windows or ""
        name, _, default = name_and_default.removeprefix("env:").partition(":-")
        value = os.environ.get(name) or default
        if not value:
            has_unknown = True
        return value

    filled = re.sub(r"\$\{([^{}]*)\}|\$([A-Za-z_]\w*)|%([A-Za-z_]\w*)%", value_of, text)
    return None if has_unknown else filled


def data_folder() -> str:
    """Return the folder of a person's application data on this platform, as `platformdirs` does in 40 ms more."""
    home = os.path.expanduser("~")  # noqa: PTH111 - pathlib takes as long to import as all of this
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")  # noqa: PTH118 - same
    elif sys.platform == "darwin":
        base = os.path.join(home, "Library", "Application Support")  # noqa: PTH118 - same
    else:
        base = os.environ.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")  # noqa: PTH118 - same
    return os.path.join(base, "mcp-reflect")  # noqa: PTH118 - same


def begins_where_work_is_done(text: str) -> bool:
    """Return whether a path in a setting begins with a variable for the folder that is worked in: `$PWD/bank.db`.

    Whoever wrote the repository could put a file there that counts as the person's.
    """
    if "$" not in text and "%" not in text:
        return False
    import re  # noqa: PLC0415 - hooks need it only then

    return re.match(_FOLDER_OF_WORK, text.lstrip(" '\"")) is not None


def bank_file(named: str | None) -> str | None:
    """Return the absolute path of the bank that the setting names, or of the default one.

    None for a bank on a server, a name with a variable that is not set, and a file of the folder that is worked in.
    """
    bank = named or os.path.join(data_folder(), "bank.db")  # noqa: PTH118 - same
    if "://" in bank or begins_where_work_is_done(bank):
        return None
    path = os.path.expanduser(filled_in_name(bank) or "")  # noqa: PTH111 - same
    if not os.path.isabs(path):  # noqa: PTH117 - same
        return None
    return os.path.abspath(path)  # noqa: PTH100 - same
