"""Secrets that a command prints alone: on the line behind it, in JSON text, and in another field than the command."""

import json
from typing import Any

import pytest

from mcp_reflect.security.gate import clean_answer
from mcp_reflect.security.redact import clean, clean_text

DRAWN = "hK29dsPq1xZ7wQ2m"
COMMANDS = [
    "kubectl get secret db -o jsonpath='{.data.pw}' | base64 -d",
    "kubectl get secret db -o go-template='{{.data.password | base64decode}}'",
    "argocd admin initial-password -n argocd",
    "bw get password db",
    "printenv DB_PASSWORD",
    "echo $DB_PASSWORD",
    "terraform output -raw db_password",
    "pass show work/db",
    "cat /run/secrets/db_password",
    "docker exec db printenv POSTGRES_PASSWORD",
    "aws secretsmanager get-secret-value --secret-id db --query SecretString --output text",
    "aws ssm get-parameter --name /db/password --with-decryption --output text",
    "az keyvault secret show --vault-name v -n db --query value -o tsv",
    "vault kv get -field=password secret/db",
    "sops -d --extract '[\"db\"]' s.yaml",
    "openssl rand -base64 18",
    "jq -r .password creds.json",
    "yq .db.password values.yaml",
    "python -c 'import os; print(os.environ[\"DB_PASSWORD\"])'",
    "php artisan tinker --execute 'echo env(\"DB_PASSWORD\");'",
    "grep -oP '(?<=password=).*' ~/.my.cnf",
    "secret-tool lookup service db",
    "chamber read svc db_password -q",
    "doppler secrets get DB_PASSWORD --plain",
    "op item get db --fields password --reveal",
    "etcdctl get /db/password --print-value-only",
    "psql -Atc 'select password from users limit 1'",
]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("prompt", ["", "$ "])
def test_a_secret_on_the_line_behind_its_command_is_cut(command: str, prompt: str) -> None:
    assert DRAWN not in clean_text(f"{prompt}{command}\n{DRAWN}\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_the_same_as_a_literal_of_json_and_in_json_within_json(command: str) -> None:
    lines = f"$ {command}\n{DRAWN}"
    for value in ({"stdout": lines, "code": 1}, [lines], {"log": f"{lines}\n", "stream": "out"}):
        within = json.dumps(value)
        for text in (within, f"It was {within} there", json.dumps({"reply": within}), repr(value)):
            cleaned = clean_text(text)
            assert DRAWN not in cleaned
            assert clean_text(str(cleaned)) == cleaned
        assert len(json.loads(clean_text(within))) == len(value)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_secret_in_another_field_than_its_command_is_cut(command: str) -> None:
    values: list[Any] = [
        {"command": command, "content": DRAWN, "exit_code": 0},
        {"tool_input": {"command": command}, "tool_response": {"stdout": f"{DRAWN}\n"}},
        {"tool_input": {"command": command}, "error": f"Exit code 1\n{DRAWN}\nbroken pipe"},
        [{"tool": "Bash", "arguments": {"command": command}}, {"content": DRAWN}],
        {"arguments": {"command": ["bash", "-lc", command]}, "output": DRAWN},
        {"input": {"command": command}, "result": {"content": [{"type": "text", "text": DRAWN}]}},
    ]
    for value in values:
        cleaned = clean(value)
        assert DRAWN not in json.dumps(cleaned)
        assert clean(cleaned) == cleaned


@pytest.mark.parametrize("command", COMMANDS)
def test_what_a_hook_keeps_of_a_call_has_no_secret_that_it_printed(command: str) -> None:
    call = {"command": command}
    results: list[Any] = [DRAWN, {"stdout": f"{DRAWN}\n", "stderr": ""}]
    for result in results:
        error = f"Exit code 1\n{DRAWN}\nerror: broken pipe"
        answer = clean_answer(call, result, error, 1_000)
        assert DRAWN not in str(answer)
        assert "broken pipe" in str(answer.error)
    assert clean_answer(call, None, None, 1_000) == (None, None)


LOOK_ALIKES: list[tuple[str, str]] = [
    ("printenv HOME", "/home/ada"),
    ("terraform output -raw db_password", "No outputs found"),
    ("bw get password db", "Not found."),
    ("pass show work/db", "Error: work/db is not in the password store."),
    ("kubectl get secret db -o name", "secret/db"),
    ("kubectl get configmap web -o jsonpath='{.data.port2}'", "web-v2.internal:8080"),
    ("jq -r .max_tokens config.json", "4096"),
    ("jq -r .version package.json", "12.4.1-rc2"),
    ("python -c 'import os; print(os.environ[\"HOME\"])'", "/home/ada"),
    ("grep -c password src/login.py", "12"),
    ("openssl version", "OpenSSL3.0.13"),
    ("git rev-parse HEAD", "9fceb02d0ae598e95dc970b74767f19372d61af8"),
    ("cat VERSION", "v2.14.0-rc1"),
    ("etcdctl get /web/version --print-value-only", "v2.14.0-rc1"),
    ("uuidgen", "550e8400-e29b-41d4-a716-446655440000"),
]


@pytest.mark.parametrize(("command", "output"), LOOK_ALIKES)
def test_what_other_commands_print_stays(command: str, output: str) -> None:
    text = f"$ {command}\n{output}"
    assert clean_text(text) == text
    assert clean_text(json.dumps({"stdout": text})) == json.dumps({"stdout": text})
    value = {"command": command, "content": output}
    assert clean(value) == value


@pytest.mark.parametrize(
    "text",
    [
        f"a1 LOGIN ada {DRAWN}",
        "Your magic link: https://x.io/login/9f8aQ2xLw83Kd0sPqZ71mNbVtR5yHcUekJ8sPq02mXcN5vB1zL",
    ],
)
def test_a_login_of_mail_and_a_link_that_logs_in_are_cut(text: str) -> None:
    assert "[redacted:" in clean_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "Step 2: the LOGIN form v2.1",
        "https://x.io/verify/9fceb02d0ae598e95dc970b74767f19372d61af8",
        "https://docs.x.io/reset/550e8400-e29b-41d4-a716-446655440000",
        '{"stdout": "line one\\nsays \\"done\\"", "code": 0}',
        "PW=$(jq -r .password creds.json)\n./run2.sh",
    ],
)
def test_words_beside_logins_and_links_stay(text: str) -> None:
    assert clean_text(text) == text
