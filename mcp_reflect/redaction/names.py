"""Which names hold a secret: `DB_PASSWORD`, `apiKey`, `x-auth-token`; and which only speak of one: `token_type`."""

import re
from enum import Enum
from typing import Final


class Holds(Enum):
    """What a name's value is: a password may be any word, a key looks like chance."""

    PASSWORD = "password"  # noqa: S105 - a name
    KEY = "key"
    NOTHING = "nothing"


_PASSWORDS: Final = ("password", "passwd", "passphrase", "passwort", "kennwort", "contraseña", "contrasena", "senha",
                     "пароль", "密码", "密碼", "パスワード",
                     "비밀번호", "şifre", "passe")  # fmt: skip
_PASSWORD_WORDS: Final = frozenset(("pwd", "pass", "pw", "passcode"))
_KEYS: Final = ("secret", "token", "apikey", "appkey", "apisecret", "secretkey", "accesskey", "privatekey", "authkey",
                "encryptionkey", "signingkey", "masterkey", "licensekey", "sharedkey", "sharedaccesskey", "accountkey",
                "sessionkey", "servicekey", "subscriptionkey", "deploykey", "keybase", "keydata", "credential",
                "credentials", "signature", "sessionid", "webhooksecret", "serverkey", "storagekey",
                "cookie", "passwordsalt", "secretbase")  # fmt: skip
_KEY_WORDS: Final = frozenset(("pat", "sig", "salt", "auth", "sid"))
# The last words of a token that anybody may see.
_PUBLIC: Final = re.compile(r"(?:page|next|continuation|cursor|sync|cancel\w*|eos|bos|pad|unk|stop|public)_?token$")

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")

CORES: Final = ("pass", "pwd", "secret", "token", "key", "cred", "auth", "cookie", "sessionid", "signature", "sig",
                "salt", "_pat", "sid", "kennwort", "senha")  # fmt: skip
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
)


def holds(name: str) -> Holds:
    """What the value of a name is, by the name's last words."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not words:
        return Holds.NOTHING
    whole = "".join(words)
    if words[-1] in _PASSWORD_WORDS or whole.endswith(_PASSWORDS):
        return Holds.PASSWORD
    if whole.endswith(_KEYS):
        return Holds.NOTHING if _PUBLIC.search("_".join(words)) else Holds.KEY
    return Holds.KEY if words[-1] in _KEY_WORDS else Holds.NOTHING
