"""A catalogue from what was sent or kept: cleaned, read and cut once for each text, then remembered.

An agent sends the same catalogue with every search of a session, and its vocabulary may have thousands of
words. What has been worked out is remembered by the text as it came, for the last few of them.
"""

import hashlib
import json
from functools import lru_cache
from typing import Any, Final, NamedTuple, cast

from mcp_reflect.config import DEFAULT, Limits
from mcp_reflect.errors import InputError
from mcp_reflect.models.search import CatalogEntry
from mcp_reflect.replan import attempts as storing
from mcp_reflect.replan import requests as shown
from mcp_reflect.replan.requests import read_catalog
from mcp_reflect.security.redact import clean
from mcp_reflect.storage.sessions import KeptCatalogue


class Catalogue(NamedTuple):
    """The tables as they are planned with, a note for each vocabulary that was cut, and what the bank keeps."""

    entries: tuple[CatalogEntry, ...]
    notes: tuple[str, ...]
    kept: KeptCatalogue | None


NONE: Final = Catalogue((), (), None)

_LAST: Final = 8  # catalogues remembered; a server has a few, and the longest takes some megabytes
_known: dict[str, Catalogue] = {}


def sent(catalog: list[Any], limits: Limits = DEFAULT) -> Catalogue:
    """The catalogue that a call brought. Raises InputError for what cannot be read."""
    if not catalog:
        return NONE
    try:
        text = json.dumps(catalog, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise InputError("catalog", f"it is no JSON: {str(error)[:80]}", "Send a list of objects.") from None
    return _read(text, limits.max_query_chars, limits.max_catalog_words, limits.max_catalog_chars)


def known(digest: str) -> Catalogue | None:
    """The catalogue of that hash, if it was among the last ones here."""
    return _known.get(digest)


def of_kept(text: str, digest: str) -> Catalogue:
    """The catalogue that the bank has kept."""
    return _remembered(Catalogue(storing.load_catalog(text), (), KeptCatalogue(digest, text)))


def _remembered(catalogue: Catalogue) -> Catalogue:
    """The catalogue, found by its hash from now on. What a hash stands for never changes, so this is safe to share."""
    if catalogue.kept is not None:
        _known[catalogue.kept.digest] = catalogue._replace(notes=())
        while len(_known) > _LAST:
            del _known[next(iter(_known))]
    return catalogue


@lru_cache(maxsize=_LAST)
def _read(text: str, text_chars: int, words: int, characters: int) -> Catalogue:
    limits = Limits(max_query_chars=text_chars, max_catalog_words=words, max_catalog_chars=characters)
    entries, notes = shown.bounded(read_catalog(_clean(json.loads(text)), limits=limits), limits)
    kept = storing.dump_catalog(entries)
    return _remembered(Catalogue(entries, notes, KeptCatalogue(hashlib.sha256(kept.encode()).hexdigest(), kept)))


def _clean(catalog: list[Any]) -> list[Any]:
    """The catalogue cleaned. A vocabulary is read as one text, and word by word only where that text changes."""
    entries: list[Any] = []
    for entry in catalog:
        given = dict(cast("dict[str, Any]", entry)) if isinstance(entry, dict) else {}
        words: Any = given.pop("vocabulary", None)
        if isinstance(words, list) and all(isinstance(word, str) for word in cast("list[Any]", words)):
            text = "\n".join(cast("list[str]", words))
            entries.append({**clean(given), "vocabulary": cast("Any", words if clean(text) == text else clean(words))})
        else:
            entries.append(clean(entry))
    return entries
