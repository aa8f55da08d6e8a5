# SPDX-License-Identifier: Apache-2.0
"""Start, reload and stop of one worker of gantt-placement, and its authentication by Keystone."""

import contextlib
import http.client
import json
import math
import ssl
import threading
import time
import uuid

import pytest
from keystoneauth1 import loading
from keystonemiddleware.fixture import AuthTokenFixture
from keystonemiddleware.opts import list_auth_token_opts
from prometheus_client import REGISTRY

from devstack.servers.ports import free_port
from rpcapi import errors
from rpcapi.daemon import options
from rpcapi.daemon.waiting import ShutdownRequested
from scheduler_svc import metrics
from scheduler_svc.composition.placement_service import PlacementService
from scheduler_svc.conf import placement_service as placement_conf
from scheduler_svc.store.memory import MemoryStore
from tests.support.certificates import write_certificates
from tests.support.placement.client import PlacementClient

SECONDS = 30


class UnreachableStore(MemoryStore):
    """A store that does not answer."""

    def __init__(self):
        super().__init__("default")
        self.was_called = threading.Event()

    def check_identity(self):
        self.was_called.set()
        raise errors.StoreUnavailable(why="not started yet")


@pytest.fixture
def settings(conf, tmp_path):
    placement_conf.register_opts(conf)
    options.register_opts(conf)
    conf.set_override("port", free_port(), group="placement")
    conf.set_override("auth_strategy", "noauth2", group="api")
    return conf


@pytest.fixture
def start(settings):
    services = []

    def start_service():
        store = MemoryStore("default", namespaces=["trait", "resource_class", "placement"])
        services.append(PlacementService(settings, 0, lambda partition: store))
        services[-1].start()
        return services[-1]

    yield start_service
    for service in services:
        service.stop()
        service.wait()


def status_of(settings, path, token=None):
    connection = http.client.HTTPConnection("127.0.0.1", settings.placement.port, timeout=SECONDS)
    connection.request("GET", path, headers={} if token is None else {"x-auth-token": token})
    status = connection.getresponse().status
    connection.close()
    return status


def test_started_service_serves_until_it_is_stopped(settings, start):
    service = start()
    assert status_of(settings, "/resource_providers", "admin") == 200
    service.stop()
    service.wait()
    with pytest.raises(ConnectionRefusedError):
        status_of(settings, "/")


def test_silence_of_the_store_is_measured(settings, start):
    metrics.SILENCE.labels(partition="default").set(math.inf)
    start()
    deadline = time.monotonic() + SECONDS
    while math.isinf(silence := REGISTRY.get_sample_value("gantt_replica_silence_seconds", {"partition": "default"})):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert 0 <= silence < SECONDS


def test_number_of_candidates_is_limited_as_configured(settings, start):
    settings.set_override("max_allocation_candidates", 2, group="placement")
    start()
    with contextlib.closing(PlacementClient(settings.placement.port)) as client:
        for number in range(3):
            path = f"/resource_providers/{uuid.UUID(int=number)}"
            client.change("POST", "/resource_providers", {"name": f"node {number}", "uuid": path[-36:]})
            inventories = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 4}}}
            client.change("PUT", f"{path}/inventories", inventories)
        status, document = client.call("GET", "/allocation_candidates?resources=VCPU:1")
    assert (status, len(document["allocation_requests"])) == (200, 2)


def test_reload_reads_the_policy_file_again(settings, start, tmp_path):
    service = start()
    policy_file = tmp_path / "policy.yaml"
    settings.set_override("policy_file", str(policy_file), group="oslo_policy")
    policy_file.write_text('"placement:resource_providers:list": "@"\n')
    assert status_of(settings, "/resource_providers", "user") == 403
    service.reset()
    assert status_of(settings, "/resource_providers", "user") == 200
    policy_file.write_text("[")
    with pytest.raises(errors.BadConfiguration):
        service.reset()
    assert status_of(settings, "/resource_providers", "user") == 200


def test_reload_reads_the_certificate_again(settings, start, tmp_path):
    folder = write_certificates(tmp_path / "tls")
    settings.set_override("tls_cert_file", str(folder / "server.pem"), group="placement")
    settings.set_override("tls_key_file", str(folder / "server.key"), group="placement")
    service = start()
    address = ("127.0.0.1", settings.placement.port)
    former = ssl.get_server_certificate(address, timeout=SECONDS)
    write_certificates(tmp_path / "renewed")
    for name in ("server.pem", "server.key"):
        (tmp_path / "renewed" / name).replace(folder / name)
    service.reset()
    assert ssl.get_server_certificate(address, timeout=SECONDS) != former


def test_keystone_validates_tokens(settings, start):
    settings.set_override("auth_strategy", "keystone", group="api")
    for group, opts in list_auth_token_opts():
        settings.register_opts(opts, group=group)
    settings.set_override("www_authenticate_uri", "http://keystone.example", group="keystone_authtoken")
    keystone = AuthTokenFixture()
    keystone.setUp()
    try:
        for role in ("admin", "member"):
            keystone.add_token_data(f"token of {role}", role_list=[role], project_id="p", user_id="u")
        start()
        assert status_of(settings, "/") == 200
        assert status_of(settings, "/resource_providers") == 401
        assert status_of(settings, "/resource_providers", "admin") == 401
        assert status_of(settings, "/resource_providers", "token of member") == 403
        assert status_of(settings, "/resource_providers", "token of admin") == 200
    finally:
        keystone.cleanUp()


def test_token_is_not_refused_while_keystone_cannot_validate_it(settings, start):
    settings.set_override("auth_strategy", "keystone", group="api")
    for group, opts in list_auth_token_opts():
        settings.register_opts(opts, group=group)
    settings.register_opts(loading.get_auth_plugin_conf_options("password"), group="keystone_authtoken")
    values = {"auth_type": "password", "auth_url": f"http://127.0.0.1:{free_port()}/v3", "username": "placement"}
    values |= {"password": "p", "project_name": "service", "user_domain_id": "d", "project_domain_id": "d"}
    values |= {"www_authenticate_uri": "http://keystone.example"}
    for name, value in values.items():
        settings.set_override(name, value, group="keystone_authtoken")
    start()

    connection = http.client.HTTPConnection("127.0.0.1", settings.placement.port, timeout=SECONDS)
    connection.request("GET", "/resource_providers", headers={"x-auth-token": "a token"})
    response = connection.getresponse()

    assert (response.status, response.getheader("retry-after")) == (503, "1")
    assert json.load(response)["errors"][0]["status"] == 503
    connection.close()


def test_stop_ends_a_start_that_waits_for_the_store(settings):
    store = UnreachableStore()
    service = PlacementService(settings, 0, lambda partition: store)
    outcomes = []

    def run():
        try:
            service.start()
        except ShutdownRequested as reason:
            outcomes.append(reason)

    starting = threading.Thread(target=run)
    starting.start()
    assert store.was_called.wait(SECONDS)
    service.stop()
    starting.join(SECONDS)
    service.wait()
    assert len(outcomes) == 1
