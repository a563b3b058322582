"""Signatures and digests of model files, on request: a checksum finds damage, these find a file that was exchanged.

A signed file ends in the HMAC-SHA256 (RFC 2104) of all bytes before it, whose key only those who write and load share.
A digest is the SHA-256 of the whole file, as ``sha256sum`` prints it, kept in a place that others cannot write to.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import Any

SIGNATURE_SIZE = hashlib.sha256().digest_size
_SHORTEST_KEY = 16  # bytes: 128 bits cannot be guessed


def check_key(key: Any) -> bytes | None:
    """Refuse what is not a key; None is none."""
    if key is None:
        return None
    if not isinstance(key, bytes) or len(key) < _SHORTEST_KEY:
        got = f"{len(key)} bytes" if isinstance(key, bytes) else type(key).__name__
        raise TypeError(
            f"key must be bytes, at least {_SHORTEST_KEY} of them, such as secrets.token_bytes(32); got {got}"
        )
    return key


def check_digest(content: bytes, sha256: Any) -> None:
    """Compare the digest of a whole file with the one that is expected."""
    if not isinstance(sha256, str) or not re.fullmatch("[0-9a-fA-F]{64}", sha256):
        raise TypeError(f"sha256 must be a text of 64 hexadecimal digits, as sha256sum prints it; got {sha256!r:.80}")
    found = hashlib.sha256(content).hexdigest()
    if not hmac.compare_digest(found, sha256.lower()):
        raise ValueError(f"its SHA-256 is {found}, and not the one that was expected: this is another file")


def check_signature(content: memoryview, is_signed: bool, key: bytes) -> None:
    """Check that a file was signed with this key."""
    if not is_signed:
        raise ValueError("the file is not signed, but a key was given: save it with this key, or load it without one")
    expected = hmac.digest(key, content[:-SIGNATURE_SIZE], "sha256")
    if not hmac.compare_digest(expected, bytes(content[-SIGNATURE_SIZE:])):
        raise ValueError("the signature is wrong: the file was signed with another key, or changed since")
