"""Secrets with a shape of their own: private keys, the keys of providers, JSON web tokens.

The beginnings and lengths are those that the providers document for their keys, or that their keys have had for years.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from itertools import accumulate
from typing import Final

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security.secret_values import Secret, compiled, is_drawn, is_example, is_mixed

_ALPHABETS: Final = {
    "hex": "[0-9a-fA-F]",
    "lower": "[0-9a-z]",
    "upper": "[0-9A-Z]",
    "b62": "[0-9A-Za-z]",
    "url": "[0-9A-Za-z_-]",
    "b64": "[0-9A-Za-z+/=_-]",
    "parts": "[0-9A-Za-z+/=_.-]",
    "escaped": "(?:[0-9A-Za-z+/=_.-]|%[0-9A-F]{2})",
    "uuid": "[0-9a-f-]",
}
# A line: the kind, the alphabet and the least length of what follows, and the beginnings
_PROVIDERS: Final = """
aws_key upper 16 AKIA ASIA ABIA ACCA A3T
aws_key escaped 40 IQoJb3JpZ2lu FwoGZXIvYXdz
aws_key b64 40 ABSKQmVkcm9ja0FQSUtleS bedrock-api-key-
aws_key b64 100 ABSK
aws_key uuid 36 amzn.mws.
google_key upper 56 GOOG1
google_key url 33 AIza
google_key url 20 GOCSPX-
google_token parts 30 ya29. 1//0
alibaba_key b62 12 LTAI
digitalocean_token hex 40 dop_v1_ doo_v1_ dor_v1_
cloudflare_key parts 100 v1.0-
cloudflare_token b64 80 eyJhIjoi
heroku_key url 30 HRKU-
vercel_token b62 20 vcp_ vck_ vca_ vci_ vcr_ vercel_blob_rw_
supabase_token b62 30 sbp_ sbp_oauth_
supabase_token url 20 sb_secret_
databricks_token hex 30 dapi dkea dose
github_token b62 36 ghp_ gho_ ghu_ ghs_ ghr_
github_token url 22 github_pat_
gitlab_token parts 18 glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct- _gitlab_session=
gitlab_token url 20 GR1348941
atlassian_token b64 24 ATBB ATATT3 ATCTT3 ATTA BBDC-
llm_key b62 36 sess-
llm_key b62 22 gsk_ r8_ pplx- xai- pcsk_ fw_ csk- co_ tgp_v1_ jina_ esecret_ e2b_ key_
llm_key url 20 lsv2_pt_ lsv2_sk_ sk-or-v1- sk-ant- sk-proj- sk-svcacct- sk-admin- sk-lf- tvly- pa- fc- nvapi- gsk_ crsr_ ctx7sk-
huggingface_token b62 30 hf_ api_org_
slack_token escaped 10 xoxa- xoxb- xoxc- xoxd- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xapp-
discord_token url 60 mfa.
sendgrid_key parts 40 SG.
facebook_token b62 60 EAA EAAC EAAM EAAG
twitter_token escaped 60 AAAAAAAAAAAAAAAAAAAAA
stripe_key b62 16 sk_live_ sk_test_ rk_live_ rk_test_ whsec_ sk_org_live_ sk_org_test_
stripe_key b64 16 whsec_
square_token url 22 sq0atp- sq0csp- sq0idp- sq0acp-
square_token url 56 EAAA
shopify_token hex 32 shpat_ shpca_ shppa_ shpss_ shptka_
npm_token b62 36 npm_
pypi_token url 40 pypi-Ag
rubygems_key hex 48 rubygems_
docker_token url 20 dckr_pat_ dckr_oat_
nuget_key lower 43 oy2
grafana_token b64 32 glsa_ glc_ eyJrIjoi
vault_token url 24 hvs. hvb. hvr.
onepassword_token b64 100 ops_eyJ
sentry_token b64 40 sntrys_ sntryu_ sntrya_
tailscale_key parts 20 tskey-
notion_token b62 40 ntn_ secret_
hubspot_key url 32 pat-na1- pat-eu1- pat-ap1-
age_key upper 40 AGE-SECRET-KEY-1 AGE-SECRET-KEY-PQ-1
token b62 12 napi_ npg_ rzp_live_ rzp_test_
token b62 20 rnd_
token b62 24 AKID
token b62 30 nfp_ nfc_ nfo_ nfu_ nfb_ ico- cio phx_ phs_ lin_api_ lin_oauth_ lin_wh_ p8e- pnu_ pnb_ apify_api_
token b62 30 n8n_api_
token b62 40 EZAK EZTK cmVmd
token b62 60 AKCp
token b62 100 xprv yprv zprv
token b64 24 K001 K002 K003 K004 K005
token b64 30 fo1_ fm1a_ fm1r_ fm2_ dG9rOj essu_ dbtc_ dbtu_
token b64 40 ocid1.credential. duffel_test_ duffel_live_ fio-u- fio-p-
token b64 60 AQE
token b64 150 RWRTY0Iy
token hex 30 pul- key-
token hex 40 mlsn. cs_ shippo_live_ shippo_test_ squ_ sqp_ sqa_ sqb_
token lower 24 hcaik_ hcxik_ hcbik_ hcamk_ hcalk_
token lower 30 sgp_ slk_ sgd_ bkua_ bkct_ bkat_ bkpt_ bkaj_
token lower 40 nsec1 kubeconfig-user-
token lower 60 CLOJARS_ rdme_
token parts 12 WPL_AP1.
token parts 30 pscale_tkn_ pscale_oauth_ pscale_pw_ CCIPAT_ CCIPRJ_
token parts 40 dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit. PMAK- tfp_
token parts 60 t1. dt0c01. dt0s16. dt0s01. sk.eyJ tk.eyJ sl. SWMTKN-1-
token upper 24 NRAK- NRRA- API-
token url 12 AVNS_ FLWSECK_TEST- FLWSECK- FLWSECK_LIVE- NRJS- NRII- NRIQ- NRAA-
token url 20 mdb_sa_sk_ md- retool_
token url 24 re_
token url 30 AQVN y0_Ag y0__ xau_ syt_ mct_ packagist_ack_ packagist_ort_ packagist_uut_ xaat- xapt- figd_ figu_ figo_
token url 30 figor_ figh_ sk-lf- RGAPI- mmk_
token url 40 pdl_live_apikey_ pdl_sdbx_apikey_ pdl_ntfset_ klarna_live_api_ klarna_test_api_ CFPAT- sha256~ tk-us-
token url 60 xkeysib- xsmtpsib- A21AA CfDJ8 dnkey-
token url 200 1BVts 1AZWar
token uuid 36 sdk- mob- api-
"""

# Keys that are no beginning and a rest. A row: kind, the texts of which one is in each match, pattern. Of a match, the
# group `secret` goes where there is one.
_EDGE: Final = "(?<![A-Za-z0-9])"  # `\b` would take an underscore for a letter
_WEBHOOK: Final = (  # an address whose path says that it is called to do something, and ends in a key
    r"(?<![\w./:-])(?:https?://)?[\w-]{1,60}(?:\.[\w-]{1,60}){1,6}(?::\d{2,5})?/"
    r"(?:[\w.-]{1,40}/){0,6}?(?:(?:\w{0,20}hooks?(?:b2)?|services|triggers|deploy|with/key)/|(?<=hc-ping\.com/)|(?<=\.make\.com/))"
    r"(?=[^\s\"']{0,200}?(?:[A-Za-z0-9_]{16}|[0-9a-f]{8}-[0-9a-f]{4}-))(?=[^\s\"'/]*\d|[^\s\"']*/[A-Za-z0-9_-]{16})[\w@/%.?=-]{12,300}"
)
_SHAPES: Final = (
    ("google_key", ":APA91", _EDGE + r"[A-Za-z0-9_-]{8,40}:APA91[A-Za-z0-9_-]{60,300}"),
    ("azure_secret", "Q~", r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34}"),
    ("gitlab_token", "gl", _EDGE + r"gl[a-z]{2,6}-(?=[A-Za-z_.-]{0,60}\d)[A-Za-z0-9_.-]{18,200}"),
    ("llm_key", "sk-", _EDGE + r"sk-(?=[A-Za-z_-]{0,60}\d)[A-Za-z0-9_-]{20,250}"),
    ("discord_token", ".", r"(?<![\w.-])[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45}"),
    ("telegram_token", ":AA", r"(?<!\d)\d{8,11}:AA[A-Za-z0-9_-]{32,34}(?![A-Za-z0-9_-])"),
    ("vault_token", "s.", r"(?<![\w.])s\.(?=[A-Za-z]{0,23}\d)(?=[a-z0-9]{0,23}[A-Z])[A-Za-z0-9]{24}(?![\w.(])"),
    ("mailchimp_key", "-us", _EDGE + r"[0-9a-f]{32}-us\d{1,2}\b"),
    ("mailgun_key", "-", _EDGE + r"[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}\b"),
    ("braintree_token", "access_token$", r"access_token\$(?:production|sandbox)\$[a-z0-9]{10,24}\$[0-9a-f]{32}\b"),
    ("plaid_token", "access-", _EDGE + r"access-(?:sandbox|development|production)-[0-9a-f-]{36}\b"),
    ("terraform_token", ".atlasv1.", _EDGE + r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,80}"),
    ("twilio_key", "SK", _EDGE + r"SK[0-9a-f]{32}\b"),
    ("airtable_token", "pat", _EDGE + r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}\b"),
    ("new_relic_key", "NRAL", _EDGE + r"[0-9a-f]{36}NRAL\b"),
    ("onepassword_key", "A3-", _EDGE + r"A3-[A-Z0-9]{6}(?:-[A-Z0-9]{5,11}){4,5}\b"),
    ("facebook_token", "|", r"(?<!\d)\d{15,16}\|[A-Za-z0-9_-]{27,40}(?![A-Za-z0-9_-])"),
    ("asana_token", "0/ 1/ 2/", r"(?<![\w/.])[012]/(?:\d{15,17}(?:/\d{15,17})?:)?[0-9a-f]{32}\b"),
    ("bitlocker_key", "-", r"(?<![\d-])\d{6}(?:-\d{6}){7}(?![\d-])"),
    ("calendar_address", "/private-", r"/private-(?P<secret>[0-9a-f]{32})\b"),
    # A private key in base64 a second time: the word PRIVATE in each of its three positions
    ("private_key", "LS0tLS1CRUdJTi",
     r"LS0tLS1CRUdJTi(?=[A-Za-z0-9+/]{0,24}(?:UFJJVkFUR|BSSVZBVE|QUklWQVRF))[A-Za-z0-9+/]{16,20000}={0,2}"),
    ("jwt", "eyJ", _EDGE + r"eyJ[A-Za-z0-9_-]{8,8000}\.(?:eyJ[A-Za-z0-9_-]{8,8000}(?:\.[A-Za-z0-9_-]{8,8000})?"
     r"|[A-Za-z0-9_-]{0,2000}\.[A-Za-z0-9_-]{8,100}\.[A-Za-z0-9_-]{8,8000}\.[A-Za-z0-9_-]{8,100})"),
    ("password_hash", "$", r"\$(?:apr1|[156y])\$(?:[A-Za-z0-9./=,+_-]{1,100}\$){0,3}[A-Za-z0-9./+]{20,120}"),
    ("webhook", "hook /services/T /triggers/ /deploy/ hc-ping.com", _WEBHOOK),
    # A short name, an underscore, and a random rest of 30 characters and more; ids have some 24
    ("token", "_", r"(?<![A-Za-z0-9_\\])(?!pk_|phc_)[a-z][a-z0-9]{1,11}(?:_[a-z0-9]{1,8}){0,2}_(?P<rest>[A-Za-z0-9]{30,200})(?![A-Za-z0-9])"),
)  # fmt: skip

_PEM: Final = lazy_compile(
    r"-{4,5} ?BEGIN (?:[A-Z0-9]{2,10} ){0,3}(?:PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1) ?-{4,5}"
    r"(?P<body>(?:(?!-{4,5} ?END)[\s\S]){0,20000})(?:-{4,5} ?END [A-Za-z0-9 ]{0,40}-{4,5})?"
)
_PEM_BODY: Final = lazy_compile(r"(?=[A-Za-z0-9+/=]{0,24}[0-9])[A-Za-z0-9+/=]{24}|[0-9a-f]{32}")  # examples have dots
_PEM_HEADERS: Final = 400  # characters before the key
_PUTTY: Final = lazy_compile(
    r"Private-Lines: \d{1,3}\s{1,4}(?P<secret>(?:[A-Za-z0-9+/=]{1,80}(?:\s|$)){1,200}(?:Private-MAC: [0-9a-f]{40,64})?)"
)


def private_keys(text: str) -> list[Secret]:
    """Return the private keys that stand in their armor."""
    spans: list[tuple[int, int]] = []
    if "PRIVATE KEY" in text or "OpenVPN Static key" in text:
        spans += [key.span() for key in _PEM.finditer(text) if _PEM_BODY.search(key["body"], 0, _PEM_HEADERS)]
    if "Private-Lines:" in text:
        spans += [key.span("secret") for key in _PUTTY.finditer(text)]
    return [(start, end, "private_key") for start, end in spans]


_LONG: Final = lazy_compile(r"\S{20,}")  # no shape has fewer characters
_RUN: Final = lazy_compile(r"[A-Za-z0-9_+/=~-]{16}")
_EDGES: Final = lazy_compile(r"(?<![0-9A-Za-z])(?=([0-9A-Za-z_]..))")
_LOOKUP: Final = 3  # characters of a beginning by which the table is asked


def shaped_secrets(text: str) -> list[Secret]:
    """Return the secrets that have a provider's shape; all of them stand in long words of mixed characters."""
    words = long_words(text)
    if not words:
        return []
    joined = "\n".join(word[0] for word in words)
    starts = [0, *accumulate(len(word[0]) + 1 for word in words)]

    def place(at: int) -> int:
        number = bisect_right(starts, at) - 1
        return words[number].start() + at - starts[number]

    return [
        (place(start), place(end - 1) + 1, kind) for start, end, kind in (*_of_providers(joined), *_of_shapes(joined))
    ]


