# SPDX-License-Identifier: Apache-2.0
"""Nova's request with defaults."""

import pytest

from tests.unit.devstack.lab.peers.inside import fakes


@pytest.fixture
def nova_request(monkeypatch):
    module = fakes.load(monkeypatch, "nova_request", "nova")
    module.objects.RequestSpec = module.objects.Flavor = fakes.record
    return module


def test_fields_override_the_defaults(nova_request):
    spec = nova_request.spec("flavor", "image", project_id="p", force_hosts=["h"])
    assert (spec.flavor, spec.image, spec.project_id, spec.user_id) == ("flavor", "image", "p", "lab")
    assert (spec.force_hosts, spec.ignore_hosts, spec.num_instances) == (["h"], None, 1)


def test_each_request_is_for_another_instance(nova_request):
    assert len({nova_request.spec(None, None).instance_uuid for _ in range(3)}) == 3


def test_flavor_is_minimal_by_default(nova_request):
    flavor = nova_request.flavor(memory_mb=7, extra_specs={"a": "b"})
    assert (flavor.vcpus, flavor.memory_mb, flavor.root_gb, flavor.swap) == (1, 7, 1, 0)
    assert flavor.extra_specs == {"a": "b"}
