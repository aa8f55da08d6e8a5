# SPDX-License-Identifier: Apache-2.0
"""What the bridge reads from Nova's databases."""

from collections.abc import Mapping
from dataclasses import dataclass
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
class ComputeNode:
    """A compute node; ``host_keys`` are the parts of its document that describe the host."""

    uuid: str
    host: str
    node: str
    host_keys: Mapping[str, Any]
