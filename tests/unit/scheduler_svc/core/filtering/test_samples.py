# SPDX-License-Identifier: Apache-2.0
"""The decision record for explain: names of rejected hosts, and the freshness of the worker's table."""

from scheduler_svc.core.drivers.filter import FilterDriver
from scheduler_svc.core.filtering import pipeline, samples
from scheduler_svc.core.weighers import scoring
from tests.unit.scheduler_svc.fakes.hosts import node, request, table


def test_sample_hosts_are_bounded_and_in_table_order():
    nodes = {f"h{number:03}": node({"VCPU": 1}) for number in range(50)}
    with table(nodes).reading() as view:
        samples_ = samples.collect(pipeline.build(["ResourcesFilter"]), view, request({"VCPU": 2}))
    assert samples_ == {"not enough VCPU": [f"h{number:03}" for number in range(samples.MAX_SAMPLES)]}


def test_sample_hosts_match_the_reason_counts():
    nodes = {f"h{number}": node({"VCPU": number + 1}, zone=f"z{number % 3}") for number in range(12)}
    filters = pipeline.build(pipeline.NAMES)
    call = request({"VCPU": 6}, availability_zone="z1", ignore_hosts=("h1", "h7"))
    with table(nodes, reads=FilterDriver(filters, scoring.build({})).reads).reading() as view:
        reasons = pipeline.run(filters, view, call).reasons
        samples_ = samples.collect(filters, view, call)
    assert {reason: min(count, samples.MAX_SAMPLES) for reason, count in reasons.items()} == {
        reason: len(names) for reason, names in samples_.items()
    }
    every = [name for names in samples_.values() for name in names]
    assert len(set(every)) == len(every), "a host falls to one reason"
