# SPDX-License-Identifier: Apache-2.0
"""Options of group [simulator]; all can be changed while the agent runs."""

from oslo_config import cfg

GROUP = "simulator"

OPTS = [
    cfg.StrOpt(
        "seed",
        default="gantt",
        mutable=True,
        help="Seed of simulated random events. With the same seed, an instance has the same events on every run.",
    ),
    cfg.FloatOpt(
        "spawn_failure_rate",
        default=0.0,
        min=0.0,
        max=1.0,
        mutable=True,
        help="Share of attempts, from 0 to 1, whose guest fails to start after its claim was confirmed.",
    ),
    cfg.FloatOpt(
        "refusal_rate",
        default=0.0,
        min=0.0,
        max=1.0,
        mutable=True,
        help="Share of attempts, from 0 to 1, that the host refuses before it confirms the claim.",
    ),
    cfg.FloatOpt(
        "boot_delay",
        default=0.2,
        min=0.0,
        mutable=True,
        help="Median seconds from a guest's start until it runs.",
    ),
    cfg.FloatOpt(
        "boot_delay_spread",
        default=0.5,
        min=0.0,
        max=3.0,
        mutable=True,
        help="Spread of the boot delay: the standard deviation of its logarithm. 0 gives each guest the median.",
    ),
    cfg.FloatOpt(
        "churn",
        default=0.0,
        min=0.0,
        max=1.0,
        mutable=True,
        help="Share of nodes, from 0 to 1, with a new cpu.percent at each report. 0: nodes report no cpu.percent and "
        "change only with their instances.",
    ),
    cfg.FloatOpt(
        "external_use_rate",
        default=0.1,
        min=0.0,
        max=1.0,
        mutable=True,
        help="Share of these changes, from 0 to 1, that also change the memory used by the host itself: the node's "
        "reserved MEMORY_MB.",
    ),
    cfg.FloatOpt(
        "external_use_max",
        default=0.05,
        min=0.0,
        max=1.0,
        mutable=True,
        help="Maximum memory that the host itself uses, as a share of the node's memory. It never exceeds the memory "
        "that guests leave free.",
    ),
    cfg.FloatOpt(
        "silence_rate",
        default=0.0,
        min=0.0,
        max=1.0,
        mutable=True,
        help="Probability, from 0 to 1, at each report that the service host falls silent: it sends no reports for "
        "silence_time seconds, but answers messages.",
    ),
    cfg.FloatOpt(
        "silence_time",
        default=120.0,
        min=0.0,
        mutable=True,
        help="Seconds that a silent service host stays silent. The host counts as down if this exceeds [store] "
        "service_down_time.",
    ),
    cfg.FloatOpt(
        "restart_rate",
        default=0.0,
        min=0.0,
        max=1.0,
        mutable=True,
        help="Probability, from 0 to 1, at each report that the service host's agent restarts instead: a new agent in "
        "the same process takes over journal and guests, reports in full and audits before it serves.",
    ),
    cfg.StrOpt(
        "shared_storage",
        default="",
        mutable=True,
        help="Shared storage of the guests' disks, by name. A live migration within one storage copies memory only. "
        "Empty: disks are local and are also copied.",
    ),
    cfg.FloatOpt(
        "copy_rate",
        default=1000.0,
        min=0.001,
        mutable=True,
        help="MiB of memory and disk that a live migration copies per second.",
    ),
    cfg.FloatOpt(
        "dirty_rate",
        default=100.0,
        min=0.0,
        mutable=True,
        help="MiB of memory that a guest writes per second during its copy, to be copied again. At copy_rate or "
        "above, a copy of more memory than copy_downtime allows never ends by itself.",
    ),
    cfg.FloatOpt(
        "copy_downtime",
        default=0.5,
        min=0.0,
        mutable=True,
        help="Seconds that a guest may be stopped at the end of its copy; it is stopped once the rest can be copied "
        "in this time.",
    ),
    cfg.FloatOpt(
        "migration_check_failure_rate",
        default=0.0,
        min=0.0,
        max=1.0,
        mutable=True,
        help="Share of pairs of host and instance, from 0 to 1, whose check before a live migration fails, at source "
        "or destination.",
    ),
    cfg.FloatOpt(
        "copy_failure_rate",
        default=0.0,
        min=0.0,
        max=1.0,
        mutable=True,
        help="Share of copies, from 0 to 1, that fail before they are complete.",
    ),
    cfg.FloatOpt(
        "copy_death_rate",
        default=0.0,
        min=0.0,
        max=1.0,
        mutable=True,
        help="Share of copies, from 0 to 1, during which the source host loses power: its guests stop, and it stays "
        "silent until its process is started again.",
    ),
    cfg.FloatOpt(
        "post_migration_failure_rate",
        default=0.0,
        min=0.0,
        max=1.0,
        mutable=True,
        help="Share of copied guests, from 0 to 1, that fail to continue at their destination.",
    ),
]
