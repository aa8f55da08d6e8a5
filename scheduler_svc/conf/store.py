# SPDX-License-Identifier: Apache-2.0
"""Where the store is, and how long it remembers."""

from oslo_config import cfg

from rpcapi.conf import replicas
from scheduler_svc.conf import store_url

GROUP = "store"

OPTS: list[cfg.Opt] = [
    cfg.StrOpt(
        "url",
        default="redis://127.0.0.1:6379/0",
        secret=True,
        help="Where this partition is kept. In Redis: redis://user:password@host:port/db, rediss:// for TLS, or "
        "unix:///path/redis.sock?db=0; redis+sentinel://user:password@host1:26379,host2:26379/service/db or "
        "redis+cluster://user:password@host1:6379,host2:6379 (rediss+... for TLS) where others take over from one "
        "that fails: name all sentinels, or a node of each machine. In SQL: postgresql://user:password@host/database, "
        "or sqlite:////path/store.sqlite for one machine. docs/backends.md tells which is for what.",
    ),
    cfg.StrOpt(
        "durability",
        default="everysec",
        choices=[
            ("always", "appendfsync always: an acknowledged claim survives the machine's power loss"),
            (
                "everysec",
                "appendfsync everysec: one survives the death of Redis; a second may be lost with the machine",
            ),
        ],
        help="How the store's Redis is configured to keep what it acknowledged. Only with 'always' does a restart go "
        "on in the same epoch; otherwise every host is audited before it takes instances again. Claiming more than "
        "Redis does may hide lost claims. For a SQL store: 'always' switches synchronous commits on; 'everysec' leaves "
        "PostgreSQL as it is configured, and lets SQLite lose its last commits with the machine.",
    ),
    cfg.IntOpt(
        "log_length",
        default=100000,
        min=1000,
        max=100000000,
        help="Changes that the store keeps for workers to follow; a worker that falls further behind takes a fresh "
        "copy of everything.",
    ),
    cfg.IntOpt(
        "decisions",
        default=10000,
        min=100,
        max=10000000,
        help="Decisions that the store keeps for 'gantt explain'; about 2 kB each.",
    ),
    cfg.FloatOpt(
        "service_down_time",
        default=60.0,
        min=1.0,
        max=86400.0,
        mutable=True,
        help="Seconds without a report after which a service counts as down and its hosts take no instances.",
    ),
    cfg.FloatOpt(
        "tombstone_ttl",
        default=86400.0,
        min=60.0,
        max=315360000.0,
        mutable=True,
        help="Seconds that the end of a claim is remembered. It must outlive the longest retry: a message delayed "
        "longer could revive what had ended.",
    ),
    cfg.FloatOpt(
        "reap_interval",
        default=5.0,
        min=0.1,
        max=3600.0,
        mutable=True,
        help="Seconds, give or take a quarter, between a worker's rounds of tidying: expired claims, silent services, "
        "old tombstones. Deadlines bind without it; it decides how soon workers see the room and who is down.",
    ),
    cfg.FloatOpt(
        "audit_grace",
        default=60.0,
        min=0.0,
        max=86400.0,
        mutable=True,
        help="Seconds that a confirmed claim which its host does not know is kept, before it is released.",
    ),
    cfg.StrOpt(
        "state_url",
        secret=True,
        sample_default="memcached://127.0.0.1:11211",
        help="A memcached that holds the documents of state_namespaces, beside the store: memcached://host:port, or "
        "memcached:///path/memcached.sock. What it evicts or loses is as if its writer had never told it, until it is "
        "told again; claims are never kept there.",
    ),
    cfg.ListOpt(
        "state_namespaces",
        default=[],
        sample_default="volume,network",
        help="Namespaces of host state whose documents are kept at state_url. Their writers tell everything again now "
        "and then; what they told can be seen by workers half a second later.",
    ),
    *replicas.OPTS,
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options of group [store]."""
    conf.register_opts(OPTS, group=GROUP)


def check(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration for a URL that can be no store's; it is not shown, for a password may be in it."""
    store_url.check(GROUP, conf.store.url)
    store_url.check_state_url(GROUP, conf.store.state_url, conf.store.state_namespaces)
