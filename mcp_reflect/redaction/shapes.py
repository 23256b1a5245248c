"""Secrets that are known by their shape: each provider's prefix, length and alphabet.

The shapes are those that the providers document for their own keys, or that their keys have had for years.
"""

import re
from typing import Final, NamedTuple

from mcp_reflect.redaction.marks import compiled, mark
from mcp_reflect.redaction.values import is_mixed


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
_RUN: Final = re.compile(r"[A-Za-z0-9_+/=~-]{16}")  # and in each there is such a run

SHAPES: Final[tuple[Shape, ...]] = (
    # Cloud
    shape("aws_key", "AKIA ASIA ABIA ACCA", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b"),
    shape("aws_key", "IQoJb3JpZ2lu FwoGZXIvYXdz", r"(?:IQoJb3JpZ2lu|FwoGZXIvYXdz)[A-Za-z0-9+/=%]{40,4000}"),
    shape("google_key", "AIza", r"\bAIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    shape("google_key", "GOCSPX-", r"\bGOCSPX-[A-Za-z0-9_-]{20,60}"),
    shape("google_token", "ya29. 1//0", r"(?:\bya29\.|\b1//0)[A-Za-z0-9_-]{30,1000}"),
    shape("google_key", ":APA91", r"\b[A-Za-z0-9_-]{8,40}:APA91[A-Za-z0-9_-]{60,300}", 40),
    shape("azure_secret", "Q~", r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34}", 4),
    shape("digitalocean_token", "dop_v1_ doo_v1_ dor_v1_", r"\bdo[opr]_v1_[a-f0-9]{40,80}\b"),
    shape("fly_token", "fo1_ fm2_ fm1r_", r"\b(?:fo1|fm1r|fm2)_[A-Za-z0-9_/+=-]{30,2000}"),
    # Git hosts
    shape(
        "github_token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        r"\b(?:gh[pousr]_[A-Za-z0-9]{36,251}|github_pat_[A-Za-z0-9_]{22,251})\b",
    ),
    shape("gitlab_token", "gl", r"\bgl[a-z]{2,6}-[A-Za-z0-9_.-]{18,200}"),
    shape("atlassian_token", "ATBB ATATT ATCTT", r"\b(?:ATBB[A-Za-z0-9]{24,60}|AT[AC]TT3[A-Za-z0-9_=-]{50,500})"),
    # Language models and machine learning
    shape("llm_key", "sk-", r"\bsk-(?=[A-Za-z_-]{0,60}\d)[A-Za-z0-9_-]{20,250}"),
    shape("llm_key", "gsk_ r8_ pplx- xai- pcsk_ lsv2_", r"\b(?:gsk_|r8_|pplx-|xai-|pcsk_|lsv2_)[A-Za-z0-9_]{32,120}"),
    shape("huggingface_token", "hf_", r"\bhf_[A-Za-z0-9]{30,60}\b"),
    # Chat and mail
    shape("slack_token", "xox xapp-", r"\b(?:xox[abceoprs]|xapp)-[A-Za-z0-9-]{10,250}"),
    shape(
        "webhook",
        "hooks.slack.com/ /webhooks/ /webhook/ /webhookb2/",
        r"(?P<keep>hooks\.slack\.com/[a-z]{5,10}/|/webhooks/(?=\d{10})|/webhook(?:b2)?/)[A-Za-z0-9_@/%.-]{20,300}",
    ),
    shape("discord_token", "M N O", r"(?<![\w.-])[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45}"),
    shape("telegram_token", ":AA", r"(?<!\d)\d{8,11}:AA[A-Za-z0-9_-]{32,34}(?![A-Za-z0-9_-])", 11),
    shape("twilio_key", "SK", r"\bSK[0-9a-f]{32}\b"),
    shape("sendgrid_key", "SG.", r"\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{30,64}"),
    shape("mailgun_key", "key-", r"\bkey-[0-9a-f]{32}\b"),
    shape("mailchimp_key", "-us", r"\b[0-9a-f]{32}-us\d{1,2}\b", 32),
    # Payment
    shape(
        "stripe_key",
        "sk_live_ sk_test_ rk_live_ rk_test_ whsec_",
        r"\b(?:[sr]k_(?:live|test)_|whsec_)[A-Za-z0-9]{16,250}\b",
    ),
    shape(
        "braintree_token", "access_token$", r"\baccess_token\$(?:production|sandbox)\$[a-z0-9]{10,24}\$[0-9a-f]{32}\b"
    ),
    shape("square_token", "EAAA sq0", r"\b(?:EAAA[A-Za-z0-9_-]{56,64}|sq0[a-z]{3}-[A-Za-z0-9_-]{20,50})"),
    shape("shopify_token", "shp", r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}\b"),
    # Package registries
    shape("grafana_token", "glsa_ glc_", r"\bgl(?:sa|c)_[A-Za-z0-9+/=_]{32,400}"),
    shape("npm_token", "npm_", r"\bnpm_[A-Za-z0-9]{36}\b"),
    shape("pypi_token", "pypi-Ag", r"\bpypi-Ag[A-Za-z0-9_-]{40,1000}"),
    shape("rubygems_key", "rubygems_", r"\brubygems_[0-9a-f]{48}\b"),
    shape("crates_token", "cio", r"\bcio[A-Za-z0-9]{32}\b"),
    shape("docker_token", "dckr_", r"\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{20,60}"),
    shape("nuget_key", "oy2", r"\boy2[a-z0-9]{43}\b"),
    # Platforms
    shape("doppler_token", "dp.", r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}\b"),
    shape("heroku_key", "HRKU-", r"\bHRKU-[A-Za-z0-9_-]{30,80}"),
    shape("vault_token", "hvs. hvb. hvr.", r"\bhv[sbr]\.[A-Za-z0-9_-]{24,300}"),
    shape("terraform_token", ".atlasv1.", r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,80}", 14),
    shape("sentry_token", "sntry", r"\bsntry[sua]_[A-Za-z0-9+/=_-]{40,300}"),
    shape("new_relic_key", "NRAK- NRJS-", r"\bNR(?:AK-[A-Z0-9]{27}|JS-[a-f0-9]{19})\b"),
    shape("new_relic_key", "NRAL", r"\b[0-9a-f]{36}NRAL\b", 36),
    shape("postman_key", "PMAK-", r"\bPMAK-[0-9a-f]{24}-[0-9a-f]{30,40}\b"),
    shape("databricks_token", "dapi", r"\bdapi[0-9a-f]{32}(?:-\d)?\b"),
    shape("age_key", "AGE-SECRET-KEY-", r"\bAGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]{40,120}"),
    shape("tailscale_key", "tskey-", r"\btskey-[a-z]{2,10}-[A-Za-z0-9-]{20,100}"),
    shape("supabase_token", "sbp_", r"\bsbp_[0-9a-f]{40}\b"),
    shape("figma_token", "fig", r"\bfig[dorhu]{1,2}_[A-Za-z0-9_-]{30,60}"),
    # What all share
    shape("jwt", "eyJ", r"\beyJ[A-Za-z0-9_-]{8,8000}\.eyJ[A-Za-z0-9_-]{8,8000}(?:\.[A-Za-z0-9_-]{8,8000})?"),
    shape(
        "password_hash",
        "$",
        r"\$(?:apr1|[1256y]|2[abxy]|argon2(?:id?|d))\$(?:[A-Za-z0-9./=,+_-]{1,100}\$){0,3}[A-Za-z0-9./+]{20,120}",
    ),
)

# Any other provider's: a short name, an underscore, then chance. Ids have some 24 characters, keys from 30 on.
_NAMED: Final = re.compile(r"_(?P<chance>[A-Za-z0-9]{30,200})(?![A-Za-z0-9])")
_NAME_BEFORE: Final = re.compile(r"(?<![A-Za-z0-9_\\])[a-z][a-z0-9]{1,11}(?:_[a-z0-9]{1,8}){0,2}$")
_LONGEST_NAME: Final = 30


def cut_shapes(text: str) -> str:
    """The text without what a shape tells. Texts without long words are through at once."""
    long = "\n".join([word for word in text.split() if len(word) >= _SHORTEST and _RUN.search(word)])
    if not long:
        return text
    for one in SHAPES:
        for hint in one.hints:
            if hint in long:
                text = _cut(text, one, hint)
    return _cut_named(text) if "_" in long else text


def _cut(text: str, one: Shape, hint: str) -> str:
    """The text without what matches around each place of the hint."""
    pieces: list[str] = []
    done = 0
    at = text.find(hint)
    while at >= 0:
        found = _match(text, one, at, done)
        if found:
            pieces += [text[done : found.start()], found.groupdict().get("keep") or "", mark(one.kind)]
            done = found.end()
        at = text.find(hint, max(at + 1, done))
    return "".join([*pieces, text[done:]]) if pieces else text


def _match(text: str, one: Shape, at: int, done: int) -> re.Match[str] | None:
    if not one.back:
        return compiled(one.pattern).match(text, at)
    start, pattern = max(at - one.back, done), compiled(one.pattern)
    return next((found for place in range(start, at + 1) if (found := pattern.match(text, place))), None)


def _cut_named(text: str) -> str:
    pieces: list[str] = []
    done = 0
    for found in _NAMED.finditer(text):
        chance = found["chance"]
        name = _NAME_BEFORE.search(text[max(found.start() - _LONGEST_NAME, 0) : found.start()])
        if name and is_mixed(chance):
            pieces += [text[done : found.start() - len(name[0])], mark("token")]
            done = found.end()
    return "".join([*pieces, text[done:]]) if pieces else text
