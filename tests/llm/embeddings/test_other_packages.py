"""An embedder that another package brings, and what its bugs cost."""

import importlib
import sys
from pathlib import Path

import pytest

from mcp_reflect.llm.embedders import open_embedder
from mcp_reflect.llm.protocol import GarbledReplyError, LLMSettingError

SETTINGS = {"MCP_REFLECT_EMBEDDINGS": "letters:small"}
LETTERS = """
class Letters:
    def __init__(self, spec):
        self.name = spec.name

    async def embed(self, texts):
        return [(len(text), 1) for text in texts]

def open_embedder(spec, settings):
    return Letters(spec)
"""


def install(folder: Path, body: str, patch: pytest.MonkeyPatch) -> None:
    """A package that offers the embedder `letters`, for as long as the test runs."""
    patch.setattr(sys, "path", [str(folder), *sys.path])
    patch.delitem(sys.modules, "letters_package", raising=False)
    importlib.invalidate_caches()
    (folder / "letters_package.py").write_text(body, "utf-8")
    info = folder / "letters_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: letters-package\nVersion: 1.0\n", "utf-8")
    target = "letters_package:open_embedder"
    (info / "entry_points.txt").write_text(f"[mcp_reflect.embedder]\nletters = {target}\nopenai = {target}\n", "utf-8")


async def test_another_package_brings_an_embedder_and_cannot_take_the_name_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, LETTERS, monkeypatch)
    embedder = open_embedder(SETTINGS)
    assert embedder.name == "letters:small"
    assert await embedder.embed(["abc", ""]) == [pytest.approx([3 / 10**0.5, 1 / 10**0.5]), [0, 1]]
    assert open_embedder({"MCP_REFLECT_EMBEDDINGS": "openai:x@http://localhost:1/v1"}).name.endswith("localhost:1/v1")


@pytest.mark.parametrize(
    ("instead", "did"),
    [
        ("raise ValueError(f'key sk-secret of {texts}')", "raised ValueError"),
        ("return 'abc'", "gave no list of vectors"),
        ("return [[float('nan')] for _ in texts]", "gave a vector without a direction"),
    ],
)
async def test_a_bug_of_another_package_is_an_error_that_names_it_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, instead: str, did: str
) -> None:
    install(tmp_path, LETTERS.replace("return [(len(text), 1) for text in texts]", instead), monkeypatch)
    with pytest.raises(GarbledReplyError) as caught:
        await open_embedder(SETTINGS).embed(["a lesson"])
    assert f"the package letters-package {did}" in caught.value.fault
    assert not [word for word in ("sk-secret", "a lesson") if word in str(caught.value)]


@pytest.mark.parametrize("body", ["import nowhere_at_all", "", "def open_embedder(spec, settings): return 5"])
def test_a_package_that_opens_no_embedder_is_a_setting_that_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    install(tmp_path, body, monkeypatch)
    with pytest.raises(LLMSettingError, match="letters") as caught:
        open_embedder(SETTINGS)
    assert caught.value.setting == "MCP_REFLECT_EMBEDDINGS"
    assert "letters-package" in caught.value.fix
