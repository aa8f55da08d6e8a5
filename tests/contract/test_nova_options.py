# SPDX-License-Identifier: Apache-2.0
"""Options of [nova] that change what the scheduler answers to Nova."""

import pytest

from scheduler_svc.nova.bus import exceptions
from tests.support.nova.nova_clouds import NovaCloud, hosts_of, spec

PCPU = {"PCPU": 3, "MEMORY_MB": 4096, "DISK_GB": 100}  # enough for one guest of the recorded flavor
TRAITS = ["HW_CPU_HYPERTHREADING"]


@pytest.fixture
def make_cloud():
    clouds = []

    def make(**options):
        clouds.append(NovaCloud(**options).start())
        return clouds[-1]

    yield make
    for cloud in clouds:
        cloud.stop()


def test_dedicated_cpus_are_never_vcpu_without_the_fallback(make_cloud):
    cloud = make_cloud(disable_fallback_pcpu_query=True)
    cloud.add_host("h1")
    with pytest.raises(exceptions.NoValidHost, match=r"No valid host was found\. $"):
        cloud.select(spec("dedicated"))
    assert not cloud.store.claims()[0]
    provider = cloud.add_host("h2", PCPU, traits=TRAITS)
    (consumer,), rows = cloud.select(spec("dedicated"))
    assert hosts_of(rows) == [["h2"]], "nor is a host with VCPU an alternate"
    assert cloud.allocations_of(consumer)[0] == {provider: {"PCPU": 3, "MEMORY_MB": 512, "DISK_GB": 4}}
    with pytest.raises(exceptions.NoValidHost, match=r"No valid host was found\. $"):
        cloud.select(spec("dedicated"))


def test_shared_cpus_need_no_fallback(make_cloud):
    cloud = make_cloud(disable_fallback_pcpu_query=True)
    cloud.add_host("h1")
    assert hosts_of(cloud.select(spec())[1]) == [["h1"]]


@pytest.mark.parametrize(("attempts", "alternates"), [(1, 0), (2, 1), (4, 3)])
def test_alternates_are_one_less_than_the_attempts(make_cloud, attempts, alternates):
    cloud = make_cloud(max_attempts=attempts)
    for number in range(5):
        cloud.add_host(f"h{number}")
    ((*names,),) = hosts_of(cloud.select(spec())[1])
    assert len(set(names)) == 1 + alternates
