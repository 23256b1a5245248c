r"""The cases that the bank's door is measured with: secrets, their look-alikes, attacks, honest lessons.

Several hands wrote them, each in a folder by its number, all but the first without knowing the rules; those of the
exams are never learnt from, nor read by who makes the rules. A case may say in `secret` which part of its text is one,
where that is a word that somebody might have chosen.

No file holds a secret in use: `⟦b62*36⟧` in a text stands for 36 characters of that alphabet, which are made when
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
    "lower": _LOWER,
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "upper": _UPPER,
    "b36": _LOWER + _DIGITS,
    "lowernum": _LOWER + _DIGITS,
    "alnum": _LOWER + _UPPER + _DIGITS,
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
Name = Literal["secrets", "look_alikes", "attacks", "honest"]
WRITERS: Final = tuple(sorted(path.name for path in CASES.glob("[0-9]*")))  # of attacks, the first hand before all
EXAMS: Final = tuple(sorted(path.name for path in CASES.glob("exam*")))  # by writers of whom nothing is ever learnt


@dataclass(frozen=True, slots=True)
class Case:
    """A text of a family, what in it is secret, and the words around that have to stay."""

    family: str
    language: str
    text: str
    secrets: tuple[str, ...]
    words: tuple[str, ...]
    half: Half

    def leaks(self, cleaned: str) -> list[str]:
        """Pieces of the secrets that are still in a cleaned text, and do not stand beside the secrets too."""
        left = [piece for secret in self.secrets for piece in _pieces(secret) if piece in cleaned]
        return [piece for piece in left if piece not in self._rest()] if left else left

    def _rest(self) -> str:
        rest = self.text
        for secret in self.secrets:
            rest = rest.replace(secret, "\0")
        return rest

    def lost(self, cleaned: str) -> list[str]:
        """Words that should have stayed, and are gone."""
        return [word for word in self.words if word not in cleaned]


def cases(name: Name, hand: str = WRITERS[0]) -> Iterator[Case]:
    """The cases of a kind. Half of them, by the hash of their template, are kept `aside` while rules are made."""
    with (CASES / hand / f"{name}.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            one = json.loads(line)
            yield _case(one, secret=name == "secrets")


def _case(one: dict[str, str], *, secret: bool) -> Case:
    template = one["text"]
    digest = hashlib.sha256(template.encode()).digest()
    told = one.get("secret")
    if told is None:
        text = _filled(template, digest)
        found = [_filled(place[0], digest, place.start()) for place in _PLACE.finditer(template) if place["secret"]]
    else:
        at = template.index(told)
        found = [_filled(told, digest, at)]
        text = _filled(template[:at], digest) + found[0] + _filled(template[at + len(told) :], digest, at + len(told))
    lines = [line.strip() for each in found for line in re.split(r"\n|\\n", each)] if secret else []
    return Case(
        family=one["family"],
        language=one.get("lang", "en"),
        text=text,
        secrets=tuple(line for line in lines if line and not line.startswith("-----")),
        words=tuple(
            word for word in re.split(r"\s+", template) if not re.search("[⟦⟧‹]", word) and word not in (told or "")
        ),
        half="aside" if digest[0] % 2 else "near",
    )


def _filled(template: str, digest: bytes, offset: int = 0) -> str:
    """The template with its places filled; `offset` is where it begins in the whole."""
    return _PLACE.sub(
        lambda place: _made(place["secret"] or place["plain"], digest + (offset + place.start()).to_bytes(4)), template
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
