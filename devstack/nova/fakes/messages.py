# SPDX-License-Identifier: Apache-2.0
"""Requests and replies of the fake services."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ServiceCall:
    """Request to one service; ``path`` is relative to the service."""

    method: str
    path: str
    query: Mapping[str, Sequence[str]]
    headers: Mapping[str, str]
    body: Any
    base: str

    @property
    def parts(self) -> list[str]:
        return [part for part in self.path.split("/") if part]


@dataclass(frozen=True, slots=True)
class Reply:
    """Status with a JSON document; None means no body."""

    status: int = 200
    document: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


NOT_FOUND = Reply(404, {"error": {"code": 404, "message": "not found"}})


def versions(version: str, url: str) -> dict[str, Any]:
    return {"id": version, "status": "CURRENT", "links": [{"rel": "self", "href": url}]}
