"""What `MCP_REFLECT_EMBEDDINGS` says: nothing, an embedder with its model and address, or a model on this machine."""

from dataclasses import dataclass
from typing import Final

from mcp_reflect.llm.errors import LLMSettingError
from mcp_reflect.llm.spec import Spec, parse_spec

SETTING: Final = "MCP_REFLECT_EMBEDDINGS"
LOCAL: Final = "local"
EXAMPLES: Final = '"local", "local:/path/to/model", "openai:nomic-embed-text@http://localhost:11434/v1" or "off"'


@dataclass(frozen=True, slots=True)
class Folder:
    """A model on this machine: in this folder, or, null, in the package that carries one."""

    path: str | None


def parse(text: str) -> Spec | Folder:
    """What the setting names. Raises `LLMSettingError`, for `off` as well."""
    name, colon, path = text.strip().partition(":")
    if name.strip().casefold() == LOCAL:
        if colon and not path.strip():
            raise LLMSettingError(SETTING, '"local:" names no folder', f"Write {EXAMPLES}")
        return Folder(path.strip() or None)
    try:
        spec = parse_spec(SETTING, text)
    except LLMSettingError as error:
        raise LLMSettingError(SETTING, error.fault, f"Write {EXAMPLES}") from None
    if spec is None:
        raise LLMSettingError(SETTING, "it is off", f"Write {EXAMPLES}")
    return spec
