"""Which names hold a secret: `DB_PASSWORD`, `apiKey`, `x-auth-token`; and which only speak of one: `token_type`."""

from enum import Enum
from typing import Final

from mcp_reflect.patterns import late


class Holds(Enum):
    """What a name's value is: a password may be any word, a key looks like chance."""

    PASSWORD = "password"  # noqa: S105 - a name
    KEY = "key"
    ANY = "any key"  # no more is said than that it is a key: of a map, of a lock
    NOTHING = "nothing"


_PASSWORDS: Final = ("password", "passwd", "passphrase", "passwort", "kennwort", "contraseña", "contrasena", "senha",
                     "пароль", "密码", "密碼", "パスワード",
                     "비밀번호", "şifre", "passe", "passwords", "wachtwoord", "hasło", "haslo", "lösenord",
                     "lösenordet", "adgangskode", "kodeord", "passord", "heslo", "jelszó", "parola", "пароля", "口令",
                     "暗証番号", "암호", "mật khẩu", "كلمةالمرور", "كلمةالسر", "पासवर्ड", "salasana", "requirepass",
                     "masterauth", "sshpass", "dbpass", "rootpass", "userpass", "adminpass", "mailpass", "smtppass",
                     "ftppass", "pgpass", "mysqlpass", "bindpass", "loginpass", "keypass", "storepass", "rootpw",
                     "bindpw", "dbpw", "userpw", "adminpw", "userpwd", "dbpwd", "rootpwd", "sifre",
                     "palavrapasse", "motdepasse", "密码是", "jwtsecret", "sessionsecret", "cookiesecret",
                     "mdp")  # fmt: skip
_PASSWORD_WORDS: Final = frozenset(("pwd", "pass", "pw", "passcode", "psk", "contra"))
_KEYS: Final = ("secret", "token", "apikey", "appkey", "apisecret", "secretkey", "accesskey", "privatekey", "authkey",
                "encryptionkey", "signingkey", "masterkey", "licensekey", "sharedkey", "sharedaccesskey", "accountkey",
                "sessionkey", "servicekey", "subscriptionkey", "deploykey", "keybase", "keydata", "credential",
                "credentials", "signature", "sessionid", "webhooksecret", "serverkey", "storagekey",
                "cookie", "passwordsalt", "secretbase", "secretid", "gossipencrypt", "gossipkey", "unsealkey",
                "recoverykey", "rootkey", "adminkey", "clientkey", "consumerkey", "integrationkey", "authtoken",
                "sendingkey", "openaikey", "applicationkey", "writekey", "ingestkey", "instrumentationkey", "apikeys",
                "webhookkey", "hmackey", "jwtkey", "cryptkey", "cipherkey", "sastoken", "pskkey", "networkkey",
                "wepkey", "wpakey", "walletkey", "licencekey", "activationkey", "productkey", "passkey",
                "mnemonic", "pepper", "routingkey", "authcode",
                "dockerconfigjson", "aeskey", "fernetkey")  # fmt: skip
_KEY_WORDS: Final = frozenset(("pat", "sig", "salt", "auth", "sid"))
# The last words of a token that anybody may see.
_PUBLIC: Final = late(
    r"(?:page|next|continuation|cursor|sync|cancel\w*|eos|bos|pad|unk|stop|public)_?token$|(?:existing|pull)_?secrets?$"
)

# Keys that open nothing: of a table, a cache, a map, or one that anybody may have.
_OPEN: Final = late(
    r"(?:public|pub|publishable|primary|foreign|cache|sort|partition|range|hash|row|idempotency|dedup\w*|object|s3|lookup"
    r"|index|group|message|event|trace|build|store|site|host|map|dict|i18n|translation|order|shard|file|blob"
    r"|chunk|asset|commit|node|unique|query|search|bucket|storage|registry|hot|short|state|session|sort|item|data"
    r"|project|issue|redis|config|feature|flag|env|locale|metric)key$"
)

_WORD: Final = late(r"[A-Z]+(?![a-z])|[A-Z]?[a-zà-ÿłşğżźćęąś]+|(?:[^\W\d_A-Za-z]|[\u0900-\u097f])+")

_WITHIN: Final = frozenset(("token", "secret", "password", "apikey"))
_OTHER: Final = frozenset(
    "id hash sha digest checksum url uri path file name arn ttl type header prefix format".split()
)


def _is_setting(name: str, words: list[str]) -> bool:
    """Whether it is an environment's setting of a secret for something: `AWS_BEARER_TOKEN_BEDROCK`, `API_KEY_PROD`."""
    within = not _WITHIN.isdisjoint(words) or "_API_KEY_" in f"_{name}_"
    return within and name == name.upper() and "_" in name and words[-1] not in _OTHER


CORES: Final = ("pass", "pw", "secret", "token", "key", "cred", "auth", "cookie", "sessionid", "signature", "sig",
                "salt", "_pat", "sid", "kennwort", "senha", "wachtwoord", "haslo", "heslo", "passord", "parola",
                "adgangskode", "kodeord", "salasana", "psk", "encrypt", "sifre", "mnemonic", "pepper", "_session",
                "dockerconfig", "mdp")  # fmt: skip
"""One of these is in every name that holds a secret, in lower case."""

FOREIGN_CORES: Final = (
    "contraseñ",
    "пароль",
    "密码",
    "密碼",
    "パスワード",
    "비밀번호",
    "mật khẩu",
    "şifre",
    "contraseña",
    "hasło",
    "lösenord",
    "jelszó",
    "口令",
    "暗証番号",
    "암호",
    "كلمة المرور",
    "كلمة السر",
    "पासवर्ड",
)


def holds(name: str) -> Holds:
    """What the value of a name is, by the name's last words."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or words == ["signingkey"]:  # git's, which names a key that anybody may have
        return Holds.NOTHING
    whole = "".join(words)
    if name.startswith("OP_SESSION_"):
        return Holds.KEY
    if words[-1] in _PASSWORD_WORDS or whole.endswith(_PASSWORDS):
        return Holds.PASSWORD
    if whole.endswith(_KEYS):
        return Holds.NOTHING if _PUBLIC.search("_".join(words)) else Holds.KEY
    if words[-1] in _KEY_WORDS or (
        words[-1] == "key" and name.isupper() and len(words) > 1 and not _OPEN.search(whole)
    ):
        return Holds.KEY
    if words[-1] == "session" and words[0] in ("op", "bw"):  # of password managers
        return Holds.KEY
    if _is_setting(name, words):
        return Holds.KEY
    return Holds.ANY if words in (["key"], ["encrypt"]) else Holds.NOTHING
