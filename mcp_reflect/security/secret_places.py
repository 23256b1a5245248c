"""Secrets by their place: URLs, headers, commands, calls, SQL, password files."""

import re
from collections.abc import Iterator
from typing import Final

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security.secret_sentences import NOUNS, PROSE, told
from mcp_reflect.security.secret_values import (
    Holds,
    Place,
    Secret,
    anything,
    by_word,
    chance,
    credential,
    drawn,
    holds,
    spans_at,
    strange,
    strong,
    token,
    word,
)

# Secrets by their place in commands, programs, settings and the traces of browsers.


_Q_COMMANDS: Final = r"\\{0,7}[\"'`]?"
_TEXT: Final = r"(?P<secret>[^\s\\\"'`\\|;]{4,4000})"
_QUOTED: Final = r"\\{0,7}[\"'](?P<secret>[^\"'\n\\]{4,200})\\{0,7}[\"']"
_LINE: Final = r"[^\n]{0,200}?[ \t]"
_UUID: Final = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"

_SHELL: Final = (
    Place("password", ("echo ", "printf "),
          r"(?:echo|printf)\s{1,3}(?:-\w{1,3}\s{1,3})?(?:\\{0,7}\\{0,7}[\"'])?[\w.@-]{1,60}:(?P<secret>[^\s\\\"'|:]{4,200})(?:\\{0,7}\\{0,7}[\"'])?\s{0,3}"
          r"\|\s{0,3}(?:sudo\s{1,3})?chpasswd", anything),
    Place("password", ("echo ", "printf "),
          r"(?:echo|printf)\s{1,3}(?:-\w{1,3}\s{1,3})?(?:\\{0,7}\\{0,7}[\"'])?(?P<secret>(?:[^\"'\n|$\\]|\\n){4,200}?)(?:\\{0,7}\\{0,7}[\"'])?\s{0,3}\|\s{0,3}"
          r"(?:sudo\s{1,3}(?:-[a-zA-Z]{1,3}\s{1,3}){0,3}-S|su\b|passwd|smbpasswd|kinit|cryptsetup|vncpasswd|gcloud secrets|[\w./ -]{1,60}(?:--?password-stdin|--stdin"
          r"|--passphrase-fd 0|login\b|with-token))", anything),
    Place("password", ("-command",), r"-command[ =]{1,3}(?:\\{0,7}\\{0,7}[\"'])?echo (?P<secret>[^\"'\n\\]{4,200})", anything),
    Place("password", ("htpasswd",),
          r"htpasswd(?=[^\n|]{0,60}\s-\w{0,5}b)(?:\s-\w{1,6}){1,4}(?:\s[\w./-]{1,200})?\s[\w.@-]{1,60}\s(?:\\{0,7}\\{0,7}[\"'])?(?P<secret>[^\s\\\"'-][^\s\\\"']{3,200})",
          anything),
    Place("password", ("add_user", "change_password", "adduser", "authenticate_user", "set_password"),
          rf"(?:add_?user|\w{{3,12}}_(?:password|user))\s{{1,3}}[\w.@-]{{1,60}}\s{{1,3}}(?:\\{{0,7}}[\"'])?{_TEXT}", drawn),
    Place("password", ("ldap",), rf"ldap\w{{3,10}}{_LINE}-w[ ]?{_Q_COMMANDS}{_TEXT}", anything),
    Place("password", ("mosquitto", "7z", "unzip", "zip", "sqlcmd", "bcp", "mongo", "psexec", "winexe", "evil-winrm", "crackmapexec",
                       "netexec", "rdesktop", "ipmitool", "cqlsh", "unrar"),
          rf"(?:mosquitto_\w{{3}}|7z|unzip|zip|sqlcmd|bcp|mongo\w{{0,8}}|psexec|winexe|evil-winrm|crackmapexec"
          rf"|netexec|rdesktop|ipmitool|cqlsh|unrar){_LINE}-[pP][ ]?{_Q_COMMANDS}{_TEXT}", drawn),
    Place("password", ("smbclient", "rpcclient", "lftp"), rf"\w{{4,10}}{_LINE}-[uU][ ]?{_Q_COMMANDS}[\w.\\@-]{{1,60}}[%,]{_TEXT}",
          anything),
    Place("password", (" /p:", " /rp "), rf" /r?p[: ]{_Q_COMMANDS}{_TEXT}", drawn),
    Place("password", ("net user",), r"net user\s{1,3}\S{1,60}\s{1,3}(?P<secret>[^\s/*]{6,60})", strong),
    Place("password", ("sqlplus", "sqlldr", "expdp", "impdp", "rman "),
          r"\w{4,7}\s{1,3}[^\n]{0,80}?\w{1,40}/(?P<secret>[^\s/@\"'\\]{4,100})@", anything),
    Place("password", ("openssl passwd", "mkpasswd"),
          rf"(?:openssl passwd|mkpasswd)(?:\s{{1,3}}-\S{{1,20}}){{0,4}}\s{{1,3}}{_Q_COMMANDS}{_TEXT}", strong),
    Place("password", ("auth ",), r"(?<![\w-])(?-i:AUTH) (?:\w{2,20} )?(?P<secret>[^\s\\\"']{6,200})(?=\s{0,3}(?:\n|$|\\))",
          strong),
    Place("secret", ("secret set", "secret put"),
          rf"secret (?:set|put) [^\n]{{1,80}}?(?:--body[= ]|-b ?|<<< ?){_Q_COMMANDS}{_TEXT}", drawn),
    Place("secret", ("<<<",), rf"<<<\s?{_Q_COMMANDS}{_TEXT}", drawn,
          ("password", "passwd", "token", "secret", "login", "auth", "key", "configure")),
    Place("secret", ("<(echo ", "<(printf "), rf"<\(\w{{4,6}} {_Q_COMMANDS}(?P<secret>[^\s\\\"'`)|;]{{12,4000}})", chance),
    Place("secret", ("::add-mask::",), r"::add-mask::(?P<secret>[^\s\\\"'`]{6,4000})", word),
    Place("token", ("codecov", "snyk ", "doctl", "apify", "ngrok"),
          rf"\w{{4,7}}\b[^\n]{{0,60}}?(?: -t[ =]?|api=|auth ){_Q_COMMANDS}(?P<secret>{_UUID}|[A-Za-z0-9_-]{{24,100}})", chance),
    Place("secret", ("operator unseal ",), r"operator unseal (?P<secret>[A-Za-z0-9+/=]{40,64})", chance),
    Place("private_key", ("genkey",), r"genkey[\s\S]{0,60}?(?<![A-Za-z0-9+/])(?P<secret>[A-Za-z0-9+/]{43}=)", chance),
    Place("password", ("zip ",), rf"zip (?:[^\n]{{0,100}}? )?(?-i:-P) ?{_Q_COMMANDS}{_TEXT}", word),
    Place("password", ("signtool",), rf"signtool{_LINE}/p {_Q_COMMANDS}{_TEXT}", drawn),
    Place("password", ("net use",), r"net use\b[^\n]{0,100}?\\\S{1,100}\s(?P<secret>[^\s/*]{6,100})\s/user:", strong),
    Place("secret", ("put-parameter", "secret-string", "keyvault secret set"),
          rf"[a-z -]{{13,19}}(?:[^\n]{{0,200}}?--value)?[= ]{_Q_COMMANDS}{_TEXT}", drawn),
    Place("password", ("wpa_passphrase ",), rf"wpa_passphrase \S{{1,64}} {_Q_COMMANDS}{_TEXT}", word),
    Place("secret", ("snmp",), rf"snmp\w{{2,8}}{_LINE}-[cA] ?{_Q_COMMANDS}{_TEXT}", drawn),
    Place("secret", ("snmp",), rf"snmp\w{{2,8}}{_LINE}-X ?{_Q_COMMANDS}{_TEXT}", drawn),
    Place("secret", ("http-basic.",), rf"http-basic\.\S{{1,80}} \S{{1,80}} {_Q_COMMANDS}{_TEXT}", anything),
    Place("secret", ("bundle config",), rf"bundle config (?:set )?(?:--\w{{1,10}} )?\S{{1,80}} {_Q_COMMANDS}[^\s:]{{1,60}}:{_TEXT}", drawn),
    Place("password", ("rclone obscure ", "isql "), rf"(?:rclone obscure|isql \S{{1,40}} \S{{1,40}}) {_Q_COMMANDS}{_TEXT}", strong),
    Place("secret", ("[redacted:aws_key]",),  # the other half of a pair
          r"\[redacted:aws_key\](?:[\s\"',:/|)]|secret|access|key|is|and|with|the){1,12}(?P<secret>[A-Za-z0-9+/]{40})"
          r"(?![A-Za-z0-9+/=])", chance),
    Place("secret", ("snmp-server community",), r"snmp-server community (?!(?:public|private)\b)(?P<secret>[^\s\\\"']{4,60})",
          word),
    Place("password", ("enable ", "username "),
          r"(?:enable|username \S{1,40})(?: privilege \d{1,2})? (?:secret|password) (?:\d )?(?P<secret>[^\s\\]{5,200})",
          drawn),
    Place("password", ("requirepass", "masterauth"), rf"(?:requirepass|masterauth)\s{{1,3}}{_Q_COMMANDS}{_TEXT}", word),
    Place("password", ("send ",), r"send\s{1,3}(?:-{1,2}\s)?\\{0,7}[\"'](?P<secret>[^\"'\\\n]{4,200})\\{1,4}[rn]", strong),
    Place("password", ("nmcli",), rf"nmcli\b{_LINE}password {_Q_COMMANDS}{_TEXT}", anything),
    Place("secret", ("--from-literal",), rf"--from-literal[= ](?:\\{{0,7}}[\"'])?[\w.-]{{1,60}}={_Q_COMMANDS}{_TEXT}", drawn),
)  # fmt: skip
_BROWSERS: Final = (
    Place("password", ("password", "passwd"),
          r"passw(?:or)?d[^\n\"']{0,20}[\"'\])]{1,4}\s?\.?\)?\.?(?:type|fill|sendkeys|send_keys|setvalue|set|typetext"
          rf"|entertext|presssequentially)\s?\(\s?{_QUOTED}", anything),
    Place("password", ("password", "passwd"), r"passw(?:or)?d[\w\]-]{0,12}\\{0,7}[\"']\]?(?:\\{0,7}\\{0,7}[\"'])?,\s?\\{0,7}[\"'](?P<secret>[^\"'\n\\]{4,200})"
          r"\\{0,7}[\"']\s?\)", drawn),
    Place("password", ("password", "passwd"),
          r"passw(?:or)?d[^\n{}]{0,30}?\\{0,7}[\"']?,\s{0,3}\\{0,7}[\"'](?:value|text|input|keys)\\{0,7}[\"']\s{0,3}:\s{0,3}"
          r"\\{0,7}[\"'](?P<secret>[^\"'\n\\]{4,200})", anything),
    Place("password", ('"pw"', "'pw'", '"pwd"', "'pwd'", '"pass"', "'pass'", "#pw", "#pass"),
          rf"[#\"']\w{{2,4}}[\"'\])]{{1,4}}\s?\.?\)?\.?(?:type|fill|send_?keys|setvalue)\s?\(\s?{_QUOTED}", anything),
    Place("password", (".fill(", ".type(", "send_keys(", "setvalue("),
          r"\.?[a-z_]{4,9}\(\s?[\"'][^\"'\n]{0,80}passw[^\"'\n]{0,40}[\"'],\s?[\"'](?P<secret>[^\"'\n\\]{4,200})[\"']", anything),
    Place("password", ('type="password"', "type='password'"),
          r"type=\W?password\W[^>\n]{0,200}?value=[\"'](?P<secret>[^\"'\n\\]{4,200})[\"']", anything),
    Place("cookie", ('"value"', "'value'", "value:"),
          r"(?:\\{0,7}\\{0,7}[\"'])?value(?:\\{0,7}\\{0,7}[\"'])?\s{0,3}:\s{0,3}\\{0,7}[\"'](?P<secret>[A-Za-z0-9%_.+/=:-]{32,4000})\\{0,7}[\"']", chance, ("cookie",)),
    Place("cookie", ("_session=", "sessid=", "sessionid=", ".sid=", "_sess=", "li_at="),
          r"[\w.]{3,12}=(?P<secret>[A-Za-z0-9%_.+/=:-]{20,4000})", chance),
    Place("cookie", ("wordpress_logged_in_", "wordpress_sec_", "samlresponse=", "samlrequest="),
          r"(?:wordpress_\w{3,9}_[0-9a-f]{32}|\w{10,14})=(?P<secret>[A-Za-z0-9%_.+/=|-]{40,8000})", chance),
    Place("cookie", ("true\t", "false\t"),
          r"(?:true|false)\t/\S{0,60}\t(?:true|false)\t\d{1,12}\t[\w.-]{1,60}\t(?P<secret>[^\s\\\"']{16,4000})", chance),
)  # fmt: skip
_KEYS: Final = (
    Place("secret", ("unseal key", "recovery key", "master key", "root key"),
          r"\w{4,8} key(?: \d{1,2})?\s{0,3}[:=]\s{0,3}(?P<secret>[A-Za-z0-9+/=_-]{20,200})", chance),
    Place("url_token", ("code=", "key=", "sig=", "jwt=", "auth=", "ticket="),
          r"(?<=[?&])\w{3,6}=(?P<secret>[A-Za-z0-9_%.~+/=-]{20,4000})", chance),
)  # fmt: skip

