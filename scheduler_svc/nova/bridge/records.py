# SPDX-License-Identifier: Apache-2.0
"""Records of Nova's databases, as the bridge reads them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class CellMapping:
    """Cell mapping of Nova's API database. Never log ``database_url``: it contains credentials."""

    uuid: str
    name: str | None
    database_url: str
    disabled: bool


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Host aggregate; ``hosts`` are names of service hosts."""

    uuid: str
    name: str
    hosts: tuple[str, ...]
    metadata: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Deployment:
    """Contents of the API database: {uuid: cell}, {mapped service host: cell uuid}, and aggregates."""

    cells: Mapping[str, CellMapping]
    host_cells: Mapping[str, str]
    aggregates: tuple[Aggregate, ...]


@dataclass(frozen=True, slots=True)
class ComputeNode:
    uuid: str
    host: str
    node: str
    host_keys: Mapping[str, Any]
