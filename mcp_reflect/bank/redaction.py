"""The door: what every text passes before it is written. Secrets and invisible characters stay outside.

The database runs it over every value that it is given to write, so nothing goes round it; the engine
runs it over a trace before anything reads it, so what an agent sees is what was kept. Running it twice
changes nothing.
"""

import hashlib
import re
from collections.abc import Callable
from typing import Any, Final, cast

# Each kind: its name, words of which one must be in the text (in lower case) for the pattern to be tried, the pattern.
# A pattern's group `keep` stays, the rest of the match goes. Shapes are from the providers' own pages.
_KINDS: Final[tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...]] = (
    (
        "private_key",
        ("private key",),
        re.compile(
            r"-----BEGIN (?:[A-Z]{2,10} ){0,2}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:(?!-----END)[\s\S]){0,20000}(?:-----END [A-Z ]{0,40}-----)?"
        ),
    ),
    ("aws_key", ("akia", "asia", "abia", "acca"), re.compile(r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b")),
    (
        "github_token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{36,251}|github_pat_[A-Za-z0-9_]{22,251})\b"),
    ),
    ("llm_key", ("sk-",), re.compile(r"\bsk-(?=[A-Za-z_-]{0,60}\d)[A-Za-z0-9_-]{20,250}")),
    ("google_key", ("aiza",), re.compile(r"\bAIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])")),
    ("slack_token", ("xox",), re.compile(r"\bxox[abeoprs]-[A-Za-z0-9-]{10,250}")),
    ("stripe_key", ("k_live_", "k_test_"), re.compile(r"\b(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,250}\b")),
    ("jwt", ("eyj",), re.compile(r"\beyJ[A-Za-z0-9_-]{8,8000}\.eyJ[A-Za-z0-9_-]{8,8000}\.[A-Za-z0-9_-]{8,8000}")),
    (
        "url_password",
        ("://",),
        re.compile(r"(?P<keep>\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@\"'<>]{0,200}:)[^\s/@\"'<>]{1,200}(?=@)"),
    ),
    (
        "bearer_token",
        ("bearer", "basic"),
        re.compile(r"(?i)(?P<keep>\b(?:bearer|basic)[ \t]{1,3})(?=[^\s\"']{0,40}[\d=])[A-Za-z0-9._~+/=-]{20,4000}"),
    ),
    (
        "password",
        ("passw", "pwd", "passphrase", "secret", "api", "token", "private"),
        re.compile(
            r"(?i)(?P<keep>(?<![a-z0-9])(?:[a-z0-9]{1,30}[_-]){0,4}"
            r"(?:password|passwd|pwd|passphrase|secret|api[_-]?key|apikey|access[_-]?token|auth[_-]?token"
            r"|refresh[_-]?token|secret[_-]?key|client[_-]?secret|private[_-]?key)"
            r"\\?[\"']?[ \t]{0,3}(?::=|=>|=|:)[ \t]{0,3}\\?[\"']?)"
            # A value, not a name for one: no call, no reference, no placeholder, no plain short word.
            r"(?!\[redacted:|<|\$|\{|%|os\.|env|process\.|None\b|null\b|true\b|false\b|str\b|string\b|\*)"
            r"(?=[^\s\"',;)&\\]{0,200}[\d!@#$%^&*+=/-])(?![^\s\"',;)&\\]{0,200}\()"
            r"[^\s\"',;)&\\]{6,200}"
        ),
    ),
)

# One look tells most texts free of all kinds: whatever is written passes here, down to single words.
_ANY_HINT: Final = re.compile("|".join(re.escape(hint) for _, hints, _ in _KINDS for hint in hints))

_NAME_AND_SIGN: Final = 40  # characters from the start of such a name to the sign after it, at the most

# Names whose value is a secret whatever it looks like.
_SECRET_NAME: Final = re.compile(
    r"(?i)^(?:.{0,40}[_-])?(?:password|passwd|pwd|passphrase|secret|api[_-]?key|access[_-]?token|auth[_-]?token"
    r"|refresh[_-]?token|secret[_-]?key|client[_-]?secret|private[_-]?key|authorization)$"
)

# Control characters but tab, newline and return; zero-width and direction marks, tags: they hide text.
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def clean_text(text: str) -> str:
    """`text` without unseen characters, each secret replaced by `[redacted:KIND]`."""
    if _UNSEEN.search(text):
        text = _UNSEEN.sub("", text)
    folded = text.lower()
    if not _ANY_HINT.search(folded):
        return text
    for kind, hints, pattern in _KINDS:
        if any(hint in folded for hint in hints) and (kind != "password" or _assigns(folded, hints)):
            text = pattern.sub(_replacement(kind), text)
    return text


def _assigns(folded: str, names: tuple[str, ...]) -> bool:
    """Whether a sign of assignment follows one of the names closely. Tells most texts without a password at once."""
    for name in names:
        at = folded.find(name)
        while at >= 0:
            after = folded[at : at + _NAME_AND_SIGN]
            if ":" in after or "=" in after:
                return True
            at = folded.find(name, at + len(name))
    return False


def _replacement(kind: str) -> Callable[[re.Match[str]], str]:
    def replace(match: re.Match[str]) -> str:
        kept = match.groupdict().get("keep") or ""
        return f"{kept}[redacted:{kind}]"

    return replace


def clean(value: Any) -> Any:
    """A JSON value with every text in it cleaned, and every value of a secret's name cut out."""
    match value:
        case str():
            return clean_text(value)
        case dict():
            named = cast("dict[Any, Any]", value)
            return {clean_text(str(name)): _clean_named(str(name), item) for name, item in named.items()}
        case list() | tuple():
            return [clean(item) for item in cast("list[Any]", value)]
        case _:
            return value


def _clean_named(name: str, value: Any) -> Any:
    if isinstance(value, str) and value and _SECRET_NAME.match(name) and not value.startswith("[redacted:"):
        return "[redacted:password]"
    return clean(value)


def context_hash(context: str | None) -> str | None:
    """The first 16 hex digits of the SHA-256 of a context, as it is kept: cleaned."""
    return hashlib.sha256(clean_text(context).encode()).hexdigest()[:16] if context else None
