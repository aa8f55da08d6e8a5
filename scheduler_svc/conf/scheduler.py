# SPDX-License-Identifier: Apache-2.0
"""How the scheduler runs and how hard it tries."""

import importlib.metadata
import os
import socket

from oslo_config import cfg, types

from rpcapi import errors
from rpcapi.conf import rpc

GROUP = "scheduler"
DRIVERS = "gantt.drivers"  # the entry points

OPTS: list[cfg.Opt] = [
    cfg.StrOpt(
        "host",
        default=socket.gethostname(),
        sample_default="<this machine's host name>",
        regex=r"^[^\s/|]{1,200}$",
        help="Name under which this daemon is known to operators and on the bus. Two daemons of one partition must "
        "not share it.",
    ),
    cfg.IntOpt(
        "workers",
        default=os.cpu_count() or 1,
        sample_default="<number of processors>",
        min=1,
        max=256,
        help="Worker processes of this daemon. Each keeps its own copy of all hosts, about 1 kB a host, and decides "
        "by itself; more than there are processors gains nothing.",
    ),
    cfg.StrOpt(
        "driver",
        default="filter",
        help="Entry point in 'gantt.drivers' that ranks hosts: 'filter' filters and weighs them, 'chance' takes any "
        "that passes the filters, 'solver' places what is asked for at once together: see [solver].",
    ),
    cfg.ListOpt(
        "drivers",
        default=[],
        item_type=types.String(regex=r"^[A-Za-z0-9_.-]{1,64}$"),
        help="Drivers that a request may name beside the one in 'driver', which decides where none is named. A request "
        "that names another is refused.",
    ),
    cfg.StrOpt(
        "mode",
        default="claim",
        choices=[
            ("claim", "a decision claims what it chose"),
            ("shadow", "a decision is recorded, nothing is claimed, and the caller is told so: NotClaimed"),
        ],
        help="'shadow' is for a gantt that is tried beside another scheduler, which goes on deciding: requests are "
        "mirrored to both, and 'gantt-lab shadow' compares what they decided. All workers of a deployment run in the "
        "same mode.",
    ),
    cfg.IntOpt(
        "rounds",
        default=3,
        min=1,
        max=20,
        help="How often a request is decided anew when others took what it was given, before it is refused.",
    ),
    cfg.FloatOpt(
        "claim_ttl",
        default=60.0,
        min=1.0,
        max=86400.0,
        help="Seconds in which the chosen host must confirm a claim; after that its resources are free again. It "
        "covers the way over conductor and bus to the agent: shorter frees a dead host's share sooner, but refuses "
        "instances whose message waited in a queue.",
    ),
    cfg.FloatOpt(
        "catch_up_timeout",
        default=2.0,
        min=0.0,
        max=60.0,
        help="Seconds that a request which lost a race waits for this worker to learn what the winner took. Then it "
        "is decided anew on what is known.",
    ),
    cfg.ListOpt(
        "namespaces",
        default=[],
        help="Namespaces of host state beside the built-in ones (compute, service, aggregate, volume, network). Each "
        "has a group [namespace:NAME] that says who writes it.",
    ),
    cfg.ListOpt(
        "partitions",
        default=[],
        sample_default="<[rpc] partition>",
        item_type=types.String(regex=rpc.PARTITION),
        help="Partitions (cells) that this daemon decides over, its own among them; all daemons of a deployment that "
        "decide name the same ones. Where a partition's store is stands in [partition:NAME].",
    ),
    cfg.ListOpt(
        "claims_partitions",
        default=[],
        sample_default="<[scheduler] partitions>",
        item_type=types.String(regex=rpc.PARTITION),
        help="Those of them whose claims this daemon serves, on topics 'claims.<partition>', and that it tidies. Where "
        "a cell has daemons of its own for that, others leave it out.",
    ),
    cfg.FloatOpt(
        "report_interval",
        default=10.0,
        mutable=True,
        min=0.5,
        max=3600.0,
        help="Seconds between the signs of life that each worker leaves in the store. It must be well below [store] "
        "service_down_time.",
    ),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options of group [scheduler]."""
    conf.register_opts(OPTS, group=GROUP)


def drivers(conf: cfg.ConfigOpts) -> list[str]:
    """Return the drivers that may decide, the one that decides where a request names none first."""
    return list(dict.fromkeys([conf.scheduler.driver, *conf.scheduler.drivers]))


def check(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration for a driver that is not installed; none is imported."""
    installed = sorted({point.name for point in importlib.metadata.entry_points(group=DRIVERS)})
    for name in drivers(conf):
        if name not in installed:
            option = "driver" if name == conf.scheduler.driver else "drivers"
            raise errors.BadConfiguration(
                why=f"[scheduler] {option}: no entry point {name!r} is installed in {DRIVERS!r}; "
                f"there are {', '.join(installed) or 'none: is gantt installed?'}"
            )
