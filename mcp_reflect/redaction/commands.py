"""Secrets by their place in commands, programs, settings and the traces of browsers."""

from typing import Final

from mcp_reflect.redaction.place import Place, anything, chance, drawn, strong, word

_Q: Final = r"\\{0,7}[\"'`]?"
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
    Place("password", ("ldap",), rf"ldap\w{{3,10}}{_LINE}-w[ ]?{_Q}{_TEXT}", anything),
    Place("password", ("mosquitto", "7z", "unzip", "zip", "sqlcmd", "bcp", "mongo", "psexec", "winexe", "evil-winrm", "crackmapexec",
                       "netexec", "rdesktop", "ipmitool", "cqlsh", "unrar"),
          rf"(?:mosquitto_\w{{3}}|7z|unzip|zip|sqlcmd|bcp|mongo\w{{0,8}}|psexec|winexe|evil-winrm|crackmapexec"
          rf"|netexec|rdesktop|ipmitool|cqlsh|unrar){_LINE}-[pP][ ]?{_Q}{_TEXT}", drawn),
    Place("password", ("smbclient", "rpcclient", "lftp"), rf"\w{{4,10}}{_LINE}-[uU][ ]?{_Q}[\w.\\@-]{{1,60}}[%,]{_TEXT}",
          anything),
    Place("password", (" /p:", " /rp "), rf" /r?p[: ]{_Q}{_TEXT}", drawn),
    Place("password", ("net user",), r"net user\s{1,3}\S{1,60}\s{1,3}(?P<secret>[^\s/*]{6,60})", strong),
    Place("password", ("sqlplus", "sqlldr", "expdp", "impdp", "rman "),
          r"\w{4,7}\s{1,3}[^\n]{0,80}?\w{1,40}/(?P<secret>[^\s/@\"'\\]{4,100})@", anything),
    Place("password", ("openssl passwd", "mkpasswd"),
          rf"(?:openssl passwd|mkpasswd)(?:\s{{1,3}}-\S{{1,20}}){{0,4}}\s{{1,3}}{_Q}{_TEXT}", strong),
    Place("password", ("auth ",), r"(?<![\w-])(?-i:AUTH) (?:\w{2,20} )?(?P<secret>[^\s\\\"']{6,200})(?=\s{0,3}(?:\n|$|\\))",
          strong),
    Place("secret", ("secret set", "secret put"),
          rf"secret (?:set|put) [^\n]{{1,80}}?(?:--body[= ]|-b ?|<<< ?){_Q}{_TEXT}", drawn),
    Place("secret", ("<<<",), rf"<<<\s?{_Q}{_TEXT}", drawn,
          ("password", "passwd", "token", "secret", "login", "auth", "key", "configure")),
    Place("secret", ("<(echo ", "<(printf "), rf"<\(\w{{4,6}} {_Q}(?P<secret>[^\s\\\"'`)|;]{{12,4000}})", chance),
    Place("secret", ("::add-mask::",), r"::add-mask::(?P<secret>[^\s\\\"'`]{6,4000})", word),
    Place("token", ("codecov", "snyk ", "doctl", "apify", "ngrok"),
          rf"\w{{4,7}}\b[^\n]{{0,60}}?(?: -t[ =]?|api=|auth ){_Q}(?P<secret>{_UUID}|[A-Za-z0-9_-]{{24,100}})", chance),
    Place("secret", ("operator unseal ",), r"operator unseal (?P<secret>[A-Za-z0-9+/=]{40,64})", chance),
    Place("private_key", ("genkey",), r"genkey[\s\S]{0,60}?(?<![A-Za-z0-9+/])(?P<secret>[A-Za-z0-9+/]{43}=)", chance),
    Place("password", ("zip ",), rf"zip (?:[^\n]{{0,100}}? )?(?-i:-P) ?{_Q}{_TEXT}", word),
    Place("password", ("signtool",), rf"signtool{_LINE}/p {_Q}{_TEXT}", drawn),
    Place("password", ("net use",), r"net use\b[^\n]{0,100}?\\\S{1,100}\s(?P<secret>[^\s/*]{6,100})\s/user:", strong),
    Place("secret", ("put-parameter", "secret-string", "keyvault secret set"),
          rf"[a-z -]{{13,19}}(?:[^\n]{{0,200}}?--value)?[= ]{_Q}{_TEXT}", drawn),
    Place("password", ("wpa_passphrase ",), rf"wpa_passphrase \S{{1,64}} {_Q}{_TEXT}", word),
    Place("secret", ("snmp",), rf"snmp\w{{2,8}}{_LINE}-[cA] ?{_Q}{_TEXT}", drawn),
    Place("secret", ("snmp",), rf"snmp\w{{2,8}}{_LINE}-X ?{_Q}{_TEXT}", drawn),
    Place("secret", ("http-basic.",), rf"http-basic\.\S{{1,80}} \S{{1,80}} {_Q}{_TEXT}", anything),
    Place("secret", ("bundle config",), rf"bundle config (?:set )?(?:--\w{{1,10}} )?\S{{1,80}} {_Q}[^\s:]{{1,60}}:{_TEXT}", drawn),
    Place("password", ("rclone obscure ", "isql "), rf"(?:rclone obscure|isql \S{{1,40}} \S{{1,40}}) {_Q}{_TEXT}", strong),
    Place("secret", ("[redacted:aws_key]",),  # the other half of a pair
          r"\[redacted:aws_key\](?:[\s\"',:/|)]|secret|access|key|is|and|with|the){1,12}(?P<secret>[A-Za-z0-9+/]{40})"
          r"(?![A-Za-z0-9+/=])", chance),
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
