"""Secrets by their place: in addresses, headers, commands, calls, SQL, files of passwords, and lists of codes."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final, NamedTuple

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security.secret_values import (
    Secret,
    anything,
    compiled,
    credential,
    drawn,
    in_prose,
    random,
    strong,
    word,
)


class Place(NamedTuple):
    """A place of secrets: their kind, the lower-case texts of which one begins it, parted by bars, and its pattern.

    The group `secret` of the pattern goes where `fits` is true of it.
    """

    kind: str
    anchors: str
    pattern: str
    fits: Callable[[str], bool]


_LINE: Final = r"[^\n]{0,200}?[ \t]"
_VALUE: Final = r"[\"'`]?(?P<secret>[^\s\"'`\\|;]{4,4000})"
_UUID: Final = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_TEXT: Final = r"b?[\"'`](?P<secret>[^\"'\n\\]{4,200})[\"'`]"
_ARGUMENT: Final = r"(?:[^,()\"'\n]{1,80}|\"[^\"\n]{0,200}\"|'[^'\n]{0,200}')"
_END: Final = r"(?=[.`\"',;:)*]{0,3}(?:\s|$))"
_SEED_WORD: Final = r"(?:\d{1,2}[.)]? ?)?(?-i:[a-z]{3,8})[\"']?"
_SEED: Final = (  # the 12, 15, 18, 21 or 24 words of a wallet
    rf"(?P<secret>(?:{_SEED_WORD}[ ,\n]{{1,3}}[\"']?){{11}}(?:(?:[ ,\n]{{1,3}}[\"']?{_SEED_WORD}){{3}}){{0,4}}{_SEED_WORD})(?![ ]?[\w,])"
)


def _braced(value: str) -> bool:
    """True for a value in the braces of a connection string, and no name of a template's field."""
    return not value.strip("{}").replace("_", "").replace(".", "").isalpha()


def _has_sign(value: str) -> bool:
    return credential(value) and ("=" in value or any(map(str.isdigit, value)))


def _has_digits(value: str) -> bool:
    return all(re.search(r"\d", code) for code in re.split(r"[\s,]+", value.strip()))


def _is_base32(value: str) -> bool:
    return len(set(value)) >= 8 and (any(map(str.isdigit, value)) or len(value) >= 26) and value != "JBSWY3DPEHPK3PXP"


def _is_seed(value: str) -> bool:
    words = [word for word in re.split(r"[\s,.)\d\"']+", value) if word]
    return len(words) in (12, 15, 18, 21, 24) and len(_COMMON.intersection(words)) <= 1 and len(set(words)) > 8


