"""Secrets with a shape of their own: private keys, providers' tokens, JWTs."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from itertools import accumulate
from typing import Final, NamedTuple

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security.secret_values import Secret, compiled, is_drawn, is_example, is_mixed

# Private keys in the armour of their files: from the line that begins them to the line that ends them.


_PEM: Final = lazy_compile(
    r"-{4,5} ?BEGIN (?:[A-Z0-9]{2,10} ){0,3}(?:PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1) ?-{4,5}"
    r"(?P<body>(?:(?!-{4,5} ?END)[\s\S]){0,20000})(?:-{4,5} ?END [A-Za-z0-9 ]{0,40}-{4,5})?"
)
_XML: Final = lazy_compile(r"<(?P<name>D|P|Q|DP|DQ|InverseQ)>(?P<secret>[A-Za-z0-9+/=\s]{20,2000})</(?P=name)>")
_KEY_ARMOUR: Final = lazy_compile(r"[A-Za-z0-9+/=]{24}|[0-9a-f]{32}")  # an example has dots or a word in angles instead
_DIGIT: Final = lazy_compile(r"[0-9]")
_SOON: Final = 400  # characters after the beginning; headers may stand before the key
_PUTTY: Final = lazy_compile(
    r"(?P<keep>Private-Lines: \d{1,3}(?:\s{1,4}|\\{1,7}n))(?:[A-Za-z0-9+/=]{1,80}(?:\r?\n|\\{1,7}n|\s|$)){1,200}"
    r"(?:Private-MAC: [0-9a-f]{40,64})?"
)


def _is_key(body: str) -> bool:
    """Whether a key follows the line that begins one, and no example or program."""
    found = _KEY_ARMOUR.search(body, 0, _SOON)
    return found is not None and bool(_DIGIT.search(body, found.start(), found.start() + 64))


def private_keys(text: str) -> list[Secret]:
    """Return the private keys that stand in their armor."""
    spans: list[tuple[int, int]] = []
    if "PRIVATE KEY" in text or "OpenVPN Static key" in text:
        spans += [match.span() for match in _PEM.finditer(text) if _is_key(match["body"])]
    if "Private-Lines:" in text:
        spans += [(match.end("keep"), match.end()) for match in _PUTTY.finditer(text)]
    if "<RSAKeyValue>" in text:
        spans += [match.span("secret") for match in _XML.finditer(text)]
    return [(start, end, "private_key") for start, end in spans]


# Secrets that begin with their provider's own letters: the kinds, their alphabets, lengths and beginnings.
#
# The beginnings are those that the providers document for their keys, or that their keys have had for years. A
# line of the table is: kind, alphabet, least length of what follows, and the beginnings.


_ALPHABETS: Final = {
    "hex": "[0-9a-fA-F]",
    "lower": "[0-9a-z]",
    "upper": "[0-9A-Z]",
    "b62": "[0-9A-Za-z]",
    "url": "[0-9A-Za-z_-]",
    "b64": "[0-9A-Za-z+/=_-]",
    "parts": "[0-9A-Za-z+/=_.-]",
    "url-escaped": "(?:[0-9A-Za-z+/=_.-]|%[0-9A-F]{2})",
}
_MOST: Final = 2000

_TABLE: Final = """
aws_key upper 16 AKIA ASIA ABIA ACCA A3T
aws_key url-escaped 40 IQoJb3JpZ2lu FwoGZXIvYXdz
aws_key b64 40 ABSKQmVkcm9ja0FQSUtleS bedrock-api-key-
aws_key b64 100 ABSK
aws_key hex 8 amzn.mws.
google_key upper 56 GOOG1
google_key url 33 AIza
google_key url 20 GOCSPX-
google_token parts 30 ya29. 1//0
alibaba_key b62 12 LTAI
tencent_key b62 28 AKID
yandex_key url 33 AQVN y0_Ag y0__
yandex_token parts 80 t1.
digitalocean_token hex 40 dop_v1_ doo_v1_ dor_v1_
fly_token b64 30 fo1_ fm1a_ fm1r_ fm2_
cloudflare_key parts 100 v1.0-
cloudflare_token b64 80 eyJhIjoi
oracle_key b64 40 ocid1.credential.
heroku_key url 30 HRKU-
netlify_token b62 30 nfp_ nfc_ nfo_ nfu_ nfb_
vercel_token b62 20 vcp_ vck_ vca_ vci_ vcr_ vercel_blob_rw_
render_key b62 20 rnd_
pulumi_token hex 32 pul-
infracost_key b62 32 ico-
supabase_token b62 30 sbp_ sbp_oauth_
supabase_token url 20 sb_secret_
planetscale_token parts 30 pscale_tkn_ pscale_oauth_ pscale_pw_
neon_key b62 12 napi_ npg_
mongodb_key url 20 mdb_sa_sk_
aiven_password url 15 AVNS_
databricks_token hex 30 dapi dkea dose
clickhouse_key b62 38 4b1d
turso_key url 30 xau_
github_token b62 36 ghp_ gho_ ghu_ ghs_ ghr_
github_token url 22 github_pat_
gitlab_token parts 18 glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct- _gitlab_session=
gitlab_token url 20 GR1348941
atlassian_token b64 24 ATBB ATATT3 ATCTT3 ATTA BBDC-
sourcegraph_token lower 32 sgp_ slk_ sgd_
llm_key b62 36 sess-
llm_key b62 22 gsk_ r8_ pplx- xai- pcsk_ fw_ csk- co_ tgp_v1_ jina_ esecret_ e2b_ key_
llm_key url 20 lsv2_pt_ lsv2_sk_ sk-or-v1- sk-ant- sk-proj- sk-svcacct- sk-admin- sk-lf- tvly- pa- fc- nvapi- gsk_ crsr_ ctx7sk-
huggingface_token b62 30 hf_ api_org_
slack_token url-escaped 10 xoxa- xoxb- xoxc- xoxd- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xapp-
discord_token url 60 mfa.
sendgrid_key parts 40 SG.
mailgun_key hex 32 key-
brevo_key url 60 xkeysib- xsmtpsib-
resend_key url 24 re_
mailersend_key hex 50 mlsn.
mandrill_key url 22 md-
matrix_token url 30 syt_ mct_
facebook_token b62 60 EAA EAAC EAAM EAAG
twitter_token url-escaped 60 AAAAAAAAAAAAAAAAAAAAA
intercom_token b64 30 dG9rOj
stripe_key b62 16 sk_live_ sk_test_ rk_live_ rk_test_ whsec_ sk_org_live_ sk_org_test_
stripe_key b64 16 whsec_
square_token url 22 sq0atp- sq0csp- sq0idp- sq0acp-
square_token url 56 EAAA
shopify_token hex 32 shpat_ shpca_ shppa_ shpss_ shptka_
flutterwave_key url 12 FLWSECK_TEST- FLWSECK- FLWSECK_LIVE-
razorpay_key b62 14 rzp_live_ rzp_test_
easypost_key b62 50 EZAK EZTK
duffel_token b64 40 duffel_test_ duffel_live_
adyen_key b64 60 AQE
paddle_key url 40 pdl_live_apikey_ pdl_sdbx_apikey_ pdl_ntfset_
klarna_key url 40 klarna_live_api_ klarna_test_api_
woocommerce_key hex 40 cs_
paypal_token url 60 A21AA
shippo_token hex 40 shippo_live_ shippo_test_
npm_token b62 36 npm_
pypi_token url 40 pypi-Ag
rubygems_key hex 48 rubygems_
crates_token b62 32 cio
docker_token url 20 dckr_pat_ dckr_oat_
nuget_key lower 43 oy2
clojars_token lower 60 CLOJARS_
packagist_token url 30 packagist_ack_ packagist_ort_ packagist_uut_
artifactory_key b62 60 AKCp
artifactory_token b62 58 cmVmd
grafana_token b64 32 glsa_ glc_ eyJrIjoi
doppler_token parts 40 dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.
vault_token url 24 hvs. hvb. hvr.
onepassword_token b64 100 ops_eyJ
sentry_token b64 40 sntrys_ sntryu_ sntrya_
new_relic_key upper 27 NRAK- NRRA-
new_relic_key url 19 NRJS- NRII- NRIQ- NRAA-
dynatrace_token parts 60 dt0c01. dt0s16. dt0s01.
honeycomb_key lower 26 hcaik_ hcxik_ hcbik_ hcamk_ hcalk_
axiom_token url 30 xaat- xapt-
elastic_token b64 30 essu_
launchdarkly_key hex 8 sdk- mob- api-
posthog_key b62 30 phx_ phs_
postman_key parts 40 PMAK-
tailscale_key parts 20 tskey-
figma_token url 30 figd_ figu_ figo_ figor_ figh_
linear_key b62 32 lin_api_ lin_oauth_ lin_wh_
notion_token b62 40 ntn_ secret_
contentful_token url 40 CFPAT-
typeform_token parts 40 tfp_
mapbox_token parts 60 sk.eyJ tk.eyJ
dropbox_token parts 60 sl.
adobe_key b62 32 p8e-
frameio_token b64 40 fio-u- fio-p-
hubspot_key url 32 pat-na1- pat-eu1- pat-ap1-
minisign_key b64 150 RWRTY0Iy
nostr_key lower 58 nsec1
swarm_token parts 60 SWMTKN-1-
linkedin_secret parts 16 WPL_AP1.
langfuse_key url 30 sk-lf-
backblaze_key b64 27 K001 K002 K003 K004 K005
aspnet_cookie url 60 CfDJ8
age_key upper 40 AGE-SECRET-KEY-1 AGE-SECRET-KEY-PQ-1
sonarqube_token hex 40 squ_ sqp_ sqa_ sqb_
circleci_token parts 30 CCIPAT_ CCIPRJ_
buildkite_token lower 30 bkua_ bkct_ bkat_ bkpt_ bkaj_
octopus_key upper 25 API-
openshift_token url 40 sha256~
prefect_token b62 30 pnu_ pnb_
dbt_token b64 30 dbtc_ dbtu_
rancher_token lower 40 kubeconfig-user-
scalingo_token url 40 tk-us-
readme_key lower 60 rdme_
defined_key url 60 dnkey-
apify_token b62 30 apify_api_
n8n_key b62 30 n8n_api_
retool_token url 20 retool_
riot_key url 30 RGAPI-
maxmind_key url 30 mmk_
bitcoin_key b62 100 xprv yprv zprv
telegram_session url 200 1BVts 1AZWar
"""

_UUID: Final = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_FORMS: Final = {"sdk-": _UUID, "mob-": _UUID, "api-": _UUID, "amzn.mws.": _UUID}  # where an alphabet says too little

# Where a word begins, and the letters by which a beginning is looked up
_EDGES: Final = re.compile(r"(?<![0-9A-Za-z])(?=([0-9A-Za-z_]..))")
_KEY_PROVIDERS: Final = 3


class Beginning(NamedTuple):
    """A beginning of a provider's keys: the kind, the letters, and the pattern of the whole."""

    kind: str
    letters: str
    pattern: str