PROGRAMS: Final = (*_SHELL, *_BROWSERS, *_KEYS)


# Secrets by their place in programs: as an argument of a call, as a value of a statement of SQL.


_Q_CALLS: Final = r"\\{0,7}[\"'`]"
_SHORT: Final = rf"{_Q_CALLS}(?P<secret>[^\"'\n\\]{{4,200}}){_Q_CALLS}"
_ARGUMENT: Final = r"(?:[^,()\"'\n]{1,80}|\\{0,7}\"[^\"\n]{0,200}\"|\\{0,7}'[^'\n]{0,200}')"


def _braced(value: str) -> bool:
    """A value in the braces of a connection string, and no name of a template's field."""
    return not value.strip("{}").replace("_", "").replace(".", "").isalpha()


_TELLS: Final = frozenset("the is a to of your for with and must be not this that it in on from should was are".split())


def _chosen(value: str) -> bool:
    """Words that somebody chose for a passphrase, and no sentence."""
    return _TELLS.isdisjoint(value.split())


_CALLS: Final = (
    Place("secret", ("jwt.",), rf"jwt\.(?:sign|verify|decode|encode)\([^\n]{{1,200}}?,\s{{0,3}}b?{_SHORT}", drawn),
    Place("secret", ("createhmac",), rf"createhmac\([^,\n]{{1,30}},\s{{0,3}}{_SHORT}", word),
    Place("secret", ("hmac.new",), rf"hmac\.new\(\s{{0,3}}b?{_SHORT}", word),
    Place("authorization", ("header(", "headers.set(", "header.set(", "header.add(", ".add(", ".append("),
          r"[\w.]{0,20}\(\s{0,3}\\{0,7}[\"'][\w-]{0,40}(?:key|token|auth\w{0,12}|secret|password|cookie)\\{0,7}[\"'],\s{0,3}"
          r"\\{0,7}[\"'](?:bearer |basic |token )?(?P<secret>[^\"'\n ]{8,4000})\\{0,7}[\"']", drawn),
    Place("secret", ("secret:", "secret ="),
          r"secret\s?[:=]\s{0,3}\\{0,7}[\"'](?P<secret>[a-z]{3,12}(?: [a-z]{3,12}){2,7})\\{0,7}[\"']", _chosen),
    # A name and a password, or more before it, as arguments
    Place("password", ("login(", "logon(", "signin(", "sign_in(", "authenticate(", "imap_open(", "mysqli_connect(",
                       "mysql_connect(", "pdo(", "getconnection(", "basicauth(", "digestauth(", "basic_auth(",
                       "credential(", "credentials(", "passwordauthentication(", "auth(", "auth.basic(", "wifi.begin(",
                       "createuser(", "create_user(", "create_superuser("),
          rf"[\w.]{{3,24}}\(\s{{0,3}}(?:{_ARGUMENT},\s{{0,3}}){{1,2}}(?:password=)?{_SHORT}\s{{0,3}}[,)]", strong),
    Place("secret", ("client(", "search(", "credentials(", "api(", "sdk(", "init("),
          rf"\w{{3,12}}\(\s{{0,3}}(?:{_ARGUMENT},\s{{0,3}})?{_Q_CALLS}(?P<secret>[A-Za-z0-9+/=_]{{24,200}}){_Q_CALLS}\s{{0,3}}[,)]",
          chance),
    Place("secret", ("fernet(", "aes.new(", "secretbox(", "chacha20poly1305("),
          rf"[\w.]{{6,18}}\(\s{{0,3}}(?:key=)?b?{_Q_CALLS}(?P<secret>[A-Za-z0-9+/=_-]{{16,200}}){_Q_CALLS}", chance),
    Place("password", ("convertto-securestring",),
          rf"convertto-securestring(?:\s{{1,3}}-(?:asplaintext|force|string)){{0,3}}\s{{1,3}}{_SHORT}", anything),
)  # fmt: skip
_DATABASES: Final = (
    Place("password", ("identified by",), rf"identified by\s{{1,3}}(?:password\s{{1,3}})?{_SHORT}", anything),
    Place("password", ("identified by ",), r"identified by\s{1,3}(?P<secret>[^\s;'\"\\]{5,100})", strong),
    Place("password", ("password '",), r"password\s{1,3}'(?P<secret>[^'\n\\]{6,200})'\s{0,3}(?:;|$|login|valid"
          r"|superuser|createdb|in\b|\")", anything),
    Place("password", ("password(",), r"password\(\s?'(?P<secret>[^'\n\\]{4,200})'\s?\)", anything),
    Place("password", ("setpassword(", "withpassword(", "with_password(", ".password("),
          rf"[\w.]{{0,8}}password\(\s?{_SHORT}\s?\)", word),
    Place("password", ("pwd={", "password={"),
          r"\w{3,8}=(?P<secret>\{[^}\n]{2,100}\}[^;\n]{0,60})(?=;|$|\")", _braced),
    Place("password", ("password",),
          r"password\w{0,10}\s{0,3}:\s{0,3}(?:\\{0,7}[\"'])?\{\{\s{0,3}['\"](?P<secret>[^'\"\n\\]{4,100})['\"]"
          r"\s{0,3}\|\s{0,3}(?:password_hash|hash|b64encode)", anything),
)  # fmt: skip

