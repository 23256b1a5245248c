"""Secrets by their place in commands, programs, settings and the traces of browsers."""

from typing import Final

from mcp_reflect.redaction.place import Place, anything, chance, drawn, strong, word

_Q: Final = r"\\{0,7}[\"'`]?"
_TEXT: Final = r"(?P<secret>[^\s\\\"'`\\|;]{4,200})"
_QUOTED: Final = r"\\{0,7}[\"'](?P<secret>[^\"'\n\\]{4,200})\\{0,7}[\"']"
_LINE: Final = r"[^\n]{0,200}?[ \t]"

_SHELL: Final = (
    Place("password", ("echo ", "printf "),
          r"(?:echo|printf)\s{1,3}(?:-\w{1,3}\s{1,3})?(?:\\{0,7}\\{0,7}[\"'])?[\w.@-]{1,60}:(?P<secret>[^\s\\\"'|:]{4,200})(?:\\{0,7}\\{0,7}[\"'])?\s{0,3}"
          r"\|\s{0,3}(?:sudo\s{1,3})?chpasswd", anything),
    Place("password", ("echo ", "printf "),
          r"(?:echo|printf)\s{1,3}(?:-\w{1,3}\s{1,3})?(?:\\{0,7}\\{0,7}[\"'])?(?P<secret>[^\"'\n|$\\]{4,200}?)(?:\\{0,7}\\{0,7}[\"'])?\s{0,3}\|\s{0,3}"
          r"(?:sudo\s{1,3}(?:-[a-zA-Z]{1,3}\s{1,3}){0,3}-S|su\b|passwd|[\w./ -]{1,60}(?:--?password-stdin|--stdin"
          r"|--passphrase-fd 0|login\b|with-token))", anything),
    Place("password", ("-command",), r"-command[ =]{1,3}(?:\\{0,7}\\{0,7}[\"'])?echo (?P<secret>[^\"'\n\\]{4,200})", anything),
    Place("password", ("htpasswd",),
          r"htpasswd(?:\s-\w{1,6}){1,4}(?:\s[\w./-]{1,200})?\s[\w.@-]{1,60}\s(?:\\{0,7}\\{0,7}[\"'])?(?P<secret>[^\s\\\"'-][^\s\\\"']{3,200})",
          anything),
    Place("password", ("add_user", "change_password", "adduser", "authenticate_user", "set_password"),
          rf"\w{{5,20}}\s{{1,3}}[\w.@-]{{1,60}}\s{{1,3}}(?:\\{{0,7}}[\"'])?{_TEXT}", drawn),
    Place("password", ("ldap",), rf"ldap\w{{3,10}}{_LINE}-w[ ]?{_Q}{_TEXT}", anything),
    Place("password", ("mosquitto", "7z", "unzip", "zip", "sqlcmd", "bcp", "mongo"),
          rf"(?:mosquitto_\w{{3}}|7z|unzip|zip|sqlcmd|bcp|mongo\w{{0,8}}){_LINE}-[pP][ ]?{_Q}{_TEXT}", drawn),
    Place("password", ("smbclient", "rpcclient", "lftp"), rf"\w{{4,10}}{_LINE}-[uU][ ]?{_Q}[\w.\\@-]{{1,60}}[%,]{_TEXT}",
          anything),
    Place("password", (" /p:",), rf" /p:{_Q}{_TEXT}", drawn),
    Place("secret", ("snmp-server community",), r"snmp-server community (?!(?:public|private)\b)(?P<secret>[^\s\\\"']{4,60})",
          word),
    Place("password", ("enable ", "username "),
          r"(?:enable|username \S{1,40})(?: privilege \d{1,2})? (?:secret|password) (?:\d )?(?P<secret>[^\s\\]{5,200})",
          drawn),
    Place("password", ("requirepass", "masterauth"), rf"(?:requirepass|masterauth)\s{{1,3}}{_Q}{_TEXT}", word),
    Place("password", ("send ",), r"send\s{1,3}(?:-{1,2}\s)?\\{0,7}[\"'](?P<secret>[^\"'\\\n]{4,200})\\{1,4}[rn]", strong),
    Place("password", ("nmcli",), rf"nmcli\b{_LINE}password {_Q}{_TEXT}", anything),
    Place("secret", ("--from-literal",), rf"--from-literal[= ](?:\\{{0,7}}[\"'])?[\w.-]{{1,60}}={_Q}{_TEXT}", drawn),
)  # fmt: skip


