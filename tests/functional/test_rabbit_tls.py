# SPDX-License-Identifier: Apache-2.0
"""RabbitMQ over TLS, with client certificates, as docs/tls.md configures both ends."""

import logging
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import oslo_messaging
import pytest
from oslo_config import cfg

from devstack.deploy.users.rabbitmq_users import ADMIN
from devstack.servers.errors import BinaryMissing
from devstack.servers.ports import LOOPBACK, free_port
from devstack.servers.rabbitmq import RabbitNode
from rpcapi import errors
from rpcapi.access import broker_users
from rpcapi.access.rabbit_management import BrokerAdministration
from rpcapi.messaging import bus
from tests.support import documentation
from tests.support.certificates import SERVER_NAME, write_certificates
from tests.support.run_folders import claim_folder, release_folder
from tests.support.servers import missing

USER = "conductor"
CALL_SECONDS = 30
RABBIT = "oslo_messaging_rabbit"
ADDRESS_OF_DOCS = "rabbit.example.org"
FOLDERS_OF_DOCS = ("/etc/rabbitmq/tls", "/etc/gantt/tls")


class TlsBroker(NamedTuple):
    """A node that requires client certificates, its ports with TLS, and the folder of all certificates."""

    node: RabbitNode
    port: int
    management_port: int
    certificates: Path

    def of_docs(self, beginning: str, user: str) -> str:
        """Return the block of docs/tls.md with that beginning, for this node, with this user's password."""
        text = block(beginning)
        for folder in FOLDERS_OF_DOCS:
            text = text.replace(folder, str(self.certificates))
        for name in ("5671", "15671"):
            port = self.port if name == "5671" else self.management_port
            text = re.sub(rf"\b{ADDRESS_OF_DOCS}:{name}\b", f"{SERVER_NAME}:{port}", text)
        return text.replace("NAME", user).replace("PASSWORD", self.node.passwords.of(user))

    def url(self, *hosts: str, driver: str = "gantt-rabbit") -> str:
        """The transport URL of the user by these host:port, by default the port with TLS."""
        login = f"{USER}:{self.node.passwords.of(USER)}"
        addresses = hosts or (f"{SERVER_NAME}:{self.port}",)
        return f"{driver}://{','.join(f'{login}@{address}' for address in addresses)}/{broker_users.VHOST}"

    def options(self, **changes: str) -> dict[str, str | bool]:
        """Options of [oslo_messaging_rabbit] with which a connection succeeds, and changes of them."""
        files = {"ssl_ca_file": "ca.pem", "ssl_cert_file": "client.pem", "ssl_key_file": "client.key"}
        paths = {name: f"{self.certificates}/{file}" for name, file in files.items()}
        return {"ssl": True, **paths, **changes}


def block(beginning: str) -> str:
    matches = [text for page, _, text in documentation.blocks() if page == "docs/tls.md" and text.startswith(beginning)]
    assert len(matches) == 1, beginning
    return matches[0]


@pytest.fixture(scope="module")
def broker() -> Iterator[TlsBroker]:
    folder, port, management_port = claim_folder(), free_port(), free_port()
    certificates = write_certificates(folder / "tls")
    settings = block("listeners.tcp").replace(FOLDERS_OF_DOCS[0], str(certificates))
    for name, number in (("listeners.ssl.default = 5671", port), ("management.ssl.port = 15671", management_port)):
        assert name in settings
        beginning = name.rpartition(" ")[0]
        value = f"{LOOPBACK}:{number}" if beginning.startswith("listeners") else str(number)
        settings = settings.replace(name, f"{beginning} {value}")
    # The port without TLS, on loopback, stays: by it the node's start is noticed.
    lines = [line for line in settings.splitlines() if line != "listeners.tcp = none"]
    node = RabbitNode(folder, settings=[*lines, f"management.ssl.ip = {LOOPBACK}"], plugins=["rabbitmq_management"])
    try:
        node.start()
    except BinaryMissing as why:
        missing(why)
    yield TlsBroker(node, port, management_port, certificates)
    node.stop()
    release_folder(folder)


