# SPDX-License-Identifier: Apache-2.0
"""Agents that count guests by image property, and a scheduler worker with ImagePropertiesWeigher."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from compute_agent.attempt import Attempt, Stage
from compute_agent.attempts.activity import NodeActivity
from compute_agent.attempts.calls import ServiceCalls
from compute_agent.attempts.isolation import AuditDuty
from compute_agent.resources.requirements import BuildRequirements
from compute_agent.resources.tracker import ResourceTracker
from compute_agent.runtime.reporter import StatsReporter
from compute_agent.simulator.load import SimulatedLoad
from compute_agent.simulator.profile import HostProfile
from compute_agent.stamps import StampFile
from rpcapi import context, objects
from rpcapi.resources import names
from tests.support.agent.machines import node
from tests.support.scheduler.rack_worker import RackWorker

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
    rack_worker = RackWorker(schema)
    for name, value in {
        "enabled_filters": ["ComputeFilter", "ResourcesFilter"],
        "enabled_weighers": ["ImagePropertiesWeigher"],
        "image_props_weight_multiplier": 1.0,
        "image_props_weight_setting": ["os_distro=2"],
    }.items():
        rack_worker.conf.set_override(name, value, group="filter_scheduler")
    rack_worker.service.start()
    yield rack_worker
    rack_worker.service.stop()
    rack_worker.service.wait()


def report(worker, host, *distros):
    """Report a host with such guests until it has the read keys; return the metrics of its last report."""
    host_node = node(SHAPE.format(host))
    tracker = ResourceTracker([host_node])
    for number, distro in enumerate(distros):
        intent = Attempt(
            f"{host}-{number}", 1, Stage.INTENT, 0, name=host_node.name, allocations={host_node.name: {"VCPU": 1}}
        )
        requirements = BuildRequirements(image={"properties": {"os_distro": distro, "os_type": "linux"}})
        tracker.hold(tracker.admit(intent, requirements))
    sent = []

    class Scheduler:
        def update_resource_stats(self, ctxt, name, stats):
            sent.append(stats)
            return worker.scheduler.update_resource_stats(ctxt, name, stats)

    reporter = StatsReporter(
        SimpleNamespace(host=host, tracker=tracker, activity=NodeActivity(), refusal="", audit_duty=AuditDuty(60.0)),
        partition="default",
        nodes=[host_node],
        load=SimulatedLoad(host, [host_node], tracker, HostProfile),
        scheduler=Scheduler(),
        calls=ServiceCalls(10.0),
        check_folder=lambda: None,
        stamps=StampFile(Path("unused"), "p1"),
        identity=SimpleNamespace(is_served=True),
    )
    reporter.report()
    worker.audit(host)
    reporter.report()
    return sent[-1].nodes[host_node.name]["metrics"]


def place(worker, distro):
    spec = objects.RequestSpec.of(resources={"VCPU": 1}, image={"properties": {"os_distro": distro}})
    uuid = context.new().request_id.removeprefix("req-")
    selections = worker.scheduler.select_destinations(context.new("p", "u"), spec, [uuid])
    return names.host_of(names.canonical(selections.names[selections.chosen[0]]))


def test_servers_are_placed_with_servers_of_the_same_image_property(worker):
    assert report(worker, "west", "ubuntu", "ubuntu", "centos") == {
        "image.os_distro=ubuntu": 2,
        "image.os_distro=centos": 1,
    }
    assert report(worker, "east", "centos", "centos") == {"image.os_distro=centos": 2}, "os_type is not read"
    worker.caught_up()
    assert [place(worker, distro) for distro in ("ubuntu", "centos", "ubuntu")] == ["west", "east", "west"]
