# SPDX-License-Identifier: Apache-2.0
"""Configuration groups that define one named item each, such as ``[flavor:NAME]``."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from oslo_config import cfg

from rpcapi import errors

Item = TypeVar("Item")


class NamedItems(Mapping[str, Item]):
    """Lazy mapping of items: an invalid one raises BadConfiguration when it is read, and hinders no others."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        prefix: str,
        options: Sequence[cfg.Opt],
        make: Callable[[str, cfg.ConfigOpts.GroupAttr], Item],
    ) -> None:
        self._conf = conf
        self._make = make
        self._items: dict[str, Item] = {}
        self._groups = {
            group.removeprefix(prefix): group for group in conf.list_all_sections() if group.startswith(prefix)
        }
        for group in self._groups.values():
            conf.register_opts(options, group=group)

    def __getitem__(self, name: str) -> Item:
        if name not in self._items:
            self._items[name] = self._read(name, self._groups[name])
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._groups)

    def __len__(self) -> int:
        return len(self._groups)

    def _read(self, name: str, group: str) -> Item:
        try:
            return self._make(name, self._conf[group])
        except (cfg.Error, ValueError) as error:
            raise errors.BadConfiguration(why=f"[{group}] {error}") from error
        except errors.InvalidRequest as error:
            raise errors.BadConfiguration(why=f"[{group}] {error.sentence}") from error
