r"""The cases that the bank's door is measured with: secrets, their look-alikes, attacks, honest lessons.

No file holds a secret: `⟦b62*36⟧` in a text stands for 36 characters of that alphabet, which are made when
the case is read, the same ones each time, and must not pass the door. `‹hex*40›` is made in the same way
and has to stay. `⟦pem:KIND⟧` is a private key in its armour (`pem1`: with its line ends written as \n).
"""

import hashlib
import json
import re
import string
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

CASES: Final = Path(__file__).parent.parent / "tests" / "door" / "cases"

_LOWER, _UPPER, _DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
ALPHABETS: Final = {
    "digits": _DIGITS,
    "letters": _LOWER,
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "b36": _LOWER + _DIGITS,
    "b62": _LOWER + _UPPER + _DIGITS,
    "b64": _LOWER + _UPPER + _DIGITS + "+/",
    "b64url": _LOWER + _UPPER + _DIGITS + "_-",
    "base32": _UPPER + "234567",
    "base32low": _LOWER + "234567",
    "bech": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "pw": _LOWER + _UPPER + _DIGITS + "!%*+.?^~",
}
_PLACE: Final = re.compile(r"⟦(?P<secret>[^⟧]+)⟧|‹(?P<plain>[^›]+)›")
_PIECE: Final = 8  # characters of a secret: none of its pieces of so many may be left

Half = Literal["near", "aside"]


@dataclass(frozen=True, slots=True)
class Case:
    """A text of a family, what in it is secret, and the words around that have to stay."""

    family: str
    text: str
    secrets: tuple[str, ...]
    words: tuple[str, ...]
    half: Half

    def leaks(self, cleaned: str) -> list[str]:
        """Pieces of the secrets that are still in a cleaned text."""
        return [piece for secret in self.secrets for piece in _pieces(secret) if piece in cleaned]

    def lost(self, cleaned: str) -> list[str]:
        """Words that should have stayed, and are gone."""
        return [word for word in self.words if word not in cleaned]


def cases(name: Literal["secrets", "look_alikes", "attacks", "honest"]) -> Iterator[Case]:
    """The cases of a kind. Half of them, by the hash of their template, are kept `aside` while rules are made."""
    with (CASES / f"{name}.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            one = json.loads(line)
            yield _case(one["family"], one["text"])


def _case(family: str, template: str) -> Case:
    digest = hashlib.sha256(template.encode()).digest()
    secrets: list[str] = []

    def fill(place: re.Match[str]) -> str:
        made = _made(place["secret"] or place["plain"], digest + place.start().to_bytes(4))
        if place["secret"]:
            secrets.extend(line for line in re.split(r"\n|\\n", made) if not line.startswith("-----"))
        return made

    words = [word for word in re.split(r"\s+", template) if "⟦" not in word and "⟧" not in word and "‹" not in word]
    return Case(
        family=family,
        text=_PLACE.sub(fill, template),
        secrets=tuple(secrets),
        words=tuple(words),
        half="aside" if digest[0] % 2 else "near",
    )


def _made(name: str, seed: bytes) -> str:
    """What a place holds: characters that look like chance, and depend on the case alone."""
    if name == "uuid":
        whole = _chars("hex", 32, seed)
        return "-".join((whole[:8], whole[8:12], whole[12:16], whole[16:20], whole[20:]))
    if name.startswith("pem"):
        form, kind = name.split(":")
        lines = [_chars("b64", 64, seed + bytes([number])) for number in range(4)]
        return ("\\n" if form == "pem1" else "\n").join((f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----"))
    alphabet, length = name.split("*")
    return _chars(alphabet, int(length), seed)


def _chars(alphabet: str, length: int, seed: bytes) -> str:
    signs = ALPHABETS[alphabet]
    stream = hashlib.shake_256(seed + alphabet.encode()).digest(length * 2)
    found = "".join(signs[int.from_bytes(stream[at : at + 2]) % len(signs)] for at in range(0, length * 2, 2))
    if alphabet == "pw":  # what a policy asks of a password
        found = f"{found[:-2]}7!"
    return found


def _pieces(secret: str) -> Iterator[str]:
    size = min(_PIECE, len(secret))
    return (secret[at : at + size] for at in range(len(secret) - size + 1))
