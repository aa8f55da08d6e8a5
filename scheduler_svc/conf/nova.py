# SPDX-License-Identifier: Apache-2.0
"""Options of group [nova]: gantt as the scheduler of a real Nova."""

from oslo_config import cfg

from rpcapi import errors

GROUP = "nova"
# With [nova] enabled these would accept every host, because Nova's requests bring them neither NUMA cells nor devices.
UNDECIDED_FILTERS = ("NUMATopologyFilter", "PciPassthroughFilter")
UNCOUNTED_WEIGHER = "ImagePropertiesWeigher"  # gantt does not count the images of instances on Nova's hosts
RABBIT = "nova_rabbit"  # group with the options of [oslo_messaging_rabbit], for Nova's bus

OPTS: list[cfg.Opt] = [
    cfg.BoolOpt(
        "enabled",
        default=False,
        help="Whether the hosts are those of a Nova: their providers are made through Placement's API by nova-compute, "
        "and the state of their services is read from Nova's databases by gantt-nova-bridge. A host without a compute "
        "service there takes no instance.",
    ),
    cfg.StrOpt(
        "transport_url",
        default="",
        secret=True,
        help="URL of Nova's message bus, as [DEFAULT] transport_url in nova.conf, on which gantt-scheduler answers in "
        "the place of nova-scheduler. With [scheduler] mode = shadow it gets copies of the calls that nova-scheduler "
        "answers. Settings of RabbitMQ are in [nova_rabbit]. Unset: Nova cannot call.",
    ),
    cfg.StrOpt(
        "lock_path",
        default="",
        help="Folder in which the workers of a host lock each other out while they name queues: needed where "
        "[nova_rabbit] use_queue_manager is true. Only their user may write to it; as [oslo_concurrency] lock_path in "
        "nova.conf.",
    ),
    cfg.StrOpt(
        "exchange", default="nova", help="Exchange of Nova's services: [DEFAULT] control_exchange in nova.conf."
    ),
    cfg.IntOpt(
        "max_attempts",
        default=3,
        min=1,
        help="Number of hosts that one build or move of Nova may try: the selected one and its alternates; as "
        "[scheduler] max_attempts in nova.conf.",
    ),
    cfg.StrOpt(
        "default_availability_zone",
        default="nova",
        help="Zone of hosts in no aggregate with a zone; as in nova.conf. A request for it may use all hosts, as in "
        "Nova; a request for any other zone that no aggregate has is refused.",
    ),
    cfg.BoolOpt(
        "disable_fallback_pcpu_query",
        default=False,
        help="Whether guests with dedicated CPUs go only to computes that report PCPU; as [workarounds] "
        "disable_fallback_pcpu_query in nova.conf.",
    ),
    cfg.StrOpt(
        "api_database",
        default="",
        secret=True,
        help="SQLAlchemy URL of Nova's API database, as [api_database] connection in nova.conf, for gantt-nova-bridge. "
        "A user with the right to SELECT is enough.",
    ),
    cfg.StrOpt(
        "cell_database",
        default="",
        secret=True,
        help="SQLAlchemy URL, as [database] connection in nova.conf, whose parts replace {username}, {password}, "
        "{hostname}, {port}, {scheme}, {path}, {query} and {fragment} in the database_connection of cell mappings. "
        "Unset: cell mappings have none of these.",
    ),
    cfg.StrOpt(
        "cell_username",
        default="",
        help="User that replaces the one in the database_connection of every cell mapping, with cell_password: Nova's "
        "own may write. Unset: the user that the mapping names.",
    ),
    cfg.StrOpt("cell_password", default="", secret=True, help="Password of cell_username."),
    cfg.FloatOpt(
        "bridge_interval",
        default=5.0,
        min=0.1,
        max=60.0,
        help="Seconds between two readings of what changed in Nova's databases.",
    ),
    cfg.FloatOpt(
        "bridge_full_interval",
        default=600.0,
        min=1.0,
        max=86400.0,
        help="Seconds between two comparisons of everything in Nova's databases with the store.",
    ),
    cfg.FloatOpt(
        "bridge_max_age",
        default=300.0,
        min=1.0,
        help="Seconds for which hosts stay as they were last read while Nova's databases are not read. After them "
        "requests are refused.",
    ),
    cfg.FloatOpt(
        "bridge_lease",
        default=15.0,
        min=1.0,
        max=300.0,
        help="Seconds after which another gantt-nova-bridge takes over from one that stopped working.",
    ),
    cfg.FloatOpt(
        "service_down_time",
        default=60.0,
        min=1.0,
        help="Seconds since its last report after which a compute service is down; as in nova.conf.",
    ),
    cfg.FloatOpt(
        "shadow_timeout",
        default=60.0,
        min=1.0,
        max=3600.0,
        help="Seconds without an allocation of an instance after which nova-scheduler is taken to have refused it; for "
        "[scheduler] mode = shadow beside it.",
    ),
    cfg.FloatOpt(
        "build_timeout",
        default=1800.0,
        min=1.0,
        max=86400.0,
        help="Seconds after which a claim without an instance on a host is a leak, for 'gantt audit --nova': more than "
        "Nova takes from the claim until the instance has the host, retries and a full queue included.",
    ),
]


def check(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration if requests would be refused before the next reading is due."""
    if conf.nova.bridge_max_age < 2 * conf.nova.bridge_interval:
        raise errors.BadConfiguration(
            why=f"[nova] bridge_max_age = {conf.nova.bridge_max_age:g} must be at least twice bridge_interval = "
            f"{conf.nova.bridge_interval:g}"
        )
