"""From the setting to an embedder, each imported when it is first used."""

from collections.abc import Mapping
from typing import Final, cast

from mcp_reflect.llm.embeddings.embedders import LOCAL, SETTING, Checked, Embedder, Folder, parse
from mcp_reflect.llm.protocol import LLMSettingError

ENTRY_POINTS: Final = "mcp_reflect.embedder"


def open_embedder(settings: Mapping[str, str]) -> Embedder:
    """Return the embedder that the settings name. `settings` maps names to texts, as the environment does.

    Raises `LLMSettingError`. What it returns gives unit vectors or an `LLMError`, whoever made it.
    """
    named = parse(settings.get(SETTING, ""))
    if isinstance(named, Folder):
        from mcp_reflect.llm.embeddings.local_model import open_folder  # noqa: PLC0415 - numpy and a tokenizer hang on it

        return Checked(open_folder(named))
    if named.provider == "openai":
        from mcp_reflect.llm.embeddings import openai  # noqa: PLC0415 - on first use

        return Checked(openai.open_embedder(named, settings), "the endpoint")
    from mcp_reflect.llm.providers import find  # noqa: PLC0415 - only for an embedder that is not ours

    package = find(ENTRY_POINTS, named.provider, (LOCAL, "openai"), SETTING)
    made = cast("Embedder", package.opened(named, settings))
    if not isinstance(getattr(made, "name", None), str) or not callable(getattr(made, "embed", None)):
        fault = f'the provider "{named.provider}" opens no embedder'
        raise LLMSettingError(SETTING, fault, f"Write to the makers of the package {package.name}")
    return Checked(made, f"the package {package.name}")
