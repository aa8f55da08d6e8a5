# SPDX-License-Identifier: Apache-2.0
"""How the driver 'solver' places what is asked for at once."""

import importlib.util

from oslo_config import cfg

from rpcapi import errors
from scheduler_svc.conf import scheduler

GROUP = "solver"
NAME = "solver"
PACKAGE = "highspy"
PACK = "pack"
SPREAD = "spread"

OPTS: list[cfg.Opt] = [
    cfg.StrOpt(
        "objective",
        default=SPREAD,
        mutable=True,
        choices=[
            (PACK, "use no empty host that can be spared, and fill the fullest"),
            (SPREAD, "load all hosts alike"),
        ],
        help="What is best among the ways to serve as many requests as can be. It also gives the multipliers of "
        "RAMWeigher, CPUWeigher and DiskWeigher their sign, for this driver; all other weighers count as configured.",
    ),
    cfg.IntOpt(
        "time_limit",
        default=200,
        min=1,
        max=60_000,
        mutable=True,
        help="Milliseconds that one batch may be solved for; after that the best that was found is taken, which is "
        "never worse than one request after the other. A batch's callers wait that long at most. What ends before "
        "the limit is the same each time; what is cut off by it depends on the machine.",
    ),
    cfg.IntOpt(
        "hosts",
        default=32,
        min=1,
        max=10_000,
        mutable=True,
        help="Best hosts that are looked at for each kind of request; never fewer than the batch has instances. More "
        "can place better and takes longer.",
    ),
    cfg.IntOpt(
        "max_pairs",
        default=20_000,
        min=1,
        max=1_000_000,
        mutable=True,
        help="Pairs of a kind of request and a host beyond which a batch is too large to be solved: each request is "
        "then decided by itself, as by the driver 'filter'.",
    ),
    cfg.IntOpt(
        "window",
        default=0,
        min=0,
        max=1_000,
        help="Milliseconds that a request waits in its worker for others, to be placed together with them. 0 places "
        "each by itself; select_batch is solved together in any case.",
    ),
    cfg.IntOpt(
        "max_batch",
        default=200,
        min=1,
        max=1_000,
        help="Requests that one batch holds at most; when so many wait the window closes early, and a call of "
        "select_batch with more is refused.",
    ),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options of group [solver]."""
    conf.register_opts(OPTS, group=GROUP)


def check(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration where the driver is wanted and what it solves with is not installed."""
    if NAME in scheduler.drivers(conf) and importlib.util.find_spec(PACKAGE) is None:
        raise errors.BadConfiguration(
            why=f"[scheduler] driver 'solver' needs the package {PACKAGE}: install gantt's extra 'solver', "
            "as in pip install 'gantt[solver]'"
        )
