"""Redaction: what looks like a secret goes, what people need to read stays."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipway_lite.redact import LIMIT, MARK, redact

SECRET = "q7Zp2LmX9vKc4RtB8nWs"


@pytest.mark.parametrize(
    "text",
    [
        f"curl -H 'Authorization: Bearer {SECRET}' https://x",
        f"curl -H authorization:{SECRET}",
        f"Bearer {SECRET}",
        f"git clone https://user:{SECRET}@example.com/r.git",
        f"git clone https://{SECRET}@example.com/r.git",
        f"API_KEY={SECRET} pytest",
        f"export MY_SECRET='{SECRET} {SECRET}'",
        f"deploy --token {SECRET}",
        f"deploy --access-key={SECRET}",
        f'{{"password": "{SECRET}"}}',
        f"curl -u admin:{SECRET} https://x",
        f"ghp_{SECRET}",
        f"github_pat_{SECRET}",
        f"sk-{SECRET}",
        f"xoxb-{SECRET}",
        f"src/ghp_{SECRET}/a.py",
        "AKIAIOSFODNN7EXAMPLE",
        f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx.{SECRET}",
        f"-----BEGIN RSA PRIVATE KEY-----\n{SECRET}\n-----END RSA PRIVATE KEY-----",
        f"-----BEGIN PRIVATE KEY-----\n{SECRET}",
        f"{SECRET}{SECRET}",
    ],
)
def test_what_looks_like_a_secret_goes(text: str) -> None:
    found = redact(text)
    assert found is not None
    assert SECRET not in found
    assert "AKIAIOSFODNN7EXAMPLE" not in found
    assert MARK in found


@pytest.mark.parametrize(
    "text",
    [
        "pytest -q tests/observe",
        "npm run build -- --mode production",
        "src/components/LoginPage2.tsx:42",
        "ruff check . && mypy --strict",
        "src/ログイン/画面.py:3",
        "sha256:" + "ab12" * 16,
        "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
        "task_0123456789abcdef0123456789abcdef",
        "a-rather-long-name-of-a-file-in-kebab-case.test.ts",
        "",
    ],
)
def test_what_people_read_stays(text: str) -> None:
    assert redact(text) == text


def test_nothing_stays_nothing() -> None:
    assert redact(None) is None


def test_what_is_shown_is_short_and_on_one_line() -> None:
    found = redact("a\nb\t\x1b[31mc " + "word " * 500)
    assert found is not None
    assert found.startswith("a b \ufffd[31mc word")
    assert len(found) == LIMIT


@settings(max_examples=200, deadline=None)
@given(st.text(), st.text())
def test_a_token_with_a_known_beginning_never_survives(before: str, after: str) -> None:
    assert f"ghp_{SECRET}" not in (redact(f"{before} ghp_{SECRET} {after}") or "")
