# SPDX-License-Identifier: Apache-2.0
"""Start and stop of the worker of gantt-placement-shadow."""

import contextlib
import functools
import http.client
import json
import shutil
import ssl
import threading

import pytest

from devstack.servers.ports import free_port
from rpcapi import errors, tls
from rpcapi.daemon import options
from scheduler_svc.composition.placement_shadow_service import PlacementShadowService
from scheduler_svc.conf import placement_shadow as shadow_conf
from scheduler_svc.placement.http.authentication import trust_tokens
from tests.support.certificates import SERVER_NAME, write_certificates
from tests.support.scheduler.placement import PlacementApi
from tests.support.scheduler.served import serve

SECONDS = 60
TRAITS = ["CUSTOM_A", "CUSTOM_B", "CUSTOM_C"]


@pytest.fixture
def stack():
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture
def placement():
    return PlacementApi()


@pytest.fixture
def gantt():
    return PlacementApi()


@pytest.fixture
def settings(conf, stack, placement):
    shadow_conf.register_opts(conf)
    options.register_opts(conf)
    conf.set_override("port", free_port(), group=shadow_conf.GROUP)
    conf.set_override("placement_url", serve(stack, trust_tokens(placement.application)), group=shadow_conf.GROUP)
    return conf


def override(settings, **options):
    for name, value in options.items():
        settings.set_override(name, value, group=shadow_conf.GROUP)


def begin(settings, stack, gantt_url):
    override(settings, gantt_url=gantt_url)
    service = PlacementShadowService(settings)
    service.start()
    stack.callback(service.wait)
    stack.callback(service.stop)
    return service


def put_traits(settings):
    """Create the traits, one after the other, as a client of the shadow."""
    for name in TRAITS:
        connection = http.client.HTTPConnection("127.0.0.1", settings.placement_shadow.port, timeout=SECONDS)
        headers = {"x-auth-token": "admin", "openstack-api-version": "placement 1.39"}
        connection.request("PUT", f"/traits/{name}", headers=headers)
        assert connection.getresponse().status == 201
        connection.close()


def traits(api):
    return api.call("GET", "/traits?name=startswith:CUSTOM_").json["traits"]


def test_stopped_service_has_repeated_all_that_was_acknowledged(settings, stack, placement, gantt):
    is_open = threading.Event()

    def answer_late(environ, start_response):
        assert is_open.wait(SECONDS)
        return gantt.application(environ, start_response)

    service = begin(settings, stack, serve(stack, trust_tokens(answer_late)))
    stack.callback(is_open.set)
    put_traits(settings)
    service.stop()
    waiting = threading.Thread(target=service.wait)
    waiting.start()
    waiting.join(0.5)
    assert waiting.is_alive() and traits(gantt) == []
    is_open.set()
    waiting.join(SECONDS)
    assert traits(placement) == traits(gantt) == TRAITS
    with pytest.raises(ConnectionRefusedError):
        put_traits(settings)


def test_service_whose_gantt_is_away_serves_and_ends_with_a_warning(settings, stack, placement, caplog):
    settings.set_override("graceful_shutdown_timeout", 1)
    service = begin(settings, stack, f"http://127.0.0.1:{free_port()}")
    put_traits(settings)
    service.stop()
    service.wait()
    assert traits(placement) == TRAITS
    assert "gantt did not answer all of them within 1 s" in caplog.text
    assert f"PUT /traits/{TRAITS[-1]} is dropped" in caplog.text


def test_shadow_speaks_tls_with_its_clients_and_both_ends(settings, stack, placement, gantt, tmp_path):
    folder = write_certificates(tmp_path / "tls")
    node = functools.partial(
        tls.server_context,
        "an end",
        cert_file=str(folder / "node.pem"),
        key_file=str(folder / "node.key"),
        client_ca_file=str(folder / "ca.pem"),
    )
    urls = [serve(stack, trust_tokens(end.application), node) for end in (placement, gantt)]
    files = {"placement_ca_file": "ca.pem", "gantt_ca_file": "ca.pem", "client_cert_file": "client.pem"}
    files |= {"client_key_file": "client.key", "tls_cert_file": "server.pem", "tls_key_file": "server.key"}
    override(settings, placement_url=urls[0], **{name: str(folder / file) for name, file in files.items()})
    service = begin(settings, stack, urls[1])

    def get_traits(authority):
        context = ssl.create_default_context(cafile=authority)
        port = settings.placement_shadow.port
        with contextlib.closing(
            http.client.HTTPSConnection(SERVER_NAME, port, timeout=SECONDS, context=context)
        ) as end:
            end.request("GET", "/traits", headers={"x-auth-token": "admin", "openstack-api-version": "placement 1.39"})
            return json.load(end.getresponse())["traits"]

    assert get_traits(folder / "ca.pem")
    with pytest.raises(ssl.SSLCertVerificationError):
        get_traits(folder / "other-ca.pem")
    # SIGHUP
    renewed = write_certificates(tmp_path / "renewed")
    for name in ("server.pem", "server.key"):
        shutil.copy(renewed / name, folder / name)
    service.reset()
    assert get_traits(renewed / "ca.pem")
    (folder / "server.key").write_text("no key")
    with pytest.raises(errors.BadConfiguration):
        service.reset()
    assert get_traits(renewed / "ca.pem")