@pytest.fixture
def open_transport() -> Iterator:
    """Open a transport by URL, with these options of [oslo_messaging_rabbit]; it is closed after the test."""
    opened: list[oslo_messaging.Transport] = []

    def open_transport(url: str, options: dict[str, str | bool]) -> oslo_messaging.Transport:
        conf = cfg.ConfigOpts()
        conf([], project="gantt", default_config_files=[], default_config_dirs=[])
        bus.set_rabbit_defaults(conf)
        for name, value in options.items():
            conf.set_override(name, value, group=RABBIT)
        opened.append(bus.get_transport(conf, url))
        return opened[-1]

    yield open_transport
    for transport in opened:
        transport.cleanup()


class Echo:
    @oslo_messaging.expose
    def echo(self, _context: dict, text: str) -> str:
        return text


@pytest.mark.parametrize("driver", ["gantt-rabbit", "rabbit"])
def test_documented_configuration_serves_calls(broker: TlsBroker, driver: str, tmp_path: Path) -> None:
    # Given a service and its caller with the documented options, in files
    transports = []
    for number, user in enumerate((USER, "scheduler")):
        text = broker.of_docs("[DEFAULT]\ntransport_url = gantt-rabbit://conductor:", user)
        file = tmp_path / f"{number}.conf"
        file.write_text(text.replace("gantt-rabbit://conductor:", f"{driver}://{user}:"))
        conf = cfg.ConfigOpts()
        conf(["--config-file", str(file)], project="gantt")
        transports.append(bus.get_transport(conf))
    serving, calling = transports
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bus, "access_of", lambda _service: None)
        target = oslo_messaging.Target(topic=USER, server="one")
        server = bus.get_server(serving, target, [Echo()], executor="threading")
    server.start()
    # When it is called through the same broker, then it answers
    try:
        client = bus.get_client(calling, oslo_messaging.Target(topic=USER), timeout=CALL_SECONDS)
        assert client.call({}, "echo", text="by TLS") == "by TLS"
    finally:
        server.stop()
        server.wait()
        for transport in transports:
            transport.cleanup()


REFUSALS = {
    "wrong authority": (
        {"ssl_ca_file": "{folder}/other-ca.pem"},
        "certificate of the server is not accepted: self-signed",
    ),
    "system's authorities": ({"ssl_ca_file": ""}, "certificate of the server is not accepted"),
    # The stock driver would verify nothing.
    "system's authorities with a version": (
        {"ssl_ca_file": "", "ssl_version": "TLSv1_2"},
        "certificate of the server is not accepted",
    ),
    "no client certificate": ({"ssl_cert_file": "", "ssl_key_file": ""}, "require(s)? a client certificate"),
    "no client certificate with TLS 1.2": (
        {"ssl_cert_file": "", "ssl_key_file": "", "ssl_version": "TLSv1_2"},
        "may require a client certificate",
    ),
    "client certificate of another authority": (
        {"ssl_cert_file": "{folder}/stranger.pem", "ssl_key_file": "{folder}/stranger.key"},
        "does not trust the CA of the client|may require a client certificate that it trusts",
    ),
}


