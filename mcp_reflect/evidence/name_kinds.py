"""The kinds of proof that names tell: those of scripts, targets and tools, such as `test-and-lint.sh`."""

import re
from typing import Final

from mcp_reflect.evidence.kinds import CHECKS, ProofKind
from mcp_reflect.evidence.word_lists import read_word_list

_LISTS: Final = read_word_list("programs")
_KIND_OF_WORD: Final = {
    name: kind for kind in ProofKind for name in _LISTS.get(f"names {kind}", ())
}
"""Words in the names of scripts and targets: `npm run test:unit`, `make deploy`, `./scripts/lint.sh`."""

_NAMES_OF_ALL_CHECKS: Final = frozenset(_LISTS["names all"])
_SHORTEST_PREFIX: Final = 5  # letters of a word by whose beginning a longer one is known
_SCRIPT: Final = re.compile(
    r"(?:.*[/\\])?([\w.:-]{1,80}?)(?:\.(?:sh|bash|py|js|mjs|cjs|ts|rb|ps1|bat|cmd|pl))?"
)


def kinds_of_name(name: str) -> frozenset[ProofKind]:
    """Return the kinds that the words of a name tell: tests and lint of `test-and-lint.sh`, all checks of `verify`."""
    kinds: set[ProofKind] = set()
    for word in name.split():
        parts = _parts_of(word)
        for part in parts:
            kind = _kind_of_part(part)
            if kind is not None:
                kinds.add(kind)
        if not _NAMES_OF_ALL_CHECKS.isdisjoint(parts):
            kinds |= CHECKS
    return frozenset(kinds)


def _parts_of(word: str) -> list[str]:
    """Return the parts of a word, a script without its folder and ending: `bin/test-and-lint.sh` has test, and, lint."""
    name = word
    script = _SCRIPT.fullmatch(word)
    if script is not None:
        name = script[1]
    return re.split(r"[^a-z0-9]+", name.lower().replace("type-check", "typecheck"))


def _kind_of_part(part: str) -> ProofKind | None:
    """Return the kind of a word, else of a longer one that it begins with (`deploy` of `deployctl`); None for none."""
    if part in _KIND_OF_WORD:
        return _KIND_OF_WORD[part]
    for word, kind in _KIND_OF_WORD.items():
        if len(word) >= _SHORTEST_PREFIX and part.startswith(word):
            return kind
    return None
