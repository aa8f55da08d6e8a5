# SPDX-License-Identifier: Apache-2.0
"""Where the conductors keep their records."""

from oslo_config import cfg

from rpcapi.conf import redis_url, replicas

GROUP = "conductor_store"
MEMORY = "memory://"

OPTS = [
    cfg.StrOpt(
        "url",
        default="redis://127.0.0.1:6379/0",
        secret=True,
        help="The Redis that holds requests and instances: redis://user:password@host:port/0, rediss:// for TLS, or "
        "unix://user:password@/path/to/socket?db=0; redis+sentinel://user:password@host1:26379,host2:26379/service/0 "
        "or redis+cluster://user:password@host1:6379,host2:6379 (rediss+... for TLS) where others take over from one "
        "that fails. All conductors of a cluster share it; their keys begin with "
        "'gantt:{conductor}:'. It should keep what it acknowledged (appendonly yes, appendfsync always), or requests "
        "that were accepted just before a crash are forgotten. memory:// holds all in this process: for trials only.",
    ),
    cfg.FloatOpt(
        "retention",
        default=86400.0,
        min=0.0,
        help="Seconds that the record of a deleted instance is kept. Until then it can be listed, and a delayed "
        "repetition of its request does not build it again.",
    ),
    *replicas.OPTS,
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options of group [conductor_store]."""
    conf.register_opts(OPTS, group=GROUP)


def check(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration for a URL that can be no store's; it is not shown, for a password may be in it."""
    redis_url.check(GROUP, conf.conductor_store.url)
