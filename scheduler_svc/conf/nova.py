# SPDX-License-Identifier: Apache-2.0
"""Options of group [nova], for gantt as the scheduler of a Nova deployment."""

from oslo_config import cfg

from rpcapi import errors

GROUP = "nova"
# With [nova] enabled these filters would accept every host: Nova's requests carry neither NUMA cells nor devices.
UNDECIDED_FILTERS = ("NUMATopologyFilter", "PciPassthroughFilter")
UNCOUNTED_WEIGHER = "ImagePropertiesWeigher"  # gantt does not count the images of instances on Nova's hosts
RABBIT = "nova_rabbit"  # group of oslo.messaging's RabbitMQ options for Nova's bus

OPTS: list[cfg.Opt] = [
    cfg.BoolOpt(
        "enabled",
        default=False,
        help="Whether the hosts belong to a Nova: nova-compute creates their providers through Placement's API, and "
        "gantt-nova-bridge reads their services. A host without a compute service takes no instance.",
    ),
    cfg.StrOpt(
        "transport_url",
        default="",
        secret=True,
        help="URL of Nova's message bus, as [DEFAULT] transport_url in nova.conf. gantt-scheduler replaces "
        "nova-scheduler there, or with [scheduler] mode = shadow gets copies of its calls. [nova_rabbit] has the "
        "RabbitMQ settings. Unset: Nova cannot call.",
    ),
    cfg.StrOpt(
        "lock_path",
        default="",
        help="Folder for the locks under which a host's workers name queues; required if [nova_rabbit] "
        "use_queue_manager is true. Only their user may write to it; as [oslo_concurrency] lock_path in nova.conf.",
    ),
    cfg.StrOpt(
        "exchange", default="nova", help="Exchange of Nova's services, as [DEFAULT] control_exchange in nova.conf."
    ),
    cfg.IntOpt(
        "max_attempts",
        default=3,
        min=1,
        help="Hosts that a build or move may try, alternates included; as [scheduler] max_attempts in nova.conf.",
    ),
    cfg.StrOpt(
        "default_availability_zone",
        default="nova",
        help="Zone of hosts that no aggregate assigns to a zone; as in nova.conf. A request for it may use all hosts, "
        "as in Nova; a request for an unknown zone is refused.",
    ),
    cfg.BoolOpt(
        "disable_fallback_pcpu_query",
        default=False,
        help="Whether guests with dedicated CPUs need computes that report PCPU; as [workarounds] in nova.conf.",
    ),
    cfg.StrOpt(
        "api_database",
        default="",
        secret=True,
        help="SQLAlchemy URL of Nova's API database, as [api_database] connection in nova.conf. It needs only SELECT.",
    ),
    cfg.StrOpt(
        "cell_database",
        default="",
        secret=True,
        help="SQLAlchemy URL, as [database] connection in nova.conf. Its parts replace {username}, {password}, "
        "{hostname}, {port}, {scheme}, {path}, {query} and {fragment} in the database_connection of cell mappings. "
        "Unset: cell mappings have no templates.",
    ),
    cfg.StrOpt(
        "cell_username",
        default="",
        help="User, with cell_password, that replaces the user of every cell mapping's database_connection, which may "
        "write. Unset: the mapping's user.",
    ),
    cfg.StrOpt("cell_password", default="", secret=True, help="Password of cell_username."),
    cfg.FloatOpt(
        "bridge_interval",
        default=5.0,
        min=0.1,
        max=60.0,
        help="Seconds between reads of changes in Nova's databases.",
    ),
    cfg.FloatOpt(
        "bridge_full_interval",
        default=600.0,
        min=1.0,
        max=86400.0,
        help="Seconds between full comparisons of Nova's databases with the store.",
    ),
    cfg.FloatOpt(
        "bridge_max_age",
        default=300.0,
        min=1.0,
        help="Maximum age in seconds of the state read from Nova's databases; requests are refused beyond it.",
    ),
    cfg.FloatOpt(
        "bridge_lease",
        default=15.0,
        min=1.0,
        max=300.0,
        help="Seconds after which another gantt-nova-bridge takes over from a stopped one.",
    ),
    cfg.FloatOpt(
        "service_down_time",
        default=60.0,
        min=1.0,
        help="Seconds without a report after which a compute service is down; as in nova.conf.",
    ),
    cfg.FloatOpt(
        "shadow_timeout",
        default=60.0,
        min=1.0,
        max=3600.0,
        help="Seconds without an allocation after which nova-scheduler is assumed to have refused an instance.",
    ),
    cfg.FloatOpt(
        "build_timeout",
        default=1800.0,
        min=1.0,
        max=86400.0,
        help="Seconds after which 'gantt audit --nova' reports a claim without an instance as a leak: more than Nova "
        "takes from the claim until the instance has its host, including retries and a full queue.",
    ),
]


def check(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration if the state could exceed bridge_max_age between two reads."""
    if conf.nova.bridge_max_age < 2 * conf.nova.bridge_interval:
        raise errors.BadConfiguration(
            why=f"[nova] bridge_max_age = {conf.nova.bridge_max_age:g} must be at least twice bridge_interval = "
            f"{conf.nova.bridge_interval:g}"
        )
