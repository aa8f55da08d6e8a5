# SPDX-License-Identifier: Apache-2.0
"""Options of group [scheduler]."""

import importlib.metadata
import os
import socket

from oslo_config import cfg, types

from rpcapi import errors
from rpcapi.conf import rpc

GROUP = "scheduler"
DRIVERS = "gantt.drivers"  # entry point group

OPTS: list[cfg.Opt] = [
    cfg.StrOpt(
        "host",
        default=socket.gethostname(),
        sample_default="<this machine's host name>",
        regex=r"^[^\s/|]{1,200}$",
        help="Name of this daemon for operators and on the bus. It must be unique among the daemons of a partition.",
    ),
    cfg.IntOpt(
        "workers",
        default=os.cpu_count() or 1,
        sample_default="<number of processors>",
        min=1,
        max=256,
        help="Number of worker processes. Each has its own replica of all hosts, about 1 kB for each host, and decides "
        "independently; more workers than processors have no benefit.",
    ),
    cfg.StrOpt(
        "driver",
        default="filter",
        help="Entry point in 'gantt.drivers' that ranks hosts: 'filter' filters and weighs them, 'chance' selects a "
        "random host that passes the filters, 'solver' places a batch of requests together: see [solver].",
    ),
    cfg.ListOpt(
        "drivers",
        default=[],
        item_type=types.String(regex=r"^[A-Za-z0-9_.-]{1,64}$"),
        help="Drivers that a request may name in addition to 'driver', which is the default. A request for any other "
        "driver is refused.",
    ),
    cfg.StrOpt(
        "mode",
        default="claim",
        choices=[
            ("claim", "a selection claims its hosts"),
            ("shadow", "a selection is recorded, nothing is claimed, and the caller gets error NotClaimed"),
        ],
        help="'shadow' is for evaluation beside another scheduler that makes the real selections: requests are "
        "mirrored to both, and './devstack/lab.sh shadow' of a checkout compares their decisions. With [nova] enabled "
        "it decides on copies of the calls that nova-scheduler answers, and 'gantt decision compare' shows what "
        "differs. All workers of a deployment must run in the same mode.",
    ),
    cfg.IntOpt(
        "tries",
        default=3,
        min=1,
        max=20,
        help="Maximum number of decisions for one request: it is retried when other requests have claimed the selected "
        "capacity, and refused after this many.",
    ),
    cfg.IntOpt(
        "round_limit",
        default=16,
        min=1,
        max=64,
        help="Instances of one project in a round of decisions while another project waits. Requests that arrive while "
        "a worker decides are decided and claimed together in its next round, of at most 64 instances; a request of "
        "more than 16 instances is decided on its own.",
    ),
    cfg.FloatOpt(
        "claim_ttl",
        default=60.0,
        min=1.0,
        max=86400.0,
        help="Seconds within which the selected host must confirm a claim; after that the claim expires and its "
        "resources are free. It covers the path over conductor and bus to the agent: a shorter time frees the "
        "resources of a dead host sooner, but rejects instances with delayed messages.",
    ),
    cfg.FloatOpt(
        "catch_up_timeout",
        default=2.0,
        min=0.0,
        max=60.0,
        help="Maximum seconds that a request waits after a claim conflict for this worker's replica to catch up. Then "
        "it is decided again on the current state.",
    ),
    cfg.ListOpt(
        "namespaces",
        default=[],
        help="Namespaces of host state in addition to the built-in ones (compute, service, aggregate, volume, "
        "network). Each has a group [namespace:NAME] that declares its writer.",
    ),
    cfg.ListOpt(
        "partitions",
        default=[],
        sample_default="<[rpc] partition>",
        item_type=types.String(regex=rpc.PARTITION),
        help="Partitions (cells) that this daemon selects hosts from, including its own; it must be the same for all "
        "scheduler daemons of a deployment. [partition:NAME] has the URL of a partition's store.",
    ),
    cfg.ListOpt(
        "claims_partitions",
        default=[],
        sample_default="<[scheduler] partitions>",
        item_type=types.String(regex=rpc.PARTITION),
        help="The partitions among them that this daemon serves claims for, on topics 'claims.<partition>', and cleans "
        "up. Omit cells that have their own daemons for this.",
    ),
    cfg.FloatOpt(
        "report_interval",
        default=10.0,
        mutable=True,
        min=0.5,
        max=3600.0,
        help="Seconds between the heartbeats of each worker to the store. It must be well below [store] "
        "service_down_time.",
    ),
    cfg.StrOpt(
        "stamp_key",
        secret=True,
        help="Secret of at least 32 random characters, the same for all schedulers of the deployment and known to "
        "nobody else. Answers to agents carry a stamp of the store's state that is signed with it; a store that is "
        "behind a stamp was restored from a backup, and begins a new epoch. Without a key there are no stamps, "
        "and only schedulers that kept running notice a restored backup.",
    ),
]


def drivers(conf: cfg.ConfigOpts) -> list[str]:
    """Return the allowed drivers, the default first."""
    return list(dict.fromkeys([conf.scheduler.driver, *conf.scheduler.drivers]))


def check(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration for a driver that is not installed, without importing any."""
    installed = sorted({point.name for point in importlib.metadata.entry_points(group=DRIVERS)})
    for name in drivers(conf):
        if name not in installed:
            option = "driver" if name == conf.scheduler.driver else "drivers"
            raise errors.BadConfiguration(
                why=f"[scheduler] {option}: no entry point {name!r} is installed in {DRIVERS!r}; "
                f"installed: {', '.join(installed) or 'none; is gantt installed?'}"
            )