def _braced(value: str) -> bool:
    """A value in the braces of a connection string, and no name of a template's field."""
    return not value.strip("{}").replace("_", "").replace(".", "").isalpha()


_DATABASES: Final = (
    Place("password", ("identified by",), rf"identified by\s{{1,3}}(?:password\s{{1,3}})?{_QUOTED}", anything),
    Place("password", ("password '",), r"password\s{1,3}'(?P<secret>[^'\n\\]{6,200})'\s{0,3}(?:;|$|login|valid|superuser"
          r"|createdb|in\b)", anything),
    Place("password", ("pwd={", "password={"),
          r"\w{3,8}=(?P<secret>\{[^}\n]{2,100}\}[^;\n]{0,60})(?=;|$|\")", _braced),
    Place("password", ("password",), r"password\w{0,10}\s{0,3}:\s{0,3}(?:\\{0,7}\\{0,7}[\"'])?\{\{\s{0,3}['\"](?P<secret>[^'\"\n\\]{4,100})['\"]"
          r"\s{0,3}\|\s{0,3}(?:password_hash|hash|b64encode)", anything),
)  # fmt: skip
_TELLS: Final = frozenset("the is a to of your for with and must be not this that it in on from should was are".split())


def _chosen(value: str) -> bool:
    """Words that somebody chose for a passphrase, and no sentence."""
    return _TELLS.isdisjoint(value.split())


_CODE: Final = (
    Place("secret", ("jwt.",), rf"jwt\.(?:sign|verify|decode|encode)\([^\n]{{1,200}}?,\s{{0,3}}b?{_QUOTED}", drawn),
    Place("secret", ("createhmac",), rf"createhmac\([^,\n]{{1,30}},\s{{0,3}}{_QUOTED}", word),
    Place("secret", ("hmac.new",), rf"hmac\.new\(\s{{0,3}}b?{_QUOTED}", word),
    Place("authorization", ("header(", "headers.set(", "header.set(", "header.add(", ".add(", ".append(", "requestheader("),
          r"[\w.]{0,20}\(\s{0,3}\\{0,7}[\"'][\w-]{0,40}(?:key|token|auth\w{0,12}|secret|password|cookie)\\{0,7}[\"'],\s{0,3}"
          r"\\{0,7}[\"'](?:bearer |basic |token )?(?P<secret>[^\"'\n ]{8,4000})\\{0,7}[\"']", drawn),
    Place("secret", ("secret:", "secret ="), r"secret\s?[:=]\s{0,3}\\{0,7}[\"'](?P<secret>[a-z]{3,12}(?: [a-z]{3,12}){2,7})\\{0,7}[\"']",
          _chosen),
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
    Place("cookie", ('"value"', "'value'", "value:"),
          r"(?:\\{0,7}\\{0,7}[\"'])?value(?:\\{0,7}\\{0,7}[\"'])?\s{0,3}:\s{0,3}\\{0,7}[\"'](?P<secret>[A-Za-z0-9%_.+/=:-]{32,4000})\\{0,7}[\"']", chance, ("cookie",)),
    Place("cookie", ("_session=", "sessid=", "sessionid=", ".sid=", "_sess=", "li_at="),
          r"[\w.]{3,12}=(?P<secret>[A-Za-z0-9%_.+/=:-]{20,4000})", chance),
    Place("cookie", ("true\t", "false\t"),
          r"(?:true|false)\t/\S{0,60}\t(?:true|false)\t\d{1,12}\t[\w.-]{1,60}\t(?P<secret>[^\s\\\"']{16,4000})", chance),
)  # fmt: skip
_KEYS: Final = (
    Place("secret", ("unseal key", "recovery key", "master key", "root key"),
          r"\w{4,8} key(?: \d{1,2})?\s{0,3}[:=]\s{0,3}(?P<secret>[A-Za-z0-9+/=_-]{20,200})", chance),
    Place("url_token", ("code=", "key=", "sig=", "jwt=", "auth=", "ticket="),
          r"(?<=[?&])\w{3,6}=(?P<secret>[A-Za-z0-9_%.~+/=-]{20,4000})", chance),
)  # fmt: skip

PROGRAMS: Final = (*_SHELL, *_DATABASES, *_CODE, *_BROWSERS, *_KEYS)
