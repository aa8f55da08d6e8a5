# SPDX-License-Identifier: Apache-2.0
"""Stamps on answers to agents and conductors: proof that a store once had an epoch and position."""

import hashlib
import hmac
import json

from rpcapi import errors

MIN_KEY = 32  # characters
CONDUCTORS = "(conductors)"  # pseudo-host of stamps shared by conductors; never a valid host name


class StampSigner:
    """Signer and verifier of stamps EPOCH.POSITION.MAC. Without a key, it does neither.

    Only schedulers know the key. The MAC also covers partition and host, so a stamp proves nothing in a different
    partition or from a different host.
    """

    def __init__(self, key: str | None) -> None:
        """Raise BadConfiguration if the key is too short."""
        if key and len(key) < MIN_KEY:
            raise errors.BadConfiguration(
                why=f"[scheduler] stamp_key must have at least {MIN_KEY} characters, got {len(key)}"
            )
        self._key = key.encode() if key else None

    def sign(self, partition: str, host: str, epoch: int, position: int) -> str | None:
        """Return the stamp of an answer to ``host``; None without a key."""
        if self._key is None:
            return None
        return f"{epoch}.{position}.{self._code(self._key, partition, host, epoch, position)}"

    def verify(self, partition: str, host: str, stamp: str | None) -> tuple[int, int] | None:
        """Return (epoch, position) of a stamp that was signed for ``host``; None for any other string."""
        parts = stamp.split(".") if stamp else []
        if self._key is None or len(parts) != 3 or not all(_is_number(part) for part in parts[:2]):
            return None
        epoch, position = int(parts[0]), int(parts[1])
        code = self._code(self._key, partition, host, epoch, position)
        sent_code = parts[2].encode(errors="replace")  # the stamp may contain an unpaired surrogate
        return (epoch, position) if hmac.compare_digest(code.encode(), sent_code) else None

    @staticmethod
    def _code(key: bytes, partition: str, host: str, epoch: int, position: int) -> str:
        text = json.dumps(["gantt stamp 1", partition, host, epoch, position])
        return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 18
