# SPDX-License-Identifier: Apache-2.0
"""The enabled prefilters in their order, and what they add to a request."""

import dataclasses

import pytest

from rpcapi import errors
from scheduler_svc.core.prefilters import pipeline
from scheduler_svc.core.prefilters.options import PrefilterOptions
from scheduler_svc.core.prefilters.prefilter import Prefilter
from scheduler_svc.core.prefilters.traits import require_traits
from tests.support.scheduler.hosts import request
from tests.unit.scheduler_svc.core.prefilters.rewritten import aggregate_view, server_request

ALWAYS = ["packed_virtqueue_filter", "ephemeral_encryption_filter", "virtio_sound_filter", "tpm_secret_security_filter"]


def names(options):
    return [prefilter.name for prefilter in pipeline.build(options)]


@pytest.mark.parametrize(
    ("option", "added"),
    [
        ("limit_tenants", ["require_tenant_aggregate"]),
        ("tenants_need_aggregate", []),  # changes how the prefilter above works
        ("image_types", ["require_image_type_support"]),
        ("isolated_aggregates", ["isolate_aggregates"]),
        ("image_metadata", ["transform_image_metadata"]),
        ("accelerators", ["accelerators_filter"]),
        ("default_zone", ["map_az_to_placement_aggregate"]),
    ],
)
def test_option_enables_its_prefilter_before_those_that_are_always_applied(option, added):
    assert names(PrefilterOptions(**{option: True})) == [*added, *ALWAYS]


def test_all_prefilters_are_known_by_name():
    everything = PrefilterOptions(**{field.name: True for field in dataclasses.fields(PrefilterOptions)})
    assert tuple(names(everything)) == pipeline.NAMES
    assert names(PrefilterOptions()) == ALWAYS


def test_isolated_aggregates_see_the_traits_of_the_original_request():
    """Traits that another prefilter adds do not open an aggregate that requires them."""
    prefilters = pipeline.build(PrefilterOptions(isolated_aggregates=True))
    aggregates = aggregate_view({"packed": {"trait:COMPUTE_NET_VIRTIO_PACKED": "required"}})
    rewritten = pipeline.run(prefilters, server_request({"hw:virtio_packed_ring": "true"}), aggregates)
    assert rewritten.root_required == ("COMPUTE_NET_VIRTIO_PACKED",)
    assert rewritten.forbidden_aggregates == ("packed",)


def add_trait(name):
    return Prefilter(f"adds {name}", lambda scheduling_request, aggregates: require_traits(scheduling_request, name))


def test_additions_are_recorded_by_prefilter():
    prefilters = [add_trait("CUSTOM_A"), add_trait("CUSTOM_A"), add_trait("CUSTOM_B")]
    rewritten = pipeline.run(prefilters, request(root_required=("CUSTOM_0",)), aggregate_view())
    assert rewritten.root_required == ("CUSTOM_0", "CUSTOM_A", "CUSTOM_B")
    assert rewritten.decision.rewritten == {
        "adds CUSTOM_A": {"root_required": ["CUSTOM_A"]},
        "adds CUSTOM_B": {"root_required": ["CUSTOM_B"]},
    }


def test_recorded_additions_are_lists_as_in_json():
    prefilters = pipeline.build(PrefilterOptions(limit_tenants=True))
    aggregates = aggregate_view({"a": {"filter_tenant_id": "red"}, "b": {"filter_tenant_id": "red"}})
    rewritten = pipeline.run(prefilters, request(project="red"), aggregates)
    assert rewritten.decision.rewritten == {"require_tenant_aggregate": {"member_of": [["a", "b"]]}}


def test_request_without_additions_is_returned_itself():
    before = request()
    assert pipeline.run(pipeline.build(), before, aggregate_view()) is before


def test_volumes_and_ports_are_not_rewritten():
    def refuse(scheduling_request, aggregates):
        raise errors.NoValidHost(reason="for servers only", reasons={})

    before = request(service="volume")
    assert pipeline.run([Prefilter("refuses", refuse)], before, aggregate_view()) is before
    with pytest.raises(errors.NoValidHost):
        pipeline.run([Prefilter("refuses", refuse)], request(), aggregate_view())
