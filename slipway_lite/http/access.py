"""Who may call: bearer tokens with roles, and on an open loopback only local, same-origin callers."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from slipway_lite.control.refusals import Refused
from slipway_lite.errors import UsageError
from slipway_lite.text import is_md

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slipway_lite.http.routes import Role

RANK = {"reader": 0, "operator": 1, "admin": 2}
LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")


def parse_tokens(text: str) -> dict[str, Role]:
    """Tokens by line: a bare token is an admin's, ``operator TOKEN`` or ``admin TOKEN`` names the role.

    Blank lines and lines that start with ``#`` are skipped. Raises :class:`UsageError` (invalid_token_file).
    """
    tokens: dict[str, Role] = {}
    if not is_md(text):
        raise UsageError("invalid_token_file", "The token file is no text.")
    for line in text.splitlines():
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) == 1:
            tokens[words[0]] = "admin"
        elif len(words) == 2 and words[0] in ("operator", "admin"):
            tokens[words[1]] = "operator" if words[0] == "operator" else "admin"
        else:
            raise UsageError("invalid_token_file", "A token line is TOKEN, or operator TOKEN, or admin TOKEN.")
    if not tokens:
        raise UsageError("invalid_token_file", "The token file holds no token.")
    return tokens


@dataclass(frozen=True, slots=True)
class Access:
    """The rule of one server. Without tokens everybody local is an admin."""

    tokens: Mapping[str, Role] = field(default_factory=dict)

    def check(self, headers: Mapping[str, str], role: Role) -> bool:
        """Whether the caller proved who they are; raises UNAUTHORIZED or FORBIDDEN when ``role`` is not theirs."""
        self.check_origin(headers)
        if not self.tokens:
            return False
        presented = _presented(headers)
        found = self._role(presented) if presented else None
        if found is None:
            raise Refused("UNAUTHORIZED", "A bearer token is needed.")
        if RANK[found] < RANK[role]:
            raise Refused("FORBIDDEN", f"The request needs the role {role}.")
        return RANK[found] >= RANK["operator"]

    def check_origin(self, headers: Mapping[str, str]) -> None:
        """Without tokens, raises FORBIDDEN for a request that a web page or a foreign name has led here."""
        if not self.tokens:
            _require_local(headers)

    def _role(self, presented: str) -> Role | None:
        """The role of a token; every known token is compared, in constant time.

        The bytes of a header come as Latin-1; what a client sent is the UTF-8 of its token.
        """
        digest = hashlib.sha256(presented.encode("latin-1")).digest()
        found: Role | None = None
        for token, role in self.tokens.items():
            if hmac.compare_digest(digest, hashlib.sha256(token.encode()).digest()):
                found = role
        return found


def _presented(headers: Mapping[str, str]) -> str:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "")


def _require_local(headers: Mapping[str, str]) -> None:
    """Keep web pages out of an open loopback: no foreign Host (DNS rebinding), no foreign Origin."""
    host = headers.get("host", "localhost")
    name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
    if name not in LOCAL_NAMES:
        raise Refused("FORBIDDEN", "Without a token the server answers to local names only.")
    origin = headers.get("origin")
    if origin is not None and origin != f"http://{host}":
        raise Refused("FORBIDDEN", "Without a token the server takes no requests from web pages.")
