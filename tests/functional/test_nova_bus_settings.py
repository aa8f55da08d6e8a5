# SPDX-License-Identifier: Apache-2.0
"""Nova's scheduler RPC with the kinds of queues and connections that a Nova may be configured with.

Each setting has a virtual host of its own: a queue cannot be declared again with other properties.
"""

import datetime
import os
import uuid
from functools import partial
from pathlib import Path

import oslo_messaging as messaging
import pytest
import requests

from devstack.deploy.users.rabbitmq_users import ADMIN
from devstack.servers.errors import BinaryMissing
from devstack.servers.ports import LOOPBACK, free_port
from devstack.servers.rabbitmq import RabbitNode
from rpcapi import errors
from scheduler_svc.nova.bridge import signals
from tests.support.certificates import SERVER_NAME, write_certificates
from tests.support.clusters.waiting import wait_until
from tests.support.nova import nova_clouds
from tests.support.nova.nova_clouds import NovaClient, NovaCloud, hosts_of, spec
from tests.support.run_folders import claim_folder, release_folder
from tests.support.scheduler.workers import metric_value
from tests.support.servers import missing
from tests.support.stride import in_turn

pytestmark = pytest.mark.timeout(300)

PATIENCE = 10  # seconds for which a caller waits for a worker; the broker keeps its call for longer
KEPT_SECONDS = 120
QUORUM = {"amqp_durable_queues": True, "rabbit_quorum_queue": True, "rabbit_transient_quorum_queue": True}
SETTINGS = {
    "transient": {},
    "durable": {"amqp_durable_queues": True},
    "quorum": QUORUM,
    "managed-names": {**QUORUM, "use_queue_manager": True, "processname": "gantt-test"},
    "streams": {
        **QUORUM,
        **{"use_queue_manager": True, "processname": "gantt-test", "rabbit_stream_fanout": True},
        "rabbit_qos_prefetch_count": 10,
    },
    "tls": {"ssl": True},
}
# By setting: type and durability of the queue of calls, and of the queue of casts to all.
QUEUES = {
    "transient": [("classic", False), ("classic", False)],
    "durable": [("classic", True), ("classic", False)],
    "quorum": [("quorum", True), ("quorum", True)],
    "managed-names": [("quorum", True), ("quorum", True)],
    "streams": [("quorum", True), ("stream", True)],
    "tls": [("classic", False), ("classic", False)],
}


class Broker:
    """A node with a virtual host for each setting, and a port with TLS that requires client certificates."""

    def __init__(self, folder):
        self._tls_port, self._management_port = free_port(), free_port()
        self._certificates = write_certificates(folder / "tls")
        files = {
            name: self._certificates / file for name, file in (("certfile", "server.pem"), ("keyfile", "server.key"))
        }
        settings = [
            f"listeners.ssl.default = {LOOPBACK}:{self._tls_port}",
            f"ssl_options.cacertfile = {self._certificates / 'ca.pem'}",
            *(f"ssl_options.{name} = {path}" for name, path in files.items()),
            "ssl_options.verify = verify_peer",
            "ssl_options.fail_if_no_peer_cert = true",
        ]
        self.node = RabbitNode(
            folder / "node", management_port=self._management_port, settings=settings, vhosts=list(SETTINGS)
        )

    def url(self, setting):
        """Return the URL of a setting's virtual host."""
        url = self.node.url(driver="rabbit", vhost=setting)
        plain, tls = f"{LOOPBACK}:{self.node.ports.amqp}", f"{SERVER_NAME}:{self._tls_port}"
        return url.replace(plain, tls) if setting == "tls" else url

    def options(self, setting):
        """Return the options of [oslo_messaging_rabbit]."""
        files = {"ssl_ca_file": "ca.pem", "ssl_cert_file": "client.pem", "ssl_key_file": "client.key"}
        paths = {name: str(self._certificates / file) for name, file in files.items()}
        return {**SETTINGS[setting], **(paths if setting == "tls" else {})}

    def api(self, path):
        """Return what the management API has."""
        login = (ADMIN, self.node.passwords.of(ADMIN))
        answer = requests.get(f"http://{LOOPBACK}:{self._management_port}/api/{path}", auth=login, timeout=30)
        answer.raise_for_status()
        return answer.json()

    def queue_kinds(self, setting):
        """Return type and durability of the queue of calls, and of one of casts to all."""
        queues = {queue["name"]: queue for queue in self.api(f"queues/{setting}")}
        fanout = next(name for name in queues if name.startswith("scheduler_fanout"))
        return [(queues[name]["type"], queues[name]["durable"]) for name in ("scheduler", fanout)]


