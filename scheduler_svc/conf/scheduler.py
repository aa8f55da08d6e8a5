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
        help="Name of this daemon for operators and on the bus, unique among the daemons of a partition.",
    ),
    cfg.IntOpt(
        "workers",
        default=os.cpu_count() or 1,
        sample_default="<number of processors>",
        min=1,
        max=256,
        help="Worker processes, each with a replica of all hosts (1 kB per host). More workers than processors do not "
        "help.",
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
        help="Drivers that requests may name besides the default 'driver'. Requests for other drivers are refused.",
    ),
    cfg.StrOpt(
        "mode",
        default="claim",
        choices=[
            ("claim", "a selection claims its hosts"),
            ("shadow", "a selection is recorded, nothing is claimed, and the caller gets error NotClaimed"),
        ],
        help="'shadow' evaluates gantt next to the scheduler that makes the real selections; './devstack/lab.sh "
        "shadow' of a checkout, or with [nova] enabled 'gantt decision compare', shows the differences. All workers of "
        "a deployment must use the same mode.",
    ),
    cfg.IntOpt(
        "tries",
        default=3,
        min=1,
        max=20,
        help="Maximum decisions for one request, which is decided again if others claimed the selected capacity.",
    ),
    cfg.IntOpt(
        "round_limit",
        default=16,
        min=1,
        max=64,
        help="Instances of one project in a round of decisions while another project waits. A round has at most 64 "
        "instances; a request of more than 16 instances is decided alone.",
    ),
    cfg.IntOpt(
        "server_groups",
        default=100,
        mutable=True,
        min=0,
        max=100_000,
        help="Maximum server groups of one project. Groups of Nova do not count.",
    ),
    cfg.FloatOpt(
        "claim_ttl",
        default=60.0,
        min=1.0,
        max=86400.0,
        help="Seconds within which the selected host must confirm a claim. A shorter time frees the resources of a "
        "dead host sooner, but fails builds whose messages are delayed.",
    ),
    cfg.FloatOpt(
        "catch_up_timeout",
        default=2.0,
        min=0.0,
        max=60.0,
        help="Maximum seconds that a request with a claim conflict waits for this worker's replica to catch up.",
    ),
    cfg.ListOpt(
        "namespaces",
        default=[],
        help="Host state namespaces besides the built-in ones; each needs a group [namespace:NAME] with its writer.",
    ),
    cfg.ListOpt(
        "partitions",
        default=[],
        sample_default="<[rpc] partition>",
        item_type=types.String(regex=rpc.PARTITION),
        help="Partitions (cells) that this daemon selects hosts from, including its own; the same for all scheduler "
        "daemons of a deployment. [partition:NAME] has the URL of a partition's store.",
    ),
    cfg.ListOpt(
        "claims_partitions",
        default=[],
        sample_default="<[scheduler] partitions>",
        item_type=types.String(regex=rpc.PARTITION),
        help="Partitions whose claims this daemon serves, on topics 'claims.<partition>', and cleans up; a subset of "
        "'partitions'. Omit cells that have daemons of their own.",
    ),
    cfg.FloatOpt(
        "report_interval",
        default=10.0,
        mutable=True,
        min=0.5,
        max=3600.0,
        help="Seconds between a worker's heartbeats to the store. Keep it well below [store] service_down_time.",
    ),
    cfg.StrOpt(
        "stamp_key",
        secret=True,
        help="Secret of at least 32 random characters, the same for all schedulers of the deployment. It signs stamps "
        "of the store's state in answers to agents, so that a store restored from a backup is noticed and begins a new "
        "epoch. Unset: only schedulers that kept running notice it.",
    ),
]


def drivers(conf: cfg.ConfigOpts) -> list[str]:
    """Return the drivers that requests may name, the default first."""
    return list(dict.fromkeys([conf.scheduler.driver, *conf.scheduler.drivers]))


def check(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration for a driver that is not installed; import no driver."""
    installed = sorted({point.name for point in importlib.metadata.entry_points(group=DRIVERS)})
    for name in drivers(conf):
        if name not in installed:
            option = "driver" if name == conf.scheduler.driver else "drivers"
            raise errors.BadConfiguration(
                why=f"[scheduler] {option}: no entry point {name!r} is installed in {DRIVERS!r}; "
                f"installed: {', '.join(installed) or 'none; is gantt installed?'}"
            )
