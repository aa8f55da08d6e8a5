# SPDX-License-Identifier: Apache-2.0
"""Options for replicas that acknowledge writes."""

import pytest
from oslo_config import cfg

from rpcapi.conf import replicas
from rpcapi.conf.replicas import ReplicaAcknowledgement

ONE_SERVER = "redis://127.0.0.1:6379/0"
SENTINEL = "redis+sentinel://s1:26379,s2:26379/service/0"
CLUSTER = "redis+cluster://n1:6379,n2:6379"


@pytest.fixture
def options(tmp_path):
    """Return a function that reads a configuration with this text in group [store], and returns the group."""

    def read(text):
        path = tmp_path / "gantt.conf"
        path.write_text(f"[store]\n{text}")
        conf = cfg.ConfigOpts()
        conf.register_opts(replicas.OPTS, group="store")
        conf([], default_config_files=[str(path)], default_config_dirs=[])
        return conf.store

    return read


@pytest.mark.parametrize(
    ("text", "url", "expected"),
    [
        ("", ONE_SERVER, ReplicaAcknowledgement(0, 1000)),
        ("", "unix:///run/redis.sock?db=0", ReplicaAcknowledgement(0, 1000)),
        ("", "sqlite:////var/lib/store.sqlite", ReplicaAcknowledgement(0, 1000)),
        ("", SENTINEL, ReplicaAcknowledgement(1, 1000)),
        ("", CLUSTER, ReplicaAcknowledgement(1, 1000)),
        ("replicas_acknowledge = 0\n", SENTINEL, ReplicaAcknowledgement(0, 1000)),
        ("replicas_acknowledge = 2\nwait_timeout = 0.0105\n", CLUSTER, ReplicaAcknowledgement(2, 10)),
        ("replicas_acknowledge = 1\n", ONE_SERVER, ReplicaAcknowledgement(1, 1000)),
    ],
)
def test_one_replica_acknowledges_by_default_where_another_server_may_take_over(options, text, url, expected):
    assert replicas.from_options(options(text), url) == expected


@pytest.mark.parametrize(
    ("text", "urls", "warns"),
    [
        ("replicas_acknowledge = 0\n", [ONE_SERVER, CLUSTER], True),
        ("replicas_acknowledge = 0\n", [ONE_SERVER], False),
        ("", [CLUSTER], False),
        ("replicas_acknowledge = 2\n", [CLUSTER], False),
    ],
)
def test_explicit_zero_causes_a_warning_where_a_failover_may_lose_writes(options, caplog, text, urls, warns):
    replicas.warn_of_loss("store", options(text), urls)
    assert [record.getMessage().startswith("[store] replicas_acknowledge is 0") for record in caplog.records] == [
        True
    ] * warns
