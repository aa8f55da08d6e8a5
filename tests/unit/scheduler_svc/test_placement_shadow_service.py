# SPDX-License-Identifier: Apache-2.0
"""Start and stop of the worker of gantt-placement-shadow."""

import contextlib
import http.client
import threading

import pytest

from devstack.servers.ports import free_port
from rpcapi.daemon import options
from scheduler_svc.conf import placement_shadow as shadow_conf
from scheduler_svc.endpoints.placement.authentication import trust_tokens
from scheduler_svc.placement_shadow_service import PlacementShadowService
from tests.unit.scheduler_svc.fakes.placement import PlacementApi
from tests.unit.scheduler_svc.fakes.served import serve

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


def begin(settings, stack, gantt_url):
    settings.set_override("gantt_url", gantt_url, group=shadow_conf.GROUP)
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
    assert "gantt did not take all requests within 1 s" in caplog.text
    assert f"PUT /traits/{TRAITS[-1]} is dropped" in caplog.text
