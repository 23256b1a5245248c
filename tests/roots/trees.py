"""Working trees for tests: files, and a `.git` that no git has to have made."""

from collections.abc import Mapping
from pathlib import Path


def tree_with(
    folder: Path, files: Mapping[str, str], origin: str = "https://example.com/a/b"
) -> Path:
    """Make a repository with these files; return its folder."""
    data = folder / ".git"
    (data / "objects").mkdir(parents=True)
    (data / "HEAD").write_text("ref: refs/heads/main\n")
    (data / "config").write_text(f'[remote "origin"]\n\turl = {origin}\n')
    for name, text in files.items():
        write(folder, name, text)
    return folder


def write(folder: Path, name: str, text: str) -> None:
    """Write a file of a tree, with its folders."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
