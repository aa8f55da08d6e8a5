# SPDX-License-Identifier: Apache-2.0
"""Which service hosts a process speaks for, and how."""

from oslo_config import cfg

GROUP = "compute"

OPTS = [
    cfg.ListOpt(
        "hosts",
        default=[],
        sample_default=["compute[00-09]"],
        help="Service hosts that this process speaks for. A range in brackets stands for each of its numbers, "
        "with their leading zeros: 'compute[00-09]' is ten hosts. Two processes must never name the same host. "
        "Empty: the one host that has this machine's name.",
    ),
    cfg.IntOpt(
        "nodes_per_host",
        default=1,
        min=1,
        max=10000,
        help="Nodes of each service host; they are named HOST/node0, HOST/node1 and so on, and get the shapes of the "
        "[shape:NAME] groups in turn, by their shares. Where in turn a host begins depends on its name alone: hosts "
        "numbered one after the other follow each other.",
    ),
    cfg.ListOpt(
        "availability_zones",
        default=["nova"],
        help="Availability zones that the service hosts are dealt to in turn. A shape's own zone comes first.",
    ),
    cfg.ListOpt(
        "locations",
        default=[],
        help="Locations, such as racks, that the service hosts are dealt to like the zones. A node reports its own as "
        "the fact 'location'. Empty: none is told.",
    ),
    cfg.StrOpt(
        "host_network",
        default="",
        help="Network that the service hosts have addresses in, such as 10.0.0.0/16, dealt like the zones: host7 has "
        "the eighth that a host may have. They are reported as the nodes' addresses. Empty: none is.",
    ),
    cfg.StrOpt(
        "state_path",
        default="",
        help="Folder for the journals and the simulated guests, a folder a service host. It must outlive the process "
        "and belong to one process alone. Empty: the service manager's state folder ($STATE_DIRECTORY), else "
        "~/.local/state/gantt/compute.",
    ),
    cfg.FloatOpt(
        "report_interval",
        default=10.0,
        min=0.1,
        mutable=True,
        help="Seconds between a service host's reports to the scheduler; each counts as its heartbeat. A host that is "
        "silent for [store] service_down_time gets no more instances.",
    ),
    cfg.FloatOpt(
        "report_jitter",
        default=0.2,
        min=0.0,
        max=0.9,
        mutable=True,
        help="How far each pause between reports strays from report_interval, as a share of it, so that hosts that "
        "started together do not report together. The first pause is any part of the interval.",
    ),
    cfg.FloatOpt(
        "call_timeout",
        default=10.0,
        min=0.1,
        help="Seconds to wait for an answer of the scheduler or the conductor before the same is asked again.",
    ),
    cfg.FloatOpt(
        "retry_interval_max",
        default=15.0,
        min=0.1,
        help="Longest pause, in seconds, between two tries of a call to the scheduler or the conductor.",
    ),
    cfg.IntOpt(
        "threads",
        default=12,
        min=1,
        max=1000,
        help="Threads that work on messages, shared by all service hosts of the process. Each host has at most one "
        "of them at a time; a quarter as many more send the reports. RabbitMQ gives each a connection: keep the sum "
        "within [oslo_messaging_rabbit] rpc_conn_pool_size.",
    ),
    cfg.FloatOpt(
        "ended_retention",
        default=3600.0,
        min=0.0,
        help="Seconds that the journal remembers an attempt that is over, so that a late message about it is answered "
        "from memory. After that the scheduler answers for it.",
    ),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options of group [compute]."""
    conf.register_opts(OPTS, group=GROUP)