@cache
def _beginnings() -> dict[str, tuple[Beginning, ...]]:
    """The table by the first letters of its beginnings, the longest beginning first."""
    found: dict[str, list[Beginning]] = {}
    for line in filter(None, _TABLE.split("\n")):
        kind, alphabet, least, *letters = line.split()
        for one in letters:
            form = _FORMS.get(one, f"{_ALPHABETS[alphabet]}{{{least},{_MOST}}}")
            pattern = f"{re.escape(one)}(?P<rest>{form})(?![0-9A-Za-z])(?:[_-][0-9A-Za-z]{{4,200}}){{0,4}}"
            found.setdefault(one[:_KEY_PROVIDERS], []).append(Beginning(kind, one, pattern))
    return {key: tuple(sorted(some, key=lambda one: -len(one.letters))) for key, some in found.items()}


def _of_providers(text: str) -> list[Secret]:
    """Return the keys of the table, by the letters that they begin with."""
    table = _beginnings()
    spans: list[Secret] = []
    done = 0
    for at in [edge.start(1) for edge in _EDGES.finditer(text) if edge[1] in table]:
        if at >= done and (span := _key_at(text, at, table[text[at : at + _KEY_PROVIDERS]])):
            spans.append(span)
            done = span[1]
    return spans


def _key_at(text: str, at: int, known: tuple[Beginning, ...]) -> tuple[int, int, str] | None:
    for one in known:
        if text.startswith(one.letters, at):
            found = compiled(one.pattern).match(text, at)
            if found and is_drawn(found["rest"]) and not is_example(found[0]):
                return at, found.end(), one.kind
    return None


