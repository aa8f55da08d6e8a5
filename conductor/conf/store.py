# SPDX-License-Identifier: Apache-2.0
"""Options of group [conductor_store]: where conductors store their records."""

from oslo_config import cfg

from rpcapi import errors
from rpcapi.conf import redis_url, replicas

GROUP = "conductor_store"
MEMORY = "memory://"

BOUNDS = (
    ("record_bytes", 8 << 30, "requests and their instances that are not deleted, about 1 kB an instance."),
    ("queue_bytes", 1 << 30, "the queue of requests and instances with a pending step."),
    (
        "deleted_bytes",
        8 << 30,
        "records of deleted instances, kept during retention, about 1 kB each.",
    ),
)

OPTS = [
    cfg.StrOpt(
        "url",
        default="redis://127.0.0.1:6379/0",
        secret=True,
        help="URL of the Redis that stores requests and instances: redis://user:password@host:port/0, rediss:// for "
        "TLS, or unix://user:password@/path/to/socket?db=0; "
        "redis+sentinel://user:password@host1:26379,host2:26379/service/0 or "
        "redis+cluster://user:password@host1:6379,host2:6379 (rediss+... for TLS) for failover. All conductors of a "
        "cluster share it; their keys begin with 'gantt:{conductor}:'. Configure it with appendonly yes and "
        "appendfsync always, or a crash loses requests accepted just before it. memory:// stores everything in this "
        "process: for trials only.",
    ),
    cfg.FloatOpt(
        "retention",
        default=86400.0,
        min=0.0,
        help="Seconds that the record of a deleted instance is kept. Meanwhile it can be listed, and a delayed "
        "duplicate of its request does not build it again.",
    ),
    cfg.StrOpt(
        "durability",
        default="everysec",
        choices=[
            ("always", "appendfsync always: an acknowledged request survives the machine's power loss"),
            ("everysec", "appendfsync everysec: a second of writes may be lost with the machine"),
        ],
        help="Durability that this Redis is configured for. Only with 'always' does a restart continue in the same "
        "epoch; otherwise instances not yet sent to a host wait until every host is audited. A value stronger than "
        "Redis's real setting may hide lost requests. Without effect for Sentinel and Redis Cluster.",
    ),
    cfg.FloatOpt(
        "max_clock_step",
        default=15.0,
        min=1.0,
        max=3600.0,
        help="Maximum seconds by which one step of the store server's clock advances the store's time, which leases, "
        "retries and retention use; it never goes back, and stands still beyond this step while no conductor runs. "
        "Use the same value for all conductors.",
    ),
    *(
        cfg.IntOpt(
            option,
            default=default,
            min=1 << 20,
            max=1 << 40,
            help=f"Maximum bytes of {text} At the bound new requests are refused; recorded instances continue and can "
            "be deleted.",
        )
        for option, default, text in BOUNDS
    ),
    *replicas.OPTS,
]


def check(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration if the URL is invalid; the error hides the URL, which may contain a password."""
    redis_url.check(GROUP, conf.conductor_store.url)
    replicas.warn_of_loss(GROUP, conf.conductor_store, [conf.conductor_store.url])
    retention, horizon = conf.conductor_store.retention, conf.conductor.repeat_horizon
    if retention < horizon:
        raise errors.BadConfiguration(
            why=f"[conductor_store] retention is {retention:g} s, but [conductor] repeat_horizon is {horizon:g} s: a "
            "request could be repeated after its record was removed; make retention at least as long"
        )
