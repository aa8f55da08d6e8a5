# SPDX-License-Identifier: Apache-2.0
"""All namespaces of a deployment."""

from collections.abc import Iterable

from rpcapi import errors
from scheduler_svc.namespaces import built_in
from scheduler_svc.namespaces.namespace import Namespace

COMPOSED = ("compute", "service")  # the store makes their documents up from what is reported


class Registry:
    """The built-in namespaces and a deployer's ``declared`` ones; raises ValueError for a name that is taken."""

    def __init__(self, declared: Iterable[Namespace] = ()) -> None:
        self._by_name: dict[str, Namespace] = {}
        for each in [*built_in.build(), *declared]:
            if each.name in self._by_name:
                raise ValueError(f"there is a namespace {each.name!r} already")
            self._by_name[each.name] = each

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of all."""
        return tuple(self._by_name)

    @property
    def kept(self) -> tuple[str, ...]:
        """Return those whose documents are kept as their writers put them: what a store must be told."""
        return tuple(name for name in self._by_name if name not in COMPOSED)

    def find(self, name: str) -> Namespace:
        """Return the namespace of that name; raises UnknownNamespace."""
        found = self._by_name.get(name)
        if found is None:
            raise errors.UnknownNamespace(namespace=name, known=", ".join(self._by_name))
        return found
