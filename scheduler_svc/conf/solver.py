# SPDX-License-Identifier: Apache-2.0
"""Options of driver 'solver', which places a batch of requests together."""

from oslo_config import cfg

GROUP = "solver"
PACK = "pack"
SPREAD = "spread"

OPTS: list[cfg.Opt] = [
    cfg.StrOpt(
        "objective",
        default=SPREAD,
        mutable=True,
        choices=[
            (PACK, "use as few empty hosts as possible, and fill the fullest"),
            (SPREAD, "distribute the load evenly over hosts"),
        ],
        help="Objective among solutions that place the maximum number of requests. It replaces [filter_scheduler] "
        "placement for this driver, and sets the sign of the multipliers of free capacity.",
    ),
    cfg.IntOpt(
        "work_limit",
        default=20_000,
        min=1,
        max=1_000_000_000,
        mutable=True,
        help="Maximum work to solve one batch: steps (about one per relaxation) times pairs of request kind and host. "
        "After that the best solution so far is used, never worse than deciding requests one by one. Unlike a time "
        "limit, it gives the same solution on any machine; 20,000 take 0.1 to 0.3 s.",
    ),
    cfg.IntOpt(
        "time_limit",
        default=2_000,
        min=1,
        max=60_000,
        mutable=True,
        help="Maximum milliseconds to solve one batch. Decision records say if a solution was cut off by it.",
    ),
    cfg.IntOpt(
        "hosts",
        default=32,
        min=1,
        max=10_000,
        mutable=True,
        help="Best hosts considered for each kind of request; at least the number of instances in the batch. A larger "
        "value can improve placement and takes longer.",
    ),
    cfg.IntOpt(
        "max_pairs",
        default=20_000,
        min=1,
        max=1_000_000,
        mutable=True,
        help="Maximum pairs of request kind and host; requests of a larger batch are decided separately.",
    ),
    cfg.IntOpt(
        "window",
        default=0,
        min=0,
        max=1_000,
        help="Milliseconds that a request waits in its worker for others to be placed together. 0: each request is "
        "placed separately; requests of select_batch are always solved together.",
    ),
    cfg.IntOpt(
        "max_batch",
        default=200,
        min=1,
        max=1_000,
        help="Maximum requests in one batch: the window closes, and select_batch calls with more are refused.",
    ),
]
