# SPDX-License-Identifier: Apache-2.0
"""Regression: a server whose zone no aggregate had, such as one that the bridge had yet to read, was built anywhere."""

import uuid

import pytest

from rpcapi import context, objects
from rpcapi.clients.scheduler import SchedulerAPI
from rpcapi.messaging import bus
from scheduler_svc.nova.bus import exceptions
from tests.support.nova.nova_clouds import NovaCloud, destination, hosts_of, new_context, spec
from tests.support.scheduler.hosts import SMALL_REQUEST

UNKNOWN = "unknown availability zone 'z9': no aggregate has it"


@pytest.fixture(params=["filter", "chance", "solver"])
def cloud(request):
    created = NovaCloud()
    created.conf.set_override("driver", request.param, group="scheduler")
    created.start()
    for host, zone in (("h1", "z1"), ("h2", None)):
        provider = created.add_host(host)
        if zone is not None:
            members = {"hosts": [f"@api/{provider}"], "metadata": {"availability_zone": zone}}
            created.put("aggregate", str(uuid.uuid4()), members)
    yield created
    created.stop()


@pytest.fixture
def scheduler(cloud):
    return SchedulerAPI(cloud.conf, bus.get_transport(cloud.conf))


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"force_hosts": ["h1"]},  # openstack server create --availability-zone z9:h1
        {"requested_destination": destination(host="h1", node="h1")},  # a move, or an unshelving, to a host
        {"ignore_hosts": ["h1"]},  # a cold migration away from h1
    ],
)
def test_unknown_zone_selects_no_host(cloud, scheduler, fields):
    ctxt = new_context()
    with pytest.raises(exceptions.NoValidHost, match=UNKNOWN):
        cloud.select(spec(availability_zone="z9", **fields), context=ctxt)
    record = scheduler.explain(context.new(), ctxt["request_id"]).document
    assert (record["outcome"], record["why"]) == ("refused", f"No valid host: {UNKNOWN}")
    assert record["spec"]["availability_zone"] == "z9"


def test_dry_run_says_that_the_zone_is_unknown(cloud, scheduler):
    cloud.follow()
    request_spec = objects.RequestSpec.of(resources=SMALL_REQUEST, availability_zone="z9")
    document = scheduler.dry_run(context.new("p", "u"), request_spec).document
    assert (document["outcome"], document["why"]) == ("refused", f"No valid host: {UNKNOWN}")
    assert (document["dry_run"], document["candidates"], document["verdicts"]) == (True, [], [])


def test_known_and_default_zones_select_hosts_as_before(cloud):
    assert hosts_of(cloud.select(spec(availability_zone="z1"))[1]) == [["h1"]]
    assert hosts_of(cloud.select(spec(availability_zone="nova", ignore_hosts=["h1"]))[1]) == [["h2"]]


def test_rebuild_stays_on_its_host_whatever_became_of_its_zone(cloud):
    rebuilt = spec(
        availability_zone="z9",
        scheduler_hints={"_nova_check_type": ["rebuild"]},
        requested_destination=destination(host="h1", node="h1"),
    )
    assert hosts_of(cloud.select(rebuilt)[1]) == [["h1"]]
