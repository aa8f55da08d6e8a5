# SPDX-License-Identifier: Apache-2.0
"""What a fake service reads and returns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Call:
    """A request to one service: its path has no prefix of the service."""

    method: str
    path: str
    query: Mapping[str, Sequence[str]]
    headers: Mapping[str, str]
    body: Any
    base: str  # URL of this service

    @property
    def parts(self) -> list[str]:
        """The parts of the path."""
        return [part for part in self.path.split("/") if part]


@dataclass(frozen=True, slots=True)
class Reply:
    """A status with a JSON document, None for no body."""

    status: int = 200
    document: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


NOT_FOUND = Reply(404, {"error": {"code": 404, "message": "not found"}})


def versions(version: str, url: str) -> dict[str, Any]:
    """Return the document of a service's only version."""
    return {"id": version, "status": "CURRENT", "links": [{"rel": "self", "href": url}]}