CALLS: Final = (*_CALLS, *_DATABASES)

_INSERT: Final = lazy_compile(
    r"into\s{1,3}[^\s(]{1,100}\s{0,3}\((?P<names>[^()]{1,600})\)\s{0,3}values\s{0,3}\((?P<values>[^()]{1,2000})\)",
    re.IGNORECASE,
)
_ITEM: Final = lazy_compile(r"\s{0,3}(?:N?'(?P<text>(?:[^']|''){0,500})'|[^,']{1,200})\s{0,3}(?:,|$)")


def inserted(text: str) -> Iterator[tuple[int, int, str]]:
    """Where a statement inserts a value into a column of a secret's name: start, end, kind."""
    for found in _INSERT.finditer(text):
        names = [name.strip(' `"[]') for name in found["names"].split(",")]
        at = found.start("values")
        for name in names:
            item = _ITEM.match(text, at, found.end("values"))
            if item is None:
                break
            at = item.end()
            value = item["text"]
            if value and len(value) >= 4 and _fits(name, value):
                yield (*item.span("text"), "password")


def _fits(name: str, value: str) -> bool:
    match holds(name):
        case Holds.PASSWORD:
            return word(value)
        case Holds.KEY:
            return chance(value)
        case _:
            return False


# Secrets by their place: in addresses, headers, commands and files of passwords.