_COMMON: Final = frozenset(
    "the and for you your are was with that this from not must then when which have has use one two so while every "
    "before because into onto after its last until".split()
)
_PLACES: Final = (
    # Addresses
    Place("url_password", "://", r"://[^\s:/@\"'<>]{0,200}:(?P<secret>[^\s/@\"'<>]{1,200})(?=@)", word),
    Place("url_token", "://", r"://(?P<secret>[A-Za-z0-9_-]{20,300})(?=@|:[^\s/@]{0,60}@)", random),
    Place("url_token", "code=|key=|sig=|jwt=|auth=|ticket=", r"(?<=[?&])\w{3,6}=(?P<secret>[\w%.~+/=-]{20,4000})", random),
    Place("url_password", "jdbc:oracle:", r"jdbc:oracle:\w{2,6}:\w{1,60}/(?P<secret>[^\s/@\"']{4,200})(?=@)", anything),
    # Headers and cookies
    Place("bearer_token", "bearer|basic|ssws", r"\w{4,6},?[ \t]{1,3}(?P<secret>[\w.~+/=-]{20,4000})",
          _has_sign),
    Place("authorization", "response=|signature=|credential=|oauth_", r"\w{5,30}=[\"']?(?P<secret>[^\s\"',;&\\]{20,2000})", random),
    Place("cookie", "_session=|sessid=|sessionid=|.sid=|_sess=|li_at=|wordpress_|samlresponse=|samlrequest=",
          r"[\w.]{3,60}=(?P<secret>[A-Za-z0-9%_.+/=:|-]{20,8000})", random),
    # Commands
    Place("url_password", "curl|wget|http|etcdctl|jenkins-cli|jira",
          rf"[\w-]{{4,11}}{_LINE}(?:-u|--user|--proxy-user|--?auth|-a)[ =]{{0,2}}[\"']?[^\s:\"']{{1,80}}:(?P<secret>[^\s\"'@]{{4,200}})", anything),
    Place("password", "mysql|mariadb", rf"\w{{5,7}}[a-z-]{{0,12}}{_LINE}-p(?![=-]){_VALUE}", anything),
    Place("password", "sshpass|login|upload", rf"\w{{5,7}}{_LINE}-p[ \t]?{_VALUE}", anything),
    Place("password", "redis-cli", rf"redis-cli{_LINE}-a[ \t]{_VALUE}", anything),
    Place("password", "-passin|-passout|-pass", rf"-pass(?:in|out)?[ \t]pass:{_VALUE}", anything),
    Place("password", "echo|printf", r"\w{4,6}\s{1,3}(?:-\w{1,3}\s{1,3})?[\"']?[\w.@-]{1,60}:(?P<secret>[^\s\"'|:]{4,200})[\"']?\s{0,3}\|\s{0,3}(?:sudo\s{1,3})?chpasswd",
          anything),
    Place("password", "echo|printf", r"(?:echo|printf)\s{1,3}(?:-\w{1,3}\s{1,3})?[\"']?(?P<secret>(?:[^\"'\n|$\\]|\\n){4,200}?)(?:\\n)?[\"']?\s{0,3}"
          r"\|\s{0,3}(?:sudo\s{1,3}(?:-[a-zA-Z]{1,3}\s{1,3}){0,3}-S|su\b|passwd|smbpasswd|kinit|cryptsetup|vncpasswd|gcloud secrets"
          r"|[\w./ -]{1,60}(?:--?password-stdin|--stdin|--passphrase-fd 0|login\b|with-token))", anything),
    Place("password", "-command", r"-command[ =]{1,3}[\"']?echo (?P<secret>[^\"'\n]{4,200})", anything),
    Place("password", "htpasswd", r"htpasswd(?=[^\n|]{0,60}\s-\w{0,5}b)(?:\s-\w{1,6}){1,4}(?:\s[\w./-]{1,200})?\s[\w.@-]{1,60}\s[\"']?(?P<secret>[^\s\"'-][^\s\"']{3,200})",
          anything),
    Place("password", "ldap", rf"ldap\w{{3,10}}{_LINE}-w[ ]?{_VALUE}", anything),
    Place("password", "mosquitto_|7z|unzip|zip|sqlcmd|bcp|mongo|psexec|winexe|evil-winrm|netexec|rdesktop|ipmitool|cqlsh|unrar|signtool",
          rf"[\w-]{{2,16}}{_LINE}(?:-[pP]|/p)[ ]?{_VALUE}", drawn),
    Place("password", "smbclient|rpcclient|lftp", rf"\w{{4,10}}{_LINE}-[uU][ ]?[\"'`]?[\w.\\@-]{{1,60}}[%,]{_VALUE}", anything),
    Place("password", "add_user|change_password|adduser|authenticate_user|set_password", rf"\w{{6,20}}\s{{1,3}}[\w.@-]{{1,60}}\s{{1,3}}{_VALUE}", drawn),
    Place("password", "net user|net use", r"net use\b[^\n]{0,120}?/user:\S{1,80}[ \t](?P<secret>[^\s/]{6,100})", strong),
    Place("secret", "<<<", rf"<<<\s?{_VALUE}", drawn),
    Place("secret", "<(echo|<(printf", rf"<\(\w{{4,6}} {_VALUE}", random),
    Place("token", "codecov|snyk|doctl|apify|ngrok", rf"\w{{4,7}}\b[^\n]{{0,60}}?(?: -t[ =]?|api=|auth )(?P<secret>{_UUID}|[\w-]{{24,100}})", random),
    Place("secret", "snmp-server community", r"snmp-server community (?!(?:public|private)\b)(?P<secret>[^\s\"']{4,60})", word),
    Place("password", "requirepass|masterauth", rf"\w{{10,11}}\s{{1,3}}{_VALUE}", word),
    Place("password", "send", r"send\s{1,3}(?:-{1,2}\s)?[\"'](?P<secret>[^\"'\\\n]{4,200})\\?[rn\n]", strong),
    Place("secret", "--from-literal", rf"--from-literal[= ][\"']?[\w.-]{{1,60}}={_VALUE}", drawn),
    Place("secret", "[redacted:aws_key]",  # the other half of a pair
          r"\[redacted:aws_key\](?:[\s\"',:/|)]|secret|access|key|is|and|with|the){1,12}(?P<secret>[A-Za-z0-9+/]{40})(?![A-Za-z0-9+/=])", random),
    # Calls and statements
    Place("secret", "jwt.", rf"jwt\.(?:sign|verify|decode|encode)\([^\n]{{1,200}}?,\s{{0,3}}{_TEXT}", drawn),
    Place("secret", "createhmac|hmac.new|fernet(|aes.new|secretbox", rf"[\w.]{{6,16}}\((?:[^,\n]{{1,30}},\s{{0,3}})?(?:key=)?{_TEXT}", word),
    Place("password", "login(|logon(|signin(|sign_in(|authenticate(|imap_open(|mysqli_connect(|mysql_connect(|pdo(|getconnection(|auth(|"
          "credential(|credentials(|passwordauthentication(|auth.basic(|wifi.begin(|user(",
          rf"[\w.]{{3,24}}\(\s{{0,3}}(?:{_ARGUMENT},\s{{0,3}}){{1,2}}?(?:password=)?(?=[\"'][^\"'\n]*[0-9!@#$%^&*+=?~]){_TEXT}\s{{0,3}}[,)]", strong),
    Place("secret", "client(|search(|credentials(|api(|sdk(|init(",
          rf"\w{{3,12}}\(\s{{0,3}}(?:{_ARGUMENT},\s{{0,3}})?[\"'`](?P<secret>[\w+/=]{{24,200}})[\"'`]\s{{0,3}}[,)]", random),
    Place("password", "convertto-securestring", rf"convertto-securestring(?:\s{{1,3}}-(?:asplaintext|force|string)){{0,3}}\s{{1,3}}{_TEXT}", anything),
    Place("password", "identified by", rf"identified by\s{{1,3}}(?:password\s{{1,3}})?{_TEXT}", anything),
    Place("password", "password '", r"password\s{1,3}'(?P<secret>[^'\n\\]{6,200})'\s{0,3}(?:;|$|login|valid|superuser|createdb|in\b|\")", anything),
    Place("password", "pwd={|password={", r"\w{3,8}=(?P<secret>\{[^}\n]{2,100}\}[^;\n]{0,60})(?=;|$|\")", _braced),
    # Files
    Place("password", "machine", r"machine\s{1,8}\S{1,200}\s{1,8}login\s{1,8}\S{1,200}\s{1,8}password\s{1,8}(?P<secret>[^\s\"'\\]{4,500})", word),
    Place("password", "auth=|auth =", r"auth[ \t]?=[ \t]?\([ \t]?[\"'][^\"'\n]{1,80}[\"'],[ \t]?[\"'](?P<secret>[^\"'\n\\]{4,200})[\"']", anything),
    # Sentences about a login, and lists of codes
    Place("password", "log in|logged in|login|log on|logged on|sign in|signed in|credentials|creds|zugang|acceso|identifiants|user/pass|authenticated|angemeldet|einloggen",
          rf"[\w /-]{{4,14}}?[^\n/:]{{0,24}}?(?:with|as|using|is|are|mit|als|con|como|avec|:)[ \t]{{1,2}}[`\"'*]{{0,2}}[\w.@+-]{{2,60}}[`\"'*]{{0,2}}"
          rf"(?:[ \t]?[/:|,][ \t]?|,? (?:with|using|mit)(?: the)?(?: password)? )[`\"'*]{{0,2}}(?P<secret>[^\s\\`\"',;)*]{{5,100}}?){_END}", in_prose),
    Place("seed_phrase", "phrase|words|seed|mnemonic|recovery|backup|restore",
          rf"[a-z]{{4,8}}\b(?:[^\n]{{0,60}}?[:=\n]|[ _-]?\w{{0,8}}[\"']?(?: is| are)?)[ \t\n]{{0,4}}\(?\[?[\"'`]?{_SEED}", _is_seed),
    Place("totp_seed", "setup key|secret|manual entry|totp|otp|authenticator|2fa|mfa|seed",
          r"[a-z0-9]{3,13}(?: (?:key|entry|seed|secret|code))?[^\n]{0,60}?(?<![A-Za-z0-9+/_-])"
          r"(?P<secret>(?-i:[A-Z2-7]{16,64}|[A-Z2-7]{4}(?:[ -][A-Z2-7]{4}){3,15}))(?![A-Za-z0-9+/_-])", _is_base32),
    Place("recovery_code", "recovery code|backup code|scratch code|wiederherstellungscode",
          r"[\w-]{6,22}(?: code)?s?\b[^\n:]{0,60}:?\s{1,3}(?P<secret>(?:[0-9a-z]{4,10}(?:-[0-9a-z]{4,10}){0,3}[\s,]{1,3}){0,20}"
          r"(?=[a-z-]{0,9}\d)[0-9a-z]{4,10}(?:-[0-9a-z]{4,10}){0,3})\b", _has_digits),
    Place("pin", "pin", r"(?<![\w-])pin(?:[ _-]?(?:code|number|nummer))?(?: is| ist| lautet| est|[ \t]?[:=]|(?-i:(?<=PIN)))[ \t]?(?P<secret>\d{4,8})\b(?![.:]\d| ?[a-z]{0,3}px)",
          word),
    Place("code", "verification code|security code|login code|sms code|2fa code|mfa code|otp code|one-time|auth code|bestätigungscode|cvv|cvc",
          r"[\w-]{3,16}(?: code| password)?(?: is| was| ist|:)?[ \t]{1,2}(?P<secret>\d{3}[ -]?\d{0,5})\b", word),
)  # fmt: skip