@pytest.fixture(scope="module")
def broker():
    folder = claim_folder()
    created = Broker(folder)
    try:
        created.node.start()
    except BinaryMissing as why:
        missing(why)
    yield created
    created.node.stop()
    release_folder(folder)


@pytest.fixture(autouse=True)
def living_group_leader():
    """oslo.messaging names queues by when the first process of the group started; that of a detached run has ended."""
    if not Path("/proc", str(os.getpgrp())).exists():
        os.setpgid(0, 0)


@pytest.fixture
def make_cloud(broker, tmp_path):
    clouds = []

    def make(setting):
        cloud = NovaCloud(broker.url(setting), broker.options(setting), lock_path=str(tmp_path))
        clouds.append(cloud.start())
        return clouds[-1]

    yield make
    for cloud in clouds:
        cloud.stop()
        cloud.client.transport.cleanup()


@pytest.mark.parametrize("setting", SETTINGS)
def test_calls_and_refusals_are_answered_and_casts_to_all_arrive(make_cloud, broker, setting):
    cloud = make_cloud(setting)
    cloud.add_host("h1")
    assert hosts_of(cloud.select(spec())[1]) == [["h1"]]
    with pytest.raises(messaging.RemoteError) as caught:
        cloud.select(spec(ignore_hosts=["h1"]))
    assert caught.value.exc_type == "NoValidHost"
    before = signals.reading_requests(cloud.store)
    cloud.client.cast_to_all("delete_instance_info", host_name="h1", instance_uuid=str(uuid.uuid4()))
    wait_until(lambda: signals.reading_requests(cloud.store) > before, "the cast")
    assert broker.queue_kinds(setting) == QUEUES[setting]


@pytest.mark.parametrize("setting", in_turn(list(SETTINGS)))
def test_call_whose_caller_gave_up_while_nobody_listened_claims_nothing(make_cloud, broker, setting, tmp_path):
    make_cloud(setting).stop()  # some worker must have declared the queue, or the call would be lost
    client = NovaClient(broker.url(setting), rabbit=broker.options(setting), lock_path=str(tmp_path))
    before = metric_value("scheduler_dropped_calls_total", method="select_destinations")
    consumer = str(uuid.uuid4())
    hour_ago = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=1)
    context = nova_clouds.new_context(timestamp=hour_ago.replace(tzinfo=None).isoformat())
    call = client.client.prepare(version="4.5", timeout=KEPT_SECONDS, call_monitor_timeout=PATIENCE).call
    with pytest.raises(messaging.MessagingTimeout):
        call(context, "select_destinations", spec_obj=spec(), instance_uuids=[consumer], return_objects=True)
    cloud = make_cloud(setting)
    cloud.add_host("h1")
    assert hosts_of(cloud.select(spec())[1]) == [["h1"]]
    dropped = partial(metric_value, "scheduler_dropped_calls_total", method="select_destinations")
    wait_until(lambda: dropped() == before + 1, "the end of the late call")
    assert not cloud.store.claims(consumer=consumer)[0]
    client.transport.cleanup()


def test_names_of_queues_need_a_folder_for_locks(broker):
    with pytest.raises(errors.BadConfiguration, match="use_queue_manager needs lock_path, which is not set"):
        NovaCloud(broker.url("managed-names"), broker.options("managed-names")).start()


def test_all_connections_of_the_setting_with_tls_are_encrypted(make_cloud, broker):
    cloud = make_cloud("tls")
    cloud.add_host("h1")
    assert hosts_of(cloud.select(spec())[1]) == [["h1"]]
    wait_until(lambda: broker.api("vhosts/tls/connections"), "the list of connections")
    assert {connection["ssl"] for connection in broker.api("vhosts/tls/connections")} == {True}
