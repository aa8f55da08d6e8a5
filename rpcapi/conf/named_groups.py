# SPDX-License-Identifier: Apache-2.0
"""Groups that define one item each, whose name is part of theirs: ``[flavor:NAME]``."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from oslo_config import cfg

from rpcapi import errors

Item = TypeVar("Item")


def read(
    conf: cfg.ConfigOpts, prefix: str, options: Sequence[cfg.Opt], make: Callable[[str, cfg.ConfigOpts.GroupAttr], Item]
) -> dict[str, Item]:
    """Return the items by name; ``make`` gets name and values. Raises BadConfiguration with the group of a bad one."""
    items: dict[str, Item] = {}
    for section in conf.list_all_sections():
        if section.startswith(prefix):
            name = section.removeprefix(prefix)
            conf.register_opts(options, group=section)
            try:
                items[name] = make(name, conf[section])
            except (cfg.Error, ValueError) as error:
                raise errors.BadConfiguration(why=f"[{section}] {error}") from error
            except errors.InvalidRequest as error:
                raise errors.BadConfiguration(why=f"[{section}] {error.sentence}") from error
    return items
