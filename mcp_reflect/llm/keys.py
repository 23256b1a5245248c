"""API keys: where they may come from, and the care that they go nowhere but to their endpoint."""

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from mcp_reflect.llm.errors import LLMSettingError
from mcp_reflect.llm.protocol import Role
from mcp_reflect.llm.spec import MAIN, Spec, is_near, parse_spec, setting_of

KEY_FILE = "MCP_REFLECT_LLM_KEY_FILE"
_LONGEST_FILE = 16_384  # bytes


class Key:
    """A key and the name of where it was found. It shows its source only: in a repr, a log, an error."""

    __slots__ = ("_text", "source")

    def __init__(self, text: str, source: str) -> None:
        self._text = text
        self.source = source

    def reveal(self) -> str:
        """The key itself, for the header of a request and nothing else."""
        return self._text

    def cut_from(self, text: str) -> str:
        """`text` without the key: an endpoint may quote what it was sent."""
        return text.replace(self._text, "[key]")

    def __repr__(self) -> str:
        return f"Key(from {self.source})"


def find_key(spec: Spec, settings: Mapping[str, str], names: tuple[str, ...], *, nameless: bool = True) -> Key | None:
    """The first key there is: in the key file under one of `names`, then in the settings under one of them.

    A key file that holds one key without a name serves the provider of `MCP_REFLECT_LLM`, or the only
    one that is bound, unless `nameless` is false. Raises `LLMSettingError` where the file cannot be used,
    or the key is none.
    """
    path = settings.get(KEY_FILE, "").strip()
    written = _read(Path(path).expanduser()) if path else {}
    found = [(KEY_FILE, written[name], f"{KEY_FILE} ({name})") for name in names if written.get(name)]
    if nameless and written.get("") and _is_for(spec, settings):
        found.append((KEY_FILE, written[""], KEY_FILE))
    found += [(name, settings[name].strip(), name) for name in names if settings.get(name, "").strip()]
    if not found:
        return None
    setting, text, source = found[0]
    if not (text.isascii() and text.isprintable()) or " " in text:
        raise LLMSettingError(setting, "the key holds a blank or a character that no key has", "Copy it again")
    return Key(text, source)


def check_way(key: Key | None, setting: str, url: str) -> None:
    """Raise `LLMSettingError` where the key would cross a public network in clear text."""
    if key is not None and url.lower().startswith("http://") and not is_near(url):
        fault = f"the key from {key.source} would travel to {url} in clear text"
        raise LLMSettingError(setting, fault, "Use an https address, or unset the key if the server needs none")


def _is_for(spec: Spec, settings: Mapping[str, str]) -> bool:
    """Whether a key without a name is meant for this provider."""
    bound = {setting_of(role, settings) for role in Role}
    names = [MAIN] if settings.get(MAIN, "").strip() else sorted(bound)
    specs = [parse_spec(name, settings.get(name, "")) for name in names]
    return {other.provider for other in specs if other is not None} == {spec.provider}


def _read(path: Path) -> dict[str, str]:
    """The keys of a file by name; one that stands alone has the name ""."""
    try:
        with path.open("rb") as file:
            _check_mode(os.fstat(file.fileno()).st_mode, path)
            content = file.read(_LONGEST_FILE).decode("utf-8-sig")
    except OSError as error:
        fault = LLMSettingError(KEY_FILE, f"{path} cannot be read ({error.strerror})", "Name a file that can")
    except UnicodeDecodeError:
        fault = LLMSettingError(KEY_FILE, f"{path} is not text", "Write the key into it as one line of text")
    else:
        return _keys_of(content, path)
    raise fault


def _check_mode(mode: int, path: Path) -> None:
    """Refuse what another user of the machine can read. Windows has no such mode bits."""
    if not stat.S_ISREG(mode):
        raise LLMSettingError(KEY_FILE, f"{path} is not a regular file", "Name a file that holds the key")
    if os.name == "posix" and mode & 0o077:
        fault = f"{path} has mode {stat.S_IMODE(mode):04o}, so others can read the key"
        raise LLMSettingError(KEY_FILE, fault, f"Run: chmod 600 {path}")


def _keys_of(content: str, path: Path) -> dict[str, str]:
    lines = [line.strip() for line in content.splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    if len(lines) == 1 and "=" not in lines[0].rstrip("="):
        return {"": lines[0]}
    pairs = [line.removeprefix("export ").partition("=") for line in lines]
    if not pairs or not all(separator for _, separator, _ in pairs):
        fix = "Write one key alone, or a line NAME=KEY for each (ANTHROPIC_API_KEY=..., OPENAI_API_KEY=...)"
        raise LLMSettingError(KEY_FILE, f"{path} does not hold keys", fix)
    return {name.strip(): text.strip().strip("\"'") for name, _, text in pairs}