# Secrets that are known by their shape: what a table of beginnings does not tell.
#
# The shapes are those that the providers document for their own keys, or that their keys have had for years.


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


_EDGE: Final = r"(?<![A-Za-z0-9])"  # `\b` would take an underscore for a letter


_LONG: Final = lazy_compile(r"\S{20,}")  # no shape has fewer characters
_VARIETY: Final = 8  # different characters of a word that holds a key
_RUN: Final = lazy_compile(r"[A-Za-z0-9_+/=~-]{16}")  # and in each there is such a run


# An address up to its path
_ADDRESS: Final = r"(?<![A-Za-z0-9./:\\-])(?:https?://)?[A-Za-z0-9-]{1,60}(?:\.[A-Za-z0-9-]{1,60}){1,6}(?::\d{2,5})?/"

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
        r"\$(?:apr1|[156y])\$(?:[A-Za-z0-9./=,+_-]{1,100}\$){0,3}[A-Za-z0-9./+]{20,120}",
    ),
)  # fmt: skip

# Any other provider's: a short name, an underscore, then chance. Ids have some 24 characters, keys from 30 on.
_NAMED: Final = lazy_compile(r"_(?P<chance>[A-Za-z0-9]{30,200})(?![A-Za-z0-9])")
_NAME_BEFORE: Final = lazy_compile(r"(?<![A-Za-z0-9_\\])[a-z][a-z0-9]{1,11}(?:_[a-z0-9]{1,8}){0,2}\Z")
_OPEN: Final = ("pk_", "phc")  # of keys that anybody may have, followed by an underscore
_LONGEST_NAME: Final = 30


