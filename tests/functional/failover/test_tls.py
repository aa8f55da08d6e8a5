# SPDX-License-Identifier: Apache-2.0
"""The store over TLS: all nodes have certificates of the same authority."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from devstack.servers.redis import RedisServer
from devstack.servers.redis_binary import Flavour, redis_binary
from devstack.servers.redis_cluster import SETTINGS, free_node_port
from rpcapi import errors
from scheduler_svc.store.redis import RedisStore
from tests.unit.scheduler_svc.store.store_partition import poll

SLOTS = range(16384)


@pytest.mark.long
def test_cluster_over_tls(make_redis: Callable[..., RedisServer], tmp_path: Path) -> None:
    # Given one node with all slots and only TLS on its port
    certificate, key, port = tmp_path / "node.crt", tmp_path / "node.key", free_node_port()
    words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(["openssl", *words, *names], check=True, capture_output=True)
    tls = [f"tls-port {port}", "tls-cluster yes", "tls-auth-clients no"]
    files = [f"tls-cert-file {certificate}", f"tls-key-file {key}", f"tls-ca-cert-file {certificate}"]
    node = make_redis(binary=redis_binary(Flavour.SYSTEM), settings=[*SETTINGS, *tls, *files])
    with node.client() as client:
        client.execute_command("CLUSTER", "ADDSLOTS", *SLOTS)
        poll(lambda: "cluster_state:ok" in str(client.execute_command("CLUSTER", "INFO")), 20)
    # Then a store that trusts the authority reaches it
    store = RedisStore(f"rediss+cluster://127.0.0.1:{port}?ssl_ca_certs={certificate}", "cell1")
    assert store.check_identity()[0] > 0
    store.close()
    # and one that does not refuses it
    store = RedisStore(f"rediss+cluster://127.0.0.1:{port}", "cell1")
    with pytest.raises(errors.StoreUnavailable, match="certificate verify failed"):
        store.check_identity()
    store.close()
