"""Secrets that an object names in one field and has in another, and look-alikes of such objects."""

import json
from typing import Any

import pytest

from mcp_reflect.security.redact import clean, clean_text

DRAWN = "hK29dsPq1xZ"
NAMED: list[Any] = [
    {"selector": "#password", "text": DRAWN},
    {"element": "Password field", "ref": "e12", "text": DRAWN},
    {"fields": [{"name": "Password", "type": "textbox", "ref": "e2", "value": DRAWN}]},
    {"label": "Passwort", "fill": DRAWN},
    {"field": "client_secret", "value": DRAWN},
    {"header": "X-Api-Key", "content": DRAWN},
    [{"key": "api_token", "value": DRAWN}],
    [{"Key": "DB_PASSWORD", "Value": DRAWN}],
    {"Parameters": [{"ParameterKey": "DbPassword", "ParameterValue": DRAWN}]},
    {"column": "password", "value": DRAWN},
    {"columns": ["user", "password"], "rows": [["ada", DRAWN], ["bob", f"{DRAWN}9"]]},
    {"columns": [{"name": "user"}, {"name": "api_key"}], "rows": [["ada", DRAWN]]},
    {"fields": ["id", "access_token"], "data": [[1, DRAWN]]},
    {"locator": "input[type='password']", "text": DRAWN},
]
COMMANDS: list[Any] = [
    {"command": "mysql", "args": ["-u", "root", f"-p{DRAWN}"]},
    {"command": ["curl", "-u", f"ada:{DRAWN}", "https://x"]},
    {"command": "sshpass", "args": ["-p", DRAWN, "ssh", "root@h"]},
]
LOOK_ALIKES: list[Any] = [
    {"label": "Password", "text": "Forgot it?"},
    {"label": "Password", "text": "Must have at least 12 characters"},
    {"element": "Password field", "text": "Enter your password"},
    {"element": "Password field", "ref": "e12"},
    {"selector": "#password", "text": "Password"},
    {"selector": "#password-help", "text": "Show password rules"},
    {"name": "password", "type": "string", "description": "The password of the user"},
    {"key": "login.password.label", "value": "Kennwort vergessen?"},
    {"key": "token_count", "value": "12840"},
    {"field": "password", "text": "is required"},
    {"column": "password", "text": "varchar(255)"},
    {"columns": ["user", "password"], "rows": []},
    {"columns": ["file", "tokens"], "rows": [["a.py", 1203], ["b.py", 88]]},
    {"columns": ["name", "status"], "rows": [["api_key_rotation", "passed"]]},
    {"header": "Authorization", "content": "required"},
    {"name": "PASSWORD_FILE", "value": "/run/secrets/db_password"},
    {"label": "API key", "text": "Create new key"},
    {"command": "mysql", "args": ["-u", "root", "-p"]},
    {"command": "mkdir", "args": ["-p", "src/components/password"]},
    {"command": "docker", "args": ["run", "-p", "8080:80", "nginx"]},
    {"selector": ".password-strength", "value": "strong"},
    {"element": "Search box", "text": f"{DRAWN} error"},
    {"name": "commit", "value": "9fceb02d0ae598e95dc970b74767f19372d61af8"},
]


@pytest.mark.parametrize("value", [*NAMED, *COMMANDS])
def test_what_another_field_names_as_a_secret_is_cut(value: Any) -> None:
    assert DRAWN not in json.dumps(clean(value))


@pytest.mark.parametrize("value", NAMED)
@pytest.mark.parametrize("indent", [None, 2])
def test_the_same_as_a_text_of_json(value: Any, indent: int | None) -> None:
    cleaned = clean_text(json.dumps(value, indent=indent))
    assert DRAWN not in cleaned
    json.loads(cleaned)
    assert clean_text(str(cleaned)) == cleaned


@pytest.mark.parametrize("value", LOOK_ALIKES)
def test_labels_and_plain_words_beside_such_names_stay(value: Any) -> None:
    assert clean(value) == value
    assert clean_text(json.dumps(value)) == json.dumps(value)
