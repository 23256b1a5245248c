"""Secrets that are known by their shape: what a table of beginnings does not tell.

The shapes are those that the providers document for their own keys, or that their keys have had for years.
"""

import re
from typing import Final, NamedTuple

from mcp_reflect.patterns import late
from mcp_reflect.redaction.marks import compiled, replaced
from mcp_reflect.redaction.providers import of_providers
from mcp_reflect.redaction.values import is_example, is_mixed


class Shape(NamedTuple):
    """A kind of secret: texts of which one must be in it, the pattern, and how far before them it may begin.

    What a pattern's group `keep` holds stays, the rest of the match goes.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: str
    back: int


def shape(kind: str, hints: str, pattern: str, back: int = 0) -> Shape:
    r"""A shape from its hints, parted by spaces. A `\b` at the start of its pattern is an edge: see `_EDGE`."""
    return Shape(kind, tuple(hints.split()), re.sub(r"^\\b", lambda _: _EDGE, pattern), back)


_EDGE: Final = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-F]{2}))"  # escapes may stand before


_SHORTEST: Final = 20  # characters without a space between: no shape has fewer
_RUN: Final = late(r"[A-Za-z0-9_+/=~-]{16}")  # and in each there is such a run
_DIGIT: Final = late(r"[0-9]")

# An address up to its path
_ADDRESS: Final = r"(?:(?<![A-Za-z0-9./:\\-])|(?<=\\[nrt]))(?:https?://)?[A-Za-z0-9-]{1,60}(?:\.[A-Za-z0-9-]{1,60}){1,6}(?::\d{2,5})?/"

SHAPES: Final[tuple[Shape, ...]] = (
    shape("google_key", ":APA91", r"\b[A-Za-z0-9_-]{8,40}:APA91[A-Za-z0-9_-]{60,300}", 40),
    shape("azure_secret", "Q~", r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34}", 4),
    shape("gitlab_token", "gl", r"\bgl[a-z]{2,6}-(?=[A-Za-z_.-]{0,60}\d)[A-Za-z0-9_.-]{18,200}"),
    shape("llm_key", "sk-", r"\bsk-(?=[A-Za-z_-]{0,60}\d)[A-Za-z0-9_-]{20,250}"),
    shape(
        "webhook",
        "hooks.slack.com/ /webhook /hooks/ /hook/ /build_hooks/ /deploy/ /with/key/ .make.com/ hc-ping.com/ "
        "/genericWebhook/",
        _ADDRESS + r"(?:(?<=hooks\.slack\.com/)[a-z]{5,10}/(?=[Tt])|(?<=\.make\.com/)|(?<=hc-ping\.com/)"
        r"|(?:[\w.-]{1,40}/){0,6}(?:webhooks/(?=\d{10})|webhook(?:b2)?/|hooks?/(?:catch/\d|v\d/)?|build_hooks/|with/key/"
        r"|deploy/(?=(?:srv|prj)[_-])|genericWebhook/))"
        r"(?:(?<=catch/\d)|(?=(?:srv|prj)[_-])|(?=[^\s\"']{0,200}?(?:[A-Za-z0-9_]{16}|[0-9a-f]{8}-[0-9a-f]{4}-)))"
        r"(?=[^\s\"'/]*\d|[^\s\"']*/[A-Za-z0-9_-]{16})[A-Za-z0-9_@/%.?=-]{12,300}",
        200,
    ),
    shape("discord_token", "M N O", r"(?<![\w.-])[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45}"),
    shape("telegram_token", ":AA", r"(?<!\d)\d{8,11}:AA[A-Za-z0-9_-]{32,34}(?![A-Za-z0-9_-])", 11),
    shape("vault_token", "s.", r"(?<![\w.])s\.(?=[A-Za-z]{0,23}\d)(?=[a-z0-9]{0,23}[A-Z])[A-Za-z0-9]{24}(?![\w.(])"),
    shape("payment_key", "live_ test_",
          r"(?<![\w-])(?:live|test)_(?=[A-Za-z]*\d)(?=[a-z0-9]*[A-Z])[A-Za-z0-9]{30}(?!\w)"),
    shape("payment_key", "live_", r"(?<![\w-])live_(?=[A-Za-z_-]*\d)(?=[a-z0-9_-]*[A-Z])[A-Za-z0-9_-]{40}(?![\w-])"),
    shape("tor_key", "ED25519-V3:", r"ED25519-V3:[A-Za-z0-9+/]{86}={0,2}"),
    shape("mailchimp_key", "-us", r"\b[0-9a-f]{32}-us\d{1,2}\b", 32),
    shape("mailgun_key", "-", r"\b[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}\b", 32),
    shape(
        "braintree_token", "access_token$", r"\baccess_token\$(?:production|sandbox)\$[a-z0-9]{10,24}\$[0-9a-f]{32}\b"
    ),
    shape("plaid_token", "access-", r"\baccess-(?:sandbox|development|production)-[0-9a-f-]{36}\b"),
    shape("terraform_token", ".atlasv1.", r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,80}", 14),
    shape("twilio_key", "SK", r"\bSK[0-9a-f]{32}\b"),
    shape("airtable_token", "pat", r"\bpat[A-Za-z0-9]{14}\.[0-9a-f]{64}\b"),
    shape("harness_token", "pat. sat.", r"\b[ps]at\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}\b"),
    shape("new_relic_key", "NRAL", r"\b[0-9a-f]{36}NRAL\b", 36),
    shape("maxmind_key", "_mmk", r"\b[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk\b", 36),
    shape("onepassword_key", "A3-", r"\bA3-[A-Z0-9]{6}(?:-[A-Z0-9]{5,11}){4,5}\b"),
    shape("salesforce_token", "00D", r"\b00D[A-Za-z0-9]{12,15}![A-Za-z0-9_.]{60,200}"),
    shape("facebook_token", "|", r"(?<!\d)\d{15,16}\|[A-Za-z0-9_-]{27,40}(?![A-Za-z0-9_-])", 16),
    shape("asana_token", "/", r"(?<![\w/.])[012]/(?:\d{15,17}(?:/\d{15,17})?:)?[0-9a-f]{32}\b", 34),
    shape("bitlocker_key", "-", r"(?<![\d-])\d{6}(?:-\d{6}){7}(?![\d-])", 55),
    shape("bitcoin_key", "5 K L", r"\b[5KL][1-9A-HJ-NP-Za-km-z]{50,51}\b"),
    shape("calendar_address", "/private-", r"(?P<keep>/private-)[0-9a-f]{32}\b"),
    # A private key in base64 a second time: the word PRIVATE in each of its three positions
    shape("private_key", "LS0tLS1CRUdJTi", r"\bLS0tLS1CRUdJTi(?=[A-Za-z0-9+/]{0,24}(?:UFJJVkFUR|BSSVZBVE|QUklWQVRF))"
          r"[A-Za-z0-9+/]{16,20000}={0,2}"),
    # What all share
    shape("jwt", "eyJ", r"\beyJ[A-Za-z0-9_-]{8,8000}\.(?:eyJ[A-Za-z0-9_-]{8,8000}(?:\.[A-Za-z0-9_-]{8,8000})?"
          r"|[A-Za-z0-9_-]{0,2000}\.[A-Za-z0-9_-]{8,100}\.[A-Za-z0-9_-]{8,8000}\.[A-Za-z0-9_-]{8,100})"),
    shape(
        "password_hash",
        "$",
        r"\$(?:apr1|[1256y]|2[abxy]|argon2(?:id?|d))\$(?:[A-Za-z0-9./=,+_-]{1,100}\$){0,3}[A-Za-z0-9./+]{20,120}",
    ),
)  # fmt: skip

# Any other provider's: a short name, an underscore, then chance. Ids have some 24 characters, keys from 30 on.
_NAMED: Final = late(r"_(?P<chance>[A-Za-z0-9]{30,200})(?![A-Za-z0-9])")
_NAME_BEFORE: Final = late(r"(?<![A-Za-z0-9_\\])[a-z][a-z0-9]{1,11}(?:_[a-z0-9]{1,8}){0,2}\Z")
_OPEN: Final = ("pk_", "phc")  # of keys that anybody may have, followed by an underscore
_LONGEST_NAME: Final = 30


def cut_shapes(text: str) -> str:
    """The text without what a shape tells. Texts without long words are through at once."""
    words = text.split()
    if max(map(len, words), default=0) < _SHORTEST:
        return text
    words = [word for word in words if len(word) >= _SHORTEST and _is_mixed(word)]
    if not words:
        return text
    long = "\n".join(words)
    shapes = [one for one in SHAPES if any(hint in long for hint in one.hints)]
    spans: list[tuple[int, int, str]] = []
    end = 0
    for word in words:
        start = text.index(word, end)
        end = start + len(word)
        spans += of_providers(text, start, end)
        for one in shapes:
            spans += _spans(text, start, end, one)
        if "_" in word:
            spans += _named(text, start, end)
    return replaced(text, spans)


def _is_mixed(word: str) -> bool:
    """Whether a key could be in a word: a long run, with a digit or a capital."""
    return bool((not word.islower() or _DIGIT.search(word)) and _RUN.search(word))


def _spans(text: str, start: int, end: int, one: Shape) -> list[tuple[int, int, str]]:
    """What matches a shape around each place of its hints in a word: start, end and kind."""
    spans: list[tuple[int, int, str]] = []
    for hint in one.hints:
        done = start
        at = text.find(hint, start, end)
        while at >= 0:
            found = _match(text, one, at, done)
            if found and not is_example(found[0]):
                kept = found.end("keep") if "keep" in found.re.groupindex else found.start()
                spans.append((kept, found.end(), one.kind))
                done = found.end()
            at = text.find(hint, max(at + 1, done), end)
    return spans


def _match(text: str, one: Shape, at: int, done: int) -> re.Match[str] | None:
    if not one.back:
        return compiled(one.pattern).match(text, at)
    start, pattern = max(at - one.back, done), compiled(one.pattern)
    return next((found for place in range(start, at + 1) if (found := pattern.match(text, place))), None)


def _named(text: str, start: int, end: int) -> list[tuple[int, int, str]]:
    """Where a short name, an underscore and chance stand in a word."""
    spans: list[tuple[int, int, str]] = []
    for found in _NAMED.finditer(text, start, end):
        name = _NAME_BEFORE.search(text, max(found.start() - _LONGEST_NAME, start), found.start())
        if name and not name[0].startswith(_OPEN) and is_mixed(found["chance"]):
            spans.append((name.start(), found.end(), "token"))
    return spans