def shaped_secrets(text: str) -> list[Secret]:
    """Return the secrets that their own shape tells, which stand in long words alone."""
    words = [match for match in _LONG.finditer(text) if _is_mixed(match[0])]
    if not words:
        return []
    long = "\n".join(match[0] for match in words)
    starts = [0, *accumulate(len(match[0]) + 1 for match in words)]
    found = [*_of_providers(long), *_of_shapes(long)]
    if "_" in long:
        found += _named(long)

    def place(at: int) -> int:
        word = bisect_right(starts, at) - 1
        return words[word].start() + at - starts[word]

    return [(place(start), place(end - 1) + 1, kind) for start, end, kind in found]


def _is_mixed(word: str) -> bool:
    """True if a key could be in a word: a long run, with a digit or a capital, of eight characters or more."""
    return bool((not word.islower() or _DIGIT.search(word)) and len(set(word)) >= _VARIETY and _RUN.search(word))


def _of_shapes(text: str) -> list[Secret]:
    return [
        (match.end("keep") if "keep" in match.re.groupindex else match.start(), match.end(), shape.kind)
        for shape in SHAPES
        if any(hint in text for hint in shape.hints)
        for match in _matches(shape, text)
        if not is_example(match[0])
    ]


def _matches(shape: Shape, text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of a shape. Where it begins with its hints, looking for these is quicker."""
    pattern = compiled(shape.pattern)
    if shape.back or min(map(len, shape.hints)) < 2:
        yield from pattern.finditer(text)
        return
    for hint in shape.hints:
        at = text.find(hint)
        while at >= 0:
            match = pattern.match(text, at)
            if match:
                yield match
            at = text.find(hint, match.end() if match else at + 1)


def _named(text: str) -> list[Secret]:
    """Return where a short name, an underscore and chance stand."""
    spans: list[tuple[int, int, str]] = []
    for found in _NAMED.finditer(text):
        name = _NAME_BEFORE.search(text, max(found.start() - _LONGEST_NAME, 0), found.start())
        if name and not name[0].startswith(_OPEN) and is_mixed(found["chance"]):
            spans.append((name.start(), found.end(), "token"))
    return spans
