"""Which files are source, by their paths: what a run showed may be stale when one of them changed after it."""

import re
from typing import Final

from mcp_reflect.patterns import lazy_compile

_DOCUMENT: Final = lazy_compile(
    r"\.(?:md|mdx|markdown|rst|txt|adoc|org|pdf|png|jpe?g|gif|svg|webp|ico|log|csv|tsv|out|patch|diff|bak|orig|ipynb_checkpoints)$|"
    r"(?:^|/)(?:LICENSE|CHANGELOG|AUTHORS|NOTICE|CONTRIBUTING|README|\.git(?:ignore|attributes)|\.editorconfig|CODEOWNERS)[\w.]*$|"
    r"(?:^|/)(?:docs?|documentation|\.git|\.claude|\.codex|\.gemini|\.cursor|node_modules|\.venv)/|^/dev/|^~",
    re.IGNORECASE,
)
_SCRATCH: Final = lazy_compile(
    r"^(?:/private)?/(?:tmp|var/folders|var/tmp)/|^[A-Za-z]:\\.{0,200}\\Temp\\", re.IGNORECASE
)
_NAMED_SOURCE: Final = lazy_compile(
    r"(?:^|/)(?:[\w@+-][\w.@+ -]{0,100}\.\w{1,10}|Dockerfile|Containerfile|Makefile|Gemfile|Rakefile|Procfile|Justfile)$"
)


def path_within(folder: str, path: str) -> str:
    """Return a path as it is named in a folder: `/app/src/a.py` in `/app` is `src/a.py`; one outside of it as it is."""
    if not folder:
        return path
    return path.removeprefix(f"{folder.rstrip('/')}/")


def is_source(path: str) -> bool:
    """Return whether a path names a file of source; documents and files of unknown types are none."""
    return bool(_NAMED_SOURCE.search(path)) and not _DOCUMENT.search(path)


def is_scratch(path: str) -> bool:
    """Return whether a file stands in a folder for what is thrown away."""
    return bool(_SCRATCH.search(path))