# A line of a .pgpass file, host:port:database:user:password
_PGPASS: Final = lazy_compile(
    r":(?:\d{2,5}|\*):[\w*.-]{1,60}:[\w*.-]{1,60}:(?P<secret>[^\s:\\\"']{4,200})(?=[ \t\"']*(?:$|\\|>|#))", re.MULTILINE
)
_HOST: Final = lazy_compile(r"[\w.*-]{1,100}\Z")
_JWK: Final = lazy_compile(r"[\"'](?:dp?|d?q|p|qi|k)[\"'][ \t]{0,3}:[ \t]{0,3}[\"'](?P<secret>[A-Za-z0-9_-]{20,4000})")

_LETTERS: Final = lazy_compile(r"[a-z]{2,}")


@cache
def _anchors() -> list[tuple[bytes, str, Place]]:
    """Return each anchor of the table with its longest run of letters and its place."""
    anchors = [(anchor, place) for place in _PLACES for anchor in place.anchors.split("|")]
    return [(max(_LETTERS.findall(anchor), key=len, default="").encode(), anchor, place) for anchor, place in anchors]


def placed_secrets(text: str, folded: str, words: bytes) -> list[Secret]:
    """Return the secrets that their place tells.

    `folded` is the text in lower case, of the same length, and `words` has each run of letters of it once.
    """
    found = [secret for run, anchor, place in _anchors() if run in words for secret in _at(text, folded, anchor, place)]
    if ":" in text:
        found += [
            (*line.span("secret"), "password")
            for line in _PGPASS.finditer(text)
            if (word if _HOST.match(text, text.rfind("\n", 0, line.start()) + 1, line.start()) else strong)(
                line["secret"]
            )
        ]
    if b"kty" in words:
        found += [(*key.span("secret"), "private_key") for key in _JWK.finditer(text) if random(key["secret"])]
    return found


def _at(text: str, folded: str, anchor: str, place: Place) -> Iterator[Secret]:
    at = folded.find(anchor)
    pattern = compiled(place.pattern, re.IGNORECASE) if at >= 0 else None
    while pattern and at >= 0:
        match = pattern.match(text, at)
        if match and place.fits(match["secret"]):
            yield (*match.span("secret"), place.kind)
        at = folded.find(anchor, at + len(anchor))
