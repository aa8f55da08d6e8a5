# SPDX-License-Identifier: Apache-2.0
"""All namespaces of a deployment."""

from collections.abc import Iterable

from rpcapi import errors
from scheduler_svc.core.namespaces import built_in
from scheduler_svc.core.namespaces.namespace import Namespace

COMPOSED = ("compute", "service")  # the store composes these documents from reports


class NamespaceRegistry:
    """Built-in and ``declared`` namespaces of a deployment. Raises ValueError for a duplicate name."""

    def __init__(self, declared: Iterable[Namespace] = ()) -> None:
        self._by_name: dict[str, Namespace] = {}
        for namespace in [*built_in.build(), *declared]:
            if namespace.name in self._by_name:
                raise ValueError(f"namespace {namespace.name!r} already exists")
            self._by_name[namespace.name] = namespace

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._by_name)

    @property
    def stored_names(self) -> tuple[str, ...]:
        """Names of the namespaces whose documents the store keeps as they were written."""
        return tuple(name for name in self._by_name if name not in COMPOSED)

    def find(self, name: str) -> Namespace:
        namespace = self._by_name.get(name)
        if namespace is None:
            raise errors.UnknownNamespace(namespace=name, choices=", ".join(self._by_name))
        return namespace
