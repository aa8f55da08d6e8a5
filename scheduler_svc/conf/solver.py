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
        help="Objective among the solutions that place the maximum number of requests. For this driver "
        "it also stands for [filter_scheduler] placement, and sets the sign of the multipliers of FreeShareWeigher, "
        "RAMWeigher, CPUWeigher and DiskWeigher; other weighers apply as configured.",
    ),
    cfg.IntOpt(
        "work_limit",
        default=20_000,
        min=1,
        max=1_000_000_000,
        mutable=True,
        help="Maximum work to solve one batch: the search's steps, about one for each relaxation that HiGHS solves, "
        "times the columns of its problem, about one for each pair of a kind of request and a host. After that the "
        "best solution so far is used, which is never worse than deciding the requests one after the other. The same "
        "batch on the same hosts has the same solution again, on any machine; 20,000 take 0.1 to 0.3 s.",
    ),
    cfg.IntOpt(
        "time_limit",
        default=2_000,
        min=1,
        max=60_000,
        mutable=True,
        help="Maximum milliseconds to solve one batch, a guard for slow machines: a solution cut off by it depends on "
        "the machine. Its decision record says so.",
    ),
    cfg.IntOpt(
        "hosts",
        default=32,
        min=1,
        max=10_000,
        mutable=True,
        help="Number of best hosts considered for each kind of request; at least the number of instances in the "
        "batch. A larger value can improve placement and takes longer.",
    ),
    cfg.IntOpt(
        "max_pairs",
        default=20_000,
        min=1,
        max=1_000_000,
        mutable=True,
        help="Maximum number of pairs of a kind of request and a host; a larger batch is not solved: each request is "
        "decided separately, as by driver 'filter'.",
    ),
    cfg.IntOpt(
        "window",
        default=0,
        min=0,
        max=1_000,
        help="Milliseconds that a request waits in its worker for other requests, to be placed together. With 0 each "
        "request is placed separately; the requests of select_batch are always solved together.",
    ),
    cfg.IntOpt(
        "max_batch",
        default=200,
        min=1,
        max=1_000,
        help="Maximum number of requests in one batch; the window closes early when this many wait, and a select_batch "
        "call with more is refused.",
    ),
]