@pytest.mark.parametrize(("changes", "message"), REFUSALS.values(), ids=REFUSALS)
def test_refused_connection_says_why_at_once_and_logs_no_password(
    broker: TlsBroker, open_transport, changes, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    files = {name: value.format(folder=broker.certificates) for name, value in changes.items()}
    transport = open_transport(broker.url(), broker.options(**files))
    with pytest.raises(errors.Unavailable, match=message) as refused:
        bus.connect(transport)
    assert f"{SERVER_NAME}:{broker.port}" in str(refused.value)
    password = broker.node.passwords.of(USER)
    assert password not in caplog.text + str(refused.value)


def test_status_command_checks_the_bus_by_tls(broker: TlsBroker, tmp_path: Path) -> None:
    """With the documented options gantt-status reads what it shows from the broker; another authority is an error."""
    text = broker.of_docs("[DEFAULT]\ntransport_url = gantt-rabbit://conductor:", "operator")
    text = text.replace("gantt-rabbit://conductor:", "gantt-rabbit://operator:") + "[rpc]\ncall_timeout = 0.3\n"

    def letters(text: str) -> str:
        """Return what the command says of dead letters; no service answers its other checks."""
        conf = tmp_path / "status.conf"
        conf.write_text(text)
        command = [str(Path(sys.executable).with_name("gantt-status")), "--config-file", str(conf), "upgrade", "check"]
        shown = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
        assert broker.node.passwords.of("operator") not in shown.stdout + shown.stderr
        return " ".join(shown.stdout.replace("|", " ").split()).partition("Check: Dead letters ")[2]

    assert letters(text).startswith("Result: Success Details: none")
    refused = letters(text.replace("/ca.pem", "/other-ca.pem"))
    assert refused.startswith("Result: Failure Details: ") and "is not accepted" in refused


def test_wrong_name_is_refused(broker: TlsBroker, open_transport) -> None:
    transport = open_transport(broker.url(f"{LOOPBACK}:{broker.port}"), broker.options())
    with pytest.raises(errors.Unavailable, match=rf"not valid for '{LOOPBACK}'"):
        bus.connect(transport)


def test_port_without_tls_is_named(broker: TlsBroker, open_transport) -> None:
    transport = open_transport(broker.url(f"{SERVER_NAME}:{broker.node.ports.amqp}"), broker.options())
    with pytest.raises(errors.Unavailable, match="port does not use TLS"):
        bus.connect(transport)


def test_call_is_refused_long_before_its_timeout(broker: TlsBroker, open_transport) -> None:
    transport = open_transport(broker.url(), broker.options(ssl_ca_file=f"{broker.certificates}/other-ca.pem"))
    client = bus.get_client(transport, oslo_messaging.Target(topic="scheduler"), timeout=600)
    began = time.monotonic()
    with pytest.raises(oslo_messaging.MessageDeliveryFailure, match="is not accepted"):
        client.call({}, "echo", text="never sent")
    assert time.monotonic() - began < 300  # its timeout is 600


def test_each_of_several_hosts_is_verified_by_its_own_name(
    broker: TlsBroker, open_transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(random, "shuffle", lambda _hosts: None)  # the driver connects to the hosts in their order
    target = oslo_messaging.Target(topic="scheduler")
    # Given a first host that is down, the second is verified as itself
    transport = open_transport(broker.url(f"{LOOPBACK}:1", f"{SERVER_NAME}:{broker.port}"), broker.options())
    bus.get_client(transport, target).cast({}, "echo", text="by the second host")
    # and a first host with a wrong name is passed over
    transport = open_transport(
        broker.url(f"{LOOPBACK}:{broker.port}", f"{SERVER_NAME}:{broker.port}"), broker.options()
    )
    bus.get_client(transport, target).cast({}, "echo", text="by the second host")
    # Given several hosts with a wrong name, no other host's name counts for them
    address = f"{LOOPBACK}:{broker.port}"
    transport = open_transport(broker.url(address, address), broker.options())
    with pytest.raises(errors.Unavailable, match=rf"not valid for '{LOOPBACK}'"):
        bus.connect(transport)


def test_management_api_by_the_documented_url(broker: TlsBroker) -> None:
    url = broker.of_docs("https://", ADMIN).strip()
    administration = BrokerAdministration(url)
    user = broker_users.agent("h1")
    administration.enroll(user, "word")
    assert administration.revoke(user.name)

    password = broker.node.passwords.of(ADMIN)
    for change, message in (
        (("/ca.pem", "/other-ca.pem"), "certificate of the server is not accepted"),
        ((f"@{SERVER_NAME}:", f"@{LOOPBACK}:"), f"not valid for '{LOOPBACK}'"),
        ((f"?ssl_ca_file={broker.certificates}/ca.pem", "?"), "is not accepted"),
        ((url.partition("&")[2], ""), "a client certificate"),
        ((str(broker.management_port), str(broker.node.ports.amqp)), "port does not use TLS"),
    ):
        with pytest.raises(errors.Unavailable, match=message) as refused:
            BrokerAdministration(url.replace(*change)).revoke(user.name)
        assert password not in str(refused.value)