_Q_PLACES: Final = r"\\{0,7}[\"']?"
_VALUE: Final = r"(?P<secret>[^\s\"'\\]{4,5000})"

_HEADER: Final = rf"authorization{_Q_PLACES}[ \t]{{0,3}}[:=][ \t]{{0,3}}f?{_Q_PLACES}"

ADDRESSES: Final = (
    Place("url_password", ("://",), r"://[^\s:/@\"'<>]{0,200}:(?P<secret>[^\s/@\"'<>]{1,200})(?=@)", word),
    Place("url_token", ("://",), r"://(?P<secret>[A-Za-z0-9_-]{20,300})(?=@|:[^\s/@]{0,60}@)", chance),
    Place("url_password", ("://",), r"://[^\s:/@\"'<>]{0,60}:(?P<secret>[A-Za-z0-9+/]{20,200}={0,2})(?=@)", chance),
    Place("url_token", ("ss://", "vmess://", "trojan://"), r"\w{2,6}://(?P<secret>[A-Za-z0-9+/=_-]{16,4000})", chance),
    Place(
        "url_token",
        (
            "/verify/",
            "/reset/",
            "/reset-password/",
            "/password-reset/",
            "/invite/",
            "/magic/",
            "/confirm/",
            "/activate/",
        ),
        r"/[a-z-]{5,15}/(?P<secret>[A-Za-z0-9_.-]{20,300})",
        chance,
    ),
    Place(
        "url_password",
        ("jdbc:oracle:",),
        r"jdbc:oracle:\w{2,6}:\w{1,60}/(?P<secret>[^\s/@\"']{4,200})(?=@)",
        anything,
    ),
)
HEADERS: Final = (
    Place(
        "authorization",
        ("response=", "signature=", "credential=", "oauth_"),
        r"\w{5,30}=\\{0,31}[\"']?(?P<secret>[^\s\"',;&\\]{8,2000})",
        strong,
        ("authorization",),
    ),
    Place(
        "authorization",
        ("authorization",),
        rf"{_HEADER}(?:[a-z][a-z0-9-]{{2,20}}[ \t]+)?(?P<secret>[A-Za-z0-9._~+/=:-]{{8,4000}})(?![(A-Za-z0-9._~+/=:-])",
        credential,
    ),
    Place(  # a header as a pair in a list
        "authorization",
        (
            'authorization"',
            "authorization'",
            '-key"',
            "-key'",
            'token"',
            "token'",
            'secret"',
            "secret'",
            'cookie"',
            '-auth"',
        ),
        r"[\w-]{3,20}\\{0,7}[\"'],\s{0,3}\\{0,7}[\"'](?:(?:bearer|basic|token|digest) )?(?P<secret>[^\"'\\\n]{8,4000})\\{0,7}[\"']\s{0,3}[\])]",
        drawn,
    ),
    Place(
        "bearer_token",
        ("bearer ", "basic ", "bearer, ", "ssws "),
        r"(?:bearer,?|basic|ssws)[ \t]{1,3}(?P<secret>[A-Za-z0-9._~+/=-]{20,4000})",
        token,
    ),
)
COMMANDS: Final = (
    Place(
        "url_password",
        ("curl", "wget", "http", "etcdctl", "jenkins-cli", "jira"),
        rf"[\w-]{{4,11}}{_LINE}(?:-u|--user|--proxy-user|--auth|-auth|-a)[ =]{{0,2}}[\"']?[^\s:\"']{{1,80}}:"
        r"(?P<secret>[^\s\"'@]{4,200})",
        anything,
    ),
    Place(
        "token",
        ("curl", "wget", "http"),
        rf"\w{{4,6}}{_LINE}(?:-u|--user)[ =]{{0,2}}[\"']?(?P<secret>[A-Za-z0-9_-]{{16,300}}):(?:x|api_token)?"
        r"(?=[\s\"'])",
        chance,
    ),
    Place(
        "password",
        ("mysql", "mariadb"),
        rf"\w{{5,7}}[a-z-]{{0,12}}{_LINE}-p[\"']?(?P<secret>[^\s\"'=-][^\s\"']{{3,200}})",
        anything,
    ),
    Place(
        "password",
        ("sshpass", "login", "upload"),
        rf"(?:sshpass|login|upload){_LINE}-p[ \t]?{_Q_PLACES}{_VALUE}",
        anything,
    ),
    Place("password", ("redis-cli",), rf"redis-cli{_LINE}-a[ \t]{_Q_PLACES}{_VALUE}", anything),
    Place("password", ("-pass",), rf"-pass(?:in|out)?[ \t]pass:{_VALUE}", anything),
    Place("password", ("net use",), r"net use\b[^\n]{0,120}?/user:\S{1,80}[ \t](?P<secret>[^\s/]{6,100})", strong),
)
FILES: Final = (
    Place(
        "password",
        ("machine",),
        r"machine\s{1,8}\S{1,200}\s{1,8}login\s{1,8}\S{1,200}\s{1,8}password\s{1,8}(?P<secret>[^\s\"'\\]{4,500})",
        word,
    ),
    Place("password", ("login ", "login="), r"login[ \t=](?P<secret>[A-Za-z0-9_-]{24,200})\b", chance),
    Place(
        "password",
        ("auth=", "auth ="),
        r"auth[ \t]?=[ \t]?\([ \t]?\\{0,7}[\"'][^\"'\n]{1,80}[\"'],"
        r"[ \t]?\\{0,7}[\"'](?P<secret>[^\"'\n\\]{4,200})\\{0,7}[\"']",
        anything,
    ),
)

