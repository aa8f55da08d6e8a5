# SPDX-License-Identifier: Apache-2.0
"""Options of group [store]."""

from oslo_config import cfg

from rpcapi.conf import replicas
from scheduler_svc.store import url as store_url

GROUP = "store"

REFUSED = "nothing that instances on hosts depend on is removed or refused."
BOUNDS = (
    (
        "claim_bytes",
        4 << 30,
        "the live claims of a partition, about 1 kB each. At the bound no host is selected until claims have ended: "
        + REFUSED,
    ),
    (
        "tombstone_bytes",
        8 << 30,
        "a partition's tombstones of ended claims, about 270 bytes each. At the bound no host is selected until "
        "tombstones have expired, see tombstone_ttl: " + REFUSED,
    ),
    (
        "pin_bytes",
        1 << 30,
        (
            "the recorded partitions of requests and server groups, if there are several partitions. At the bound "
            "requests that need a new record here get no host."
        ),
    ),
    (
        "host_bytes",
        4 << 30,
        "hosts, their nodes and services in a partition, 1 to 3 kB each. At the bound no new host registers; reports "
        "of known hosts are applied.",
    ),
    (
        "document_bytes",
        1 << 30,
        "the documents of declared namespaces in a partition, except in memcached. At the bound no document is "
        "created; existing ones can be changed and deleted.",
    ),
    (
        "log_bytes",
        1 << 30,
        "a partition's log, which log_length also limits. At the bound the oldest changes are removed, and workers "
        "that have not read them load a full snapshot.",
    ),
)

OPTS: list[cfg.Opt] = [
    cfg.StrOpt(
        "url",
        default="redis://127.0.0.1:6379/0",
        secret=True,
        help="URL of this partition's store: redis://user:password@host:port/db (rediss:// for TLS), "
        "unix:///path/redis.sock?db=0, redis+sentinel://user:password@host1:26379,host2:26379/service/db with all "
        "sentinels, redis+cluster://user:password@host1:6379,host2:6379 with a node of each machine, "
        "postgresql://user:password@host/database, or sqlite:////path/store.sqlite for one machine. docs/backends.md "
        "compares them.",
    ),
    cfg.StrOpt(
        "durability",
        default="everysec",
        choices=[
            ("always", "appendfsync always: an acknowledged claim survives the machine's power loss"),
            (
                "everysec",
                "appendfsync everysec: a claim survives a crash of Redis; a second of writes may be lost with the "
                "machine",
            ),
        ],
        help="Durability that the store's Redis is configured for; a stronger value may hide lost claims. Only with "
        "'always' does a restart continue in the same epoch; otherwise every host is audited first. SQL: 'always' "
        "enables synchronous commits; with 'everysec' SQLite may lose its last commits with the machine.",
    ),
    cfg.IntOpt(
        "log_length",
        default=100000,
        min=1000,
        max=100000000,
        help="Changes kept in the store's log; a worker that falls further behind loads a full snapshot.",
    ),
    cfg.IntOpt(
        "decision_bytes",
        default=33554432,
        min=1048576,
        max=1099511627776,
        help="Maximum bytes of the decisions kept for 'gantt explain'; the oldest are removed. A decision takes about "
        "2 kB for one instance, up to 1 MB for a thousand.",
    ),
    *(
        cfg.IntOpt(option, default=default, min=1 << 20, max=1 << 40, help=f"Maximum bytes of {text}")
        for option, default, text in BOUNDS
    ),
    cfg.FloatOpt(
        "service_down_time",
        default=60.0,
        min=1.0,
        max=86400.0,
        mutable=True,
        help="Seconds without a report after which a service is down and its hosts accept no instances. At least "
        "three times [compute] report_interval: if no host reports for half of this time, the bus is suspected.",
    ),
    cfg.FloatOpt(
        "tombstone_ttl",
        default=86400.0,
        min=60.0,
        max=315360000.0,
        mutable=True,
        help="Seconds that an ended claim's tombstone is kept: longer than any retry, which could recreate the claim.",
    ),
    cfg.FloatOpt(
        "reap_interval",
        default=5.0,
        min=0.1,
        max=3600.0,
        mutable=True,
        help="Seconds, plus or minus a quarter, between a worker's cleanups, which determine how soon workers see "
        "freed capacity and dead services. Deadlines apply regardless.",
    ),
    cfg.FloatOpt(
        "max_clock_step",
        default=15.0,
        min=1.0,
        max=3600.0,
        help="Maximum seconds by which one step of the store server's clock advances a partition's time, so that a "
        "leap of the clock neither marks services down nor ends claims: well below service_down_time and [scheduler] "
        "claim_ttl. Workers clean up at least twice within it. Use the same value for all workers of a partition.",
    ),
    cfg.FloatOpt(
        "collect_timeout",
        default=120.0,
        min=1.0,
        max=86400.0,
        mutable=True,
        help="Seconds that a partition whose store may have lost data waits for the names of forgotten hosts; "
        "meanwhile attempts that may run somewhere are not repeated. Longer than [compute] report_interval.",
    ),
    cfg.StrOpt(
        "known_hosts_file",
        sample_default="/etc/gantt/known-hosts",
        help="File with the service hosts of [rpc] partition, one per line; '#' begins a comment. If the store may "
        "have lost data, these hosts are awaited even if nothing else knows them, until they are fenced or removed.",
    ),
    cfg.FloatOpt(
        "audit_grace",
        default=60.0,
        min=0.0,
        max=86400.0,
        mutable=True,
        help="Seconds after which a confirmed claim is released if its host does not report it.",
    ),
    cfg.StrOpt(
        "state_url",
        secret=True,
        sample_default="memcached://127.0.0.1:11211",
        help="URL of a memcached for the documents of state_namespaces: memcached://host:port or "
        "memcached:///path/memcached.sock. Evicted documents are missing until they are written again.",
    ),
    cfg.ListOpt(
        "state_namespaces",
        default=[],
        sample_default="volume,network",
        help="Host state namespaces stored at state_url. Their writers must rewrite all documents at intervals; "
        "workers see changes within half a second.",
    ),
    *replicas.OPTS,
]


def check(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration for an invalid store URL, without showing its password."""
    store_url.check(GROUP, conf.store.url)
    store_url.check_state_url(GROUP, conf.store.state_url, conf.store.state_namespaces)