def long_words(text: str) -> list[re.Match[str]]:
    """Return the words in which a key could be."""
    return [word for word in _LONG.finditer(text) if _is_mixed(word[0])]


def _is_mixed(word: str) -> bool:
    """True if a key could be in a word: a long run of eight different characters, with a digit or a capital."""
    return not (word.islower() and word.isalpha()) and len(set(word)) >= 8 and bool(_RUN.search(word))


@cache
def _beginnings() -> dict[str, list[tuple[str, str, str]]]:
    """Return the kinds, beginnings and patterns of keys by their first letters, the longest beginning first."""
    table: dict[str, list[tuple[str, str, str]]] = {}
    for line in _PROVIDERS.strip().split("\n"):
        kind, alphabet, least, *beginnings = line.split()
        rest = rf"(?P<rest>{_ALPHABETS[alphabet]}{{{least},2000}})(?![0-9A-Za-z])(?:[_-][0-9A-Za-z]{{4,200}}){{0,4}}"
        for beginning in beginnings:
            table.setdefault(beginning[:_LOOKUP], []).append((kind, beginning, re.escape(beginning) + rest))
    return {key: sorted(rows, key=lambda row: -len(row[1])) for key, rows in table.items()}


def _of_providers(text: str) -> list[Secret]:
    table = _beginnings()
    spans: list[Secret] = []
    done = 0
    for at in [edge.start(1) for edge in _EDGES.finditer(text) if edge[1] in table]:
        for kind, beginning, pattern in table[text[at : at + _LOOKUP]] if at >= done else ():
            key = compiled(pattern).match(text, at) if text.startswith(beginning, at) else None
            if key and is_drawn(key["rest"]) and not is_example(key[0]):
                spans.append((at, key.end(), kind))
                done = key.end()
                break
    return spans


def _of_shapes(text: str) -> list[Secret]:
    return [
        (*key.span("secret" if "secret" in key.re.groupindex else 0), kind)
        for kind, hints, pattern in _SHAPES
        if any(hint in text for hint in hints.split())
        for key in _matches(pattern, hints, text)
        if not is_example(key[0]) and (kind != "token" or is_mixed(key["rest"]))
    ]


def _matches(pattern: str, hint: str, text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of a row; where a pattern begins with its only hint, looking for that is quicker."""
    if not pattern.startswith((hint, _EDGE + hint)) or len(hint) < 2:
        yield from compiled(pattern).finditer(text)
        return
    at = text.find(hint)
    while at >= 0:
        match = compiled(pattern).match(text, at)
        if match:
            yield match
        at = text.find(hint, match.end() if match else at + 1)
