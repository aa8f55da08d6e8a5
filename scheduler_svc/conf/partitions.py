# SPDX-License-Identifier: Apache-2.0
"""The partitions that a daemon decides over, and where the store of each is."""

from collections.abc import Sequence

from oslo_config import cfg

from rpcapi import errors
from scheduler_svc.conf import store_url

PREFIX = "partition:"
GROUP = f"{PREFIX}NAME"

OPTS: list[cfg.Opt] = [
    cfg.StrOpt(
        "url",
        secret=True,
        sample_default="redis://user:password@cell1-store:6379/0",
        help="The store of this partition, as [store] url has it, and its default. The group's name gives the "
        "partition's, so that [partition:cell1] describes 'cell1'. Partitions may share a store: each has keys of its "
        "own in it.",
    ),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register nothing yet: which groups there are is known when the files have been read."""


def names(conf: cfg.ConfigOpts) -> Sequence[str]:
    """Return the partitions to decide over, in their order."""
    return conf.scheduler.partitions or [conf.rpc.partition]


def served(conf: cfg.ConfigOpts) -> Sequence[str]:
    """Return the partitions whose claims are served, and that are tidied."""
    return conf.scheduler.claims_partitions or names(conf)


def url(conf: cfg.ConfigOpts, name: str) -> str:
    """Return where a partition's store is; raises BadConfiguration."""
    group = f"{PREFIX}{name}"
    conf.register_opts(OPTS, group=group)
    return conf[group].url or conf.store.url


def check(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration for partitions that cannot be decided over, or stores that cannot be reached."""
    configured = names(conf)
    if len(set(configured)) < len(configured):
        raise errors.BadConfiguration(why="[scheduler] partitions: one of them is named twice")
    if conf.rpc.partition not in configured:
        raise errors.BadConfiguration(
            why=f"[scheduler] partitions: {conf.rpc.partition!r}, this service's own as [rpc] partition names it, is "
            f"not among {', '.join(configured)}"
        )
    unknown = sorted(set(served(conf)) - set(configured))
    if unknown:
        raise errors.BadConfiguration(
            why=f"[scheduler] claims_partitions: {', '.join(unknown)} is not in [scheduler] partitions"
        )
    undeclared = sorted(set(_described(conf)) - set(configured))
    if undeclared:
        raise errors.BadConfiguration(
            why=f"[{PREFIX}{undeclared[0]}] describes a partition that [scheduler] partitions does not name"
        )
    for name in configured:
        store_url.check(f"{PREFIX}{name}", url(conf, name))


def _described(conf: cfg.ConfigOpts) -> list[str]:
    return [section.removeprefix(PREFIX) for section in conf.list_all_sections() if section.startswith(PREFIX)]