# A line of a .pgpass file: host:port:database:user:password; amid other words only a strong password is one.
_PGPASS: Final = lazy_compile(
    r":(?:\d{2,5}|\*):[\w*.-]{1,60}:[\w*.-]{1,60}:(?P<secret>[^\s:\\\"']{4,200})(?=[ \t\"']*(?:$|\\|>|#))", re.MULTILINE
)
# A name and its password before a host, without a scheme: `user:password@tcp(…)`, `user/password@//host`
_BEFORE_HOST: Final = lazy_compile(
    r"(?<![\w/:.@-])[\w.-]{1,40}(?::(?P<secret>[^\s:/@\"'<>]{4,100})@(?:tcp|unix)\(|/(?P<slashed>[^\s/@\"'<>]{4,100})@//"
    r"|:(?P<other>[^\s:/@\"'<>]{8,100})@(?=[\w.-]{4,100}(?:[:/\s\"']|$)))"
)
_WORD_BEFORE: Final = lazy_compile(r"[^\s:/@]{1,60}[:/][^\s]{4,100}\Z")
_LOOK_BACK: Final = 142  # characters of a name and its password
_JWK: Final = lazy_compile(
    r"[\"'](?:dp?|d?q|p|qi|k)\\{0,7}[\"'][ \t]{0,3}:[ \t]{0,3}\\{0,7}[\"'](?P<secret>[A-Za-z0-9_-]{20,4000})"
)  # the private members of a JSON web key
_HOST: Final = lazy_compile(r"(?:|.*\\n)[\w.*-]{1,100}$")
_COOKIES: Final = lazy_compile(
    r"cookie\\{0,7}[\"']?[ \t]{0,3}[:=][ \t]{0,3}\\{0,7}[\"']?(?P<line>[^\r\n\"']{8,4000})", re.IGNORECASE
)
_PAIR: Final = lazy_compile(r"(?P<name>[\w.-]{1,80})=(?P<secret>[^;\s\\]{16,4000})")


