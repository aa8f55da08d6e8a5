# SPDX-License-Identifier: Apache-2.0
"""Agents that count guests by their images, and a scheduler worker that puts like to like."""

import pytest

from compute_agent.activity import NodeActivity
from compute_agent.attempt import Attempt, Stage
from compute_agent.calls import ServiceCalls
from compute_agent.load import SimulatedLoad
from compute_agent.profile import HostProfile
from compute_agent.reporter import StatsReporter
from compute_agent.tracker import ResourceTracker
from compute_agent.wish import BuildRequirements
from rpcapi import context, objects
from rpcapi.model import names
from tests.unit.compute_agent.machines import node
from tests.unit.scheduler_svc.rack_worker import RackWorker

SHAPE = """
    [compute]
    hosts = {}
    [shape:small]
    vcpus = 64
    counted_image_properties = os_distro,os_type
"""


@pytest.fixture
def worker(tmp_path):
    schema = tmp_path / "rack.json"
    schema.write_text("{}")
    made = RackWorker(schema)
    for name, value in {
        "enabled_filters": ["ComputeFilter", "ResourcesFilter"],
        "enabled_weighers": ["ImagePropertiesWeigher"],
        "image_props_weight_multiplier": 1.0,
        "image_props_weight_setting": ["os_distro=2"],
    }.items():
        made.conf.set_override(name, value, group="filter_scheduler")
    made.service.start()
    yield made
    made.service.stop()
    made.service.wait()


def report(worker, host, *distros):
    """Let a host with such guests report until it knows what is read; return the metrics of its last report."""
    its = node(SHAPE.format(host))
    tracker = ResourceTracker([its])
    for number, distro in enumerate(distros):
        intent = Attempt(f"{host}-{number}", 1, Stage.INTENT, 0, name=its.name, allocations={its.name: {"VCPU": 1}})
        wish = BuildRequirements(image={"properties": {"os_distro": distro, "os_type": "linux"}})
        tracker.hold(tracker.admit(intent, wish))
    sent = []

    class Scheduler:
        def update_resource_stats(self, ctxt, name, stats):
            sent.append(stats)
            return worker.scheduler.update_resource_stats(ctxt, name, stats)

    reporter = StatsReporter(
        host=host,
        partition="default",
        nodes=[its],
        tracker=tracker,
        load=SimulatedLoad(host, [its], tracker, HostProfile),
        activity=NodeActivity(),
        scheduler=Scheduler(),
        calls=ServiceCalls(10.0),
        incarnation=1,
    )
    reporter.report()
    worker.audit(host)
    reporter.report()
    return sent[-1].nodes[its.name]["metrics"]


def place(worker, distro):
    spec = objects.RequestSpec.of(resources={"VCPU": 1}, image={"properties": {"os_distro": distro}})
    uuid = context.new().request_id.removeprefix("req-")
    given = worker.scheduler.select_destinations(context.new("p", "u"), spec, [uuid])
    return names.host_of(names.canonical(given.names[given.chosen[0]]))


def test_servers_go_where_alike_ones_run(worker):
    assert report(worker, "west", "ubuntu", "ubuntu", "centos") == {
        "image.os_distro=ubuntu": 2,
        "image.os_distro=centos": 1,
    }
    assert report(worker, "east", "centos", "centos") == {"image.os_distro=centos": 2}, "os_type is read by nobody"
    worker.caught_up()
    assert [place(worker, distro) for distro in ("ubuntu", "centos", "ubuntu")] == ["west", "east", "west"]
