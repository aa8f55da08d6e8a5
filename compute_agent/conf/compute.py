# SPDX-License-Identifier: Apache-2.0
"""Options of group [compute]: the service hosts of a process, their nodes and timing."""

from oslo_config import cfg

GROUP = "compute"

OPTS = [
    cfg.ListOpt(
        "hosts",
        default=[],
        sample_default=["compute[00-09]"],
        help="Service hosts of this process. A range in brackets expands with its leading zeros: 'compute[00-09]' is "
        "ten hosts. No two processes may have the same host. Empty: one host with this machine's name.",
    ),
    cfg.IntOpt(
        "nodes_per_host",
        default=1,
        min=1,
        max=10000,
        help="Nodes of each service host, named HOST/node0, HOST/node1 and so on. They get the shapes of the "
        "[shape:NAME] groups in turn, by their shares. The first shape of a host depends only on its name; hosts with "
        "consecutive numbers follow each other.",
    ),
    cfg.ListOpt(
        "availability_zones",
        default=["nova"],
        help="Availability zones, assigned to the service hosts in turn. A shape's zone takes precedence.",
    ),
    cfg.ListOpt(
        "locations",
        default=[],
        help="Locations, such as racks, assigned to the service hosts in turn and reported as the fact 'location'. "
        "Empty: no location.",
    ),
    cfg.StrOpt(
        "host_network",
        default="",
        help="Network of the service hosts' addresses, such as 10.0.0.0/16, assigned in turn: host7 has the eighth "
        "usable address. Nodes report them. Empty: no address.",
    ),
    cfg.StrOpt(
        "state_path",
        default="",
        help="Folder of the journals and simulated guests, with a subfolder per service host. It must outlive the "
        "process, and only one process may use it. Empty: the service manager's state folder ($STATE_DIRECTORY), else "
        "~/.local/state/gantt/compute.",
    ),
    cfg.FloatOpt(
        "report_interval",
        default=10.0,
        min=0.1,
        mutable=True,
        help="Seconds between a service host's reports, its heartbeats, to the scheduler. A host silent for [store] "
        "service_down_time gets no more instances.",
    ),
    cfg.FloatOpt(
        "report_jitter",
        default=0.2,
        min=0.0,
        max=0.9,
        mutable=True,
        help="Maximum deviation from report_interval, as a share of it, so that hosts started together do not report "
        "together. The first pause is any part of the interval.",
    ),
    cfg.FloatOpt(
        "call_timeout",
        default=10.0,
        min=0.1,
        help="Seconds to wait for an answer of scheduler or conductor before repeating a call.",
    ),
    cfg.FloatOpt(
        "isolation_timeout",
        default=60.0,
        min=1.0,
        help="Seconds without an acknowledged report after which a host counts as cut off: it may have been fenced, "
        "and its instances may run elsewhere. After its next report it audits, which stops guests whose claims have "
        "ended, before it starts or reports anything. Values below three times report_interval are raised to it. "
        "Choose at most [store] service_down_time, because hosts that are down for longer can be fenced.",
    ),
    cfg.FloatOpt(
        "retry_interval_max",
        default=15.0,
        min=0.1,
        help="Maximum seconds before a retry of a call to scheduler or conductor.",
    ),
    cfg.IntOpt(
        "threads",
        default=12,
        min=1,
        max=1000,
        help="Threads that process messages, shared by the process's service hosts, each of which uses at most one at "
        "a time; a quarter as many more send reports. With RabbitMQ each needs a connection: keep the sum within "
        "[oslo_messaging_rabbit] rpc_conn_pool_size.",
    ),
    cfg.FloatOpt(
        "ended_retention",
        default=3600.0,
        min=0.0,
        help="Seconds that the journal keeps an ended attempt to answer late messages about it. After that the agent "
        "asks the scheduler.",
    ),
]
