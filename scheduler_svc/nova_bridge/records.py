# SPDX-License-Identifier: Apache-2.0
"""What the bridge reads from Nova's databases."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell mapping. ``database_url`` has credentials: it is never logged."""

    uuid: str
    name: str | None
    database_url: str
    disabled: bool


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A host aggregate; ``hosts`` are names of service hosts."""

    uuid: str
    name: str
    hosts: tuple[str, ...]
    metadata: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Deployment:
    """All of the API database: cells by uuid, the uuid of each mapped host's cell, and aggregates."""

    cells: Mapping[str, Cell]
    host_cells: Mapping[str, str]
    aggregates: tuple[Aggregate, ...]


@dataclass(frozen=True, slots=True)
class ComputeService:
    """The record of a nova-compute; ``seen_ms`` is when it last reported, or when the record was made."""

    host: str
    disabled: bool
    disabled_reason: str | None
    forced_down: bool
    version: int
    seen_ms: int

    def is_up(self, now_ms: int, down_ms: int) -> bool:
        """Return whether it has reported for the last ``down_ms``, by a clock that is not far ahead of its own."""
        return not self.forced_down and abs(now_ms - self.seen_ms) <= down_ms


@dataclass(frozen=True, slots=True)
class ComputeNode:
    """A compute node; ``host_keys`` are the parts of its document that describe the host."""

    uuid: str
    host: str
    node: str
    host_keys: Mapping[str, Any]


def milliseconds(moment: datetime | None) -> int:
    """Return a time of Nova, which has no zone but is UTC, in ms; 0 where it is not recorded."""
    return 0 if moment is None else round(moment.replace(tzinfo=UTC).timestamp() * 1000)
