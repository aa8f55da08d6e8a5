# SPDX-License-Identifier: Apache-2.0
"""Partitions that a daemon selects hosts from, and the URLs of their stores."""

from collections.abc import Sequence

from oslo_config import cfg

from rpcapi import errors
from rpcapi.conf import replicas
from scheduler_svc.store import url as store_url

PREFIX = "partition:"
GROUP = f"{PREFIX}NAME"

OPTS: list[cfg.Opt] = [
    cfg.StrOpt(
        "url",
        secret=True,
        sample_default="redis://user:password@cell1-store:6379/0",
        help="URL of this partition's store, by default [store] url; group [partition:cell1] describes 'cell1'.",
    ),
]


def names(conf: cfg.ConfigOpts) -> Sequence[str]:
    return conf.scheduler.partitions or [conf.rpc.partition]


def claims_partitions(conf: cfg.ConfigOpts) -> Sequence[str]:
    """Return the partitions whose claims this daemon serves and cleans up."""
    return conf.scheduler.claims_partitions or names(conf)


def url(conf: cfg.ConfigOpts, name: str) -> str:
    group = f"{PREFIX}{name}"
    conf.register_opts(OPTS, group=group)
    return str(conf[group].url or conf.store.url)


def check(conf: cfg.ConfigOpts) -> None:
    configured = names(conf)
    if len(set(configured)) < len(configured):
        raise errors.BadConfiguration(why="[scheduler] partitions: duplicate name")
    if conf.rpc.partition not in configured:
        raise errors.BadConfiguration(
            why=f"[scheduler] partitions: {conf.rpc.partition!r}, this service's own partition ([rpc] partition), is "
            f"not in {', '.join(configured)}"
        )
    unknown = sorted(set(claims_partitions(conf)) - set(configured))
    if unknown:
        raise errors.BadConfiguration(
            why=f"[scheduler] claims_partitions: {', '.join(unknown)} is not in [scheduler] partitions"
        )
    described = {name.removeprefix(PREFIX) for name in conf.list_all_sections() if name.startswith(PREFIX)}
    undeclared = sorted(described - set(configured))
    if undeclared:
        raise errors.BadConfiguration(
            why=f"[{PREFIX}{undeclared[0]}] describes a partition that is not in [scheduler] partitions"
        )
    for name in configured:
        store_url.check(f"{PREFIX}{name}", url(conf, name))
    replicas.warn_of_loss("store", conf.store, [url(conf, name) for name in configured])
