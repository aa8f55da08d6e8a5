# SPDX-License-Identifier: Apache-2.0
"""Options of group [compute]: the service hosts of a process, their nodes and timing."""

from oslo_config import cfg

GROUP = "compute"

OPTS = [
    cfg.ListOpt(
        "hosts",
        default=[],
        sample_default=["compute[00-09]"],
        help="Service hosts of this process. A range in brackets expands to its numbers, "
        "with their leading zeros: 'compute[00-09]' is ten hosts. Two processes must never have the same host. "
        "Empty: one host with this machine's name.",
    ),
    cfg.IntOpt(
        "nodes_per_host",
        default=1,
        min=1,
        max=10000,
        help="Nodes of each service host; they are named HOST/node0, HOST/node1 and so on, and get the shapes of the "
        "[shape:NAME] groups in turn, by their shares. Where in turn a host begins depends on its name only: "
        "hosts with consecutive numbers follow each other.",
    ),
    cfg.ListOpt(
        "availability_zones",
        default=["nova"],
        help="Availability zones, which the service hosts get in turn. The zone of a shape takes precedence.",
    ),
    cfg.ListOpt(
        "locations",
        default=[],
        help="Locations, such as racks, which the service hosts get in turn. A node reports it as the fact "
        "'location'. Empty: no location is reported.",
    ),
    cfg.StrOpt(
        "host_network",
        default="",
        help="Network of the service hosts' addresses, such as 10.0.0.0/16, which they get in turn: host7 has the "
        "eighth usable address. They are reported as the nodes' addresses. Empty: no address is reported.",
    ),
    cfg.StrOpt(
        "state_path",
        default="",
        help="Folder for the journals and the simulated guests, with a subfolder per service host. It must outlive the "
        "process, and only one process may use it. Empty: the service manager's state folder ($STATE_DIRECTORY), else "
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
        help="Maximum deviation of the pause between reports from report_interval, as a share of it, so that hosts "
        "that started together do not report together. The first pause is any part of the interval.",
    ),
    cfg.FloatOpt(
        "call_timeout",
        default=10.0,
        min=0.1,
        help="Seconds to wait for an answer of the scheduler or the conductor before a call is repeated.",
    ),
    cfg.FloatOpt(
        "isolation_timeout",
        default=60.0,
        min=1.0,
        help="Seconds without an answer of any service after which the agent counts as cut off: an operator may have "
        "fenced its hosts, and their instances may run elsewhere. It then audits each host, which stops the guests "
        "whose claims have ended, before it starts or reports anything. Until it reaches a service, its guests run on. "
        "At least three times report_interval is used. Choose at most [store] service_down_time, because a host "
        "that is down for longer can be fenced.",
    ),
    cfg.FloatOpt(
        "retry_interval_max",
        default=15.0,
        min=0.1,
        help="Maximum pause, in seconds, before a retry of a call to the scheduler or the conductor.",
    ),
    cfg.IntOpt(
        "threads",
        default=12,
        min=1,
        max=1000,
        help="Threads that process messages, shared by all service hosts of the process. Each host uses at most one "
        "of them at a time; a quarter as many more send reports. With RabbitMQ each has a connection: keep the sum "
        "within [oslo_messaging_rabbit] rpc_conn_pool_size.",
    ),
    cfg.FloatOpt(
        "ended_retention",
        default=3600.0,
        min=0.0,
        help="Seconds that the journal keeps an ended attempt, so that a late message about it is answered from the "
        "journal. After that the scheduler is asked.",
    ),
]