_PLACES: Final = by_word((*ADDRESSES, *HEADERS, *COMMANDS, *FILES, *PROGRAMS, *CALLS, *PROSE))
WORDS: Final = (*_PLACES, *NOUNS, "cookie", '"kty', "'kty", "into ")
"""Without one of these in it, no place of a text is one of a secret, but for a line of a .pgpass file."""


def placed_secrets(text: str, folded: str, words: list[str]) -> list[Secret]:
    """Return the secrets that their place tells; the arguments are those of `assigned_secrets`."""
    found = [span for word in words if word in _PLACES for span in spans_at(text, folded, word, _PLACES[word])]
    found += told(text, folded, [word for word in words if word in NOUNS])
    if ":" in text:
        found += [(*one.span("secret"), "password") for one in _PGPASS.finditer(text) if _is_of_pgpass(text, one)]
    if "@" in text:
        found += _before_hosts(text)
    if "into " in words and "values" in folded:
        found += inserted(text)
    if '"kty' in words or "'kty" in words:
        found += [(*one.span("secret"), "private_key") for one in _JWK.finditer(text) if chance(one["secret"])]
    if "cookie" in words:
        found += _cookies(text)
    return found


def _before_hosts(text: str) -> list[tuple[int, int, str]]:
    """Where a password stands before a host, with the name before it: start, end, kind."""
    spans: list[tuple[int, int, str]] = []
    at = text.find("@")
    while at >= 0:
        word_before = _WORD_BEFORE.search(text, max(at - _LOOK_BACK, 0), at)
        if word_before and (one := _BEFORE_HOST.search(text, word_before.start(), at + 102)):
            group = next(name for name in ("secret", "slashed", "other") if one[name] is not None)
            if (strange if group == "other" else word)(one[group]):
                spans.append((*one.span(group), "url_password"))
        at = text.find("@", at + 1)
    return spans


def _is_of_pgpass(text: str, one: re.Match[str]) -> bool:
    alone = _HOST.match(text[text.rfind("\n", 0, one.start()) + 1 : one.start()])
    return (word if alone else strong)(one["secret"])


def _cookies(text: str) -> list[Secret]:
    """Return the values of cookies that look drawn by chance."""
    return [
        (*pair.span("secret"), "cookie")
        for line in _COOKIES.finditer(text)
        for pair in _PAIR.finditer(text, *line.span("line"))
        if chance(pair["secret"])
    ]
