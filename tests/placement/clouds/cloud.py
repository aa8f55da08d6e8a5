# SPDX-License-Identifier: Apache-2.0
"""Providers and allocations as data."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


def amount(total: int, **fields: Any) -> dict[str, Any]:
    """Return an inventory of which a single allocation may take all, unless ``fields`` set another max_unit."""
    return {"total": total, "max_unit": total, **fields}


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider with a name that is unique in its cloud, and the providers below it.

    ``variable`` is the environment variable that gets its UUID, as each of ``aggregates`` gets that of an aggregate.
    ``uuid`` None: a random one.
    """

    name: str
    variable: str
    inventories: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    traits: tuple[str, ...] = ()
    aggregates: tuple[str, ...] = ()
    children: tuple["Provider", ...] = ()
    uuid: str | None = None

    def walk(self, parent: str | None = None) -> Iterator[tuple["Provider", str | None]]:
        """Yield this provider and all below it, each after its parent and with its parent's variable."""
        yield self, parent
        for child in self.children:
            yield from child.walk(self.variable)


@dataclass(frozen=True, slots=True)
class Allocation:
    """What one consumer without a type holds from the provider of a variable.

    ``variable`` is the environment variable that gets the consumer's UUID.
    """

    provider: str
    resources: Mapping[str, int]
    variable: str
    project: str = "project"
    user: str = "user"


@dataclass(frozen=True, slots=True)
class Cloud:
    """Trees of providers, and the allocations on them."""

    roots: tuple[Provider, ...]
    allocations: tuple[Allocation, ...] = ()

    def providers(self) -> list[tuple[Provider, str | None]]:
        """Return all providers, each after its parent and with its parent's variable."""
        return [pair for root in self.roots for pair in root.walk()]
