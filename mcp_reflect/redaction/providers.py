"""Secrets that begin with their provider's own letters: the kinds, their alphabets, lengths and beginnings.

The beginnings are those that the providers document for their keys, or that their keys have had for years. A
line of the table is: kind, alphabet, least length of what follows, and the beginnings.
"""

import re
from functools import cache
from typing import Final, NamedTuple

from mcp_reflect.redaction.marks import compiled
from mcp_reflect.redaction.values import is_drawn, is_example

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

# Where a word, or what an escape stands before, begins, and the letters by which a beginning is looked up
_EDGES: Final = re.compile(r"(?<![0-9A-Za-z])(?=([0-9A-Za-z_]..))")
_ESCAPED: Final = re.compile(r"(?:\\[nrt]|%[0-9A-F]{2})(?=([0-9A-Za-z_]..))")
_KEY: Final = 3


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
            found.setdefault(one[:_KEY], []).append(Beginning(kind, one, pattern))
    return {key: tuple(sorted(some, key=lambda one: -len(one.letters))) for key, some in found.items()}


def of_providers(text: str, start: int, end: int) -> list[tuple[int, int, str]]:
    """Where keys of the table stand in a word of a text, which begins and ends there: start, end and kind of each."""
    table = _beginnings()
    word = text[start:end]
    found = [*_EDGES.findall(word), *(_ESCAPED.findall(word) if "\\" in word or "%" in word else ())]
    if table.keys().isdisjoint(found):
        return []
    spans: list[tuple[int, int, str]] = []
    done = start
    for at in sorted({edge.start(1) for edges in (_EDGES, _ESCAPED) for edge in edges.finditer(text, start, end)}):
        if at >= done and (known := table.get(text[at : at + _KEY])) and (span := _key_at(text, at, known)):
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
