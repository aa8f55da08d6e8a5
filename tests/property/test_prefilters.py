# SPDX-License-Identifier: Apache-2.0
"""Each prefilter compared with plain Python on the request's and the aggregates' dictionaries."""

import dataclasses

import os_traits
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rpcapi import errors
from rpcapi.resources.groups import RequestGroup
from scheduler_svc.core.prefilters import pipeline
from scheduler_svc.core.prefilters.options import PrefilterOptions
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.aggregates import AggregateColumns, AggregateView

ALL_PREFILTERS = PrefilterOptions(*[True] * 5)
PROJECTS = ("p1", "p2", "p3")
TRAITS = ("HW_CPU_X86_VMX", "CUSTOM_GOLD", "CUSTOM_LICENSED")
METADATA = {
    **{f"trait:{name}": ("required", "required", "forbidden") for name in TRAITS},
    "filter_tenant_id": PROJECTS,
    "filter_tenant_id_2": PROJECTS,
    "owner": PROJECTS,
    "rack": ("1", "2"),
}
PROPERTIES = {
    "hw_disk_bus": ("virtio", "scsi", "floppy"),
    "hw_vif_model": ("virtio", "e1000e", "pcnet"),
    "hw_video_model": ("vga", "gop", "crayon"),
    "hw_architecture": ("x86_64", "aarch64", "vax"),
    "hw_viommu_model": ("intel", "smmuv3"),
}
SETTINGS = {
    "virtio_packed_ring": ("true", "no", "on"),
    "ephemeral_encryption": ("yes", "false"),
    "ephemeral_encryption_format": ("luks", "plain", "rot13"),
    "sound_model": ("virtio", "sb16", "ich6"),
    "tpm_version": ("1.2", "2.0"),
}
SECURITY = ("user", "host", "deployment", "none")


def optional_values(values):
    """Return a strategy for dictionaries with some of these keys, each with one of its values."""
    return st.fixed_dictionaries({}, optional={key: st.sampled_from(choices) for key, choices in values.items()})


aggregates = st.lists(optional_values(METADATA), max_size=4).map(
    lambda metadata_list: {f"a{at}": metadata for at, metadata in enumerate(metadata_list)}
)
requests = st.builds(
    lambda project, required, suffixed, disk_format, properties, settings, security: SchedulingRequest(
        "r",
        {"VCPU": 1},
        required_traits=tuple(required),
        groups=(RequestGroup("1", {"FPGA": 1}, tuple(suffixed)),),
        project=project,
        image={
            "disk_format": disk_format,
            "properties": properties | {f"hw_{key}": settings[0][key] for key in settings[0]},
        },
        extra_specs={f"hw:{key}": settings[1][key] for key in settings[1]} | security,
    ),
    st.sampled_from(PROJECTS),
    st.sets(st.sampled_from(TRAITS)),
    st.sets(st.sampled_from(TRAITS)),
    st.sampled_from((None, "raw", "qcow2", "papyrus")),
    optional_values(PROPERTIES),
    st.tuples(optional_values(SETTINGS), optional_values(SETTINGS)),
    optional_values({"hw:tpm_secret_security": SECURITY}),
)


def aggregates_seen(metadata_by_name):
    """Return these aggregates, without members, as a prefilter gets them."""
    aggregates = AggregateColumns(1)
    for name, metadata in metadata_by_name.items():
        aggregates.put(0, name, {"hosts": [], "metadata": metadata})
    return AggregateView(aggregates, 1)


def rewrite(name, request, metadata_by_name=None):
    (prefilter,) = (
        prefilter_candidate
        for prefilter_candidate in pipeline.build(ALL_PREFILTERS)
        if prefilter_candidate.name == name
    )
    return prefilter.rewrite(request, aggregates_seen(metadata_by_name or {}))


def setting(request, key):
    """Return the setting of flavor or image; raises ValueError if they differ."""
    flavor_value, image_value = request.extra_specs.get(f"hw:{key}"), request.image["properties"].get(f"hw_{key}")
    if flavor_value and image_value and flavor_value != image_value:
        raise ValueError(key)
    return flavor_value or image_value


def flag(request, key):
    values = {
        value in ("true", "yes", "on")
        for value in (request.extra_specs.get(f"hw:{key}"), request.image["properties"].get(f"hw_{key}"))
        if value is not None
    }
    if len(values) > 1:
        raise ValueError(key)
    return values == {True}


def trait(name):
    if name not in os_traits.get_traits():
        raise ValueError(name)
    return name


def packed_virtqueue_traits(request):
    return ["COMPUTE_NET_VIRTIO_PACKED"] if flag(request, "virtio_packed_ring") else []


def encryption_traits(request):
    if not flag(request, "ephemeral_encryption"):
        return []
    encryption_format = setting(request, "ephemeral_encryption_format")
    more = [trait(f"COMPUTE_EPHEMERAL_ENCRYPTION_{encryption_format.upper()}")] if encryption_format else []
    return ["COMPUTE_EPHEMERAL_ENCRYPTION", *more]


def sound_traits(request):
    return ["COMPUTE_SOUND_MODEL_VIRTIO"] if setting(request, "sound_model") == "virtio" else []


def tpm_secret_traits(request):
    if setting(request, "tpm_version") is None:
        return []
    security = request.extra_specs.get("hw:tpm_secret_security", "user")
    return [trait(f"COMPUTE_SECURITY_TPM_SECRET_SECURITY_{security.upper()}")]


def image_type_traits(request):
    name = f"COMPUTE_IMAGE_TYPE_{(request.image['disk_format'] or '').upper()}"
    return [name] if name in os_traits.get_traits() else []


def image_metadata_traits(request):
    trait_prefixes = {
        "hw_disk_bus": "COMPUTE_STORAGE_BUS",
        "hw_vif_model": "COMPUTE_NET_VIF_MODEL",
        "hw_video_model": "COMPUTE_GRAPHICS_MODEL",
        "hw_architecture": "HW_ARCH",
        "hw_viommu_model": "COMPUTE_VIOMMU",
    }
    properties = request.image["properties"]
    names = [f"{prefix}_{properties[key].upper()}" for key, prefix in trait_prefixes.items() if key in properties]
    return names if set(names) <= set(os_traits.get_traits()) else []


@pytest.mark.parametrize(
    ("name", "oracle"),
    [
        ("packed_virtqueue_filter", packed_virtqueue_traits),
        ("ephemeral_encryption_filter", encryption_traits),
        ("virtio_sound_filter", sound_traits),
        ("tpm_secret_security_filter", tpm_secret_traits),
        ("require_image_type_support", image_type_traits),
        ("transform_image_metadata", image_metadata_traits),
    ],
)
@settings(max_examples=60, deadline=None)
@given(requests)
def test_prefilter_adds_root_traits(name, oracle, request):
    try:
        expected = oracle(request)
    except ValueError:
        with pytest.raises(errors.InvalidSpec):
            rewrite(name, request)
        return
    rewritten_request = rewrite(name, request)
    assert sorted(rewritten_request.root_required) == sorted(set(expected))
    assert (rewritten_request is request) is not bool(expected)


@settings(max_examples=100, deadline=None)
@given(requests, st.sets(st.sampled_from(TRAITS)), aggregates)
def test_aggregate_with_a_required_trait_is_forbidden_without_it(request, root_required, metadata_by_name):
    request = dataclasses.replace(request, root_required=tuple(root_required))
    traits = {*request.required_traits, *root_required, *request.groups[0].required}
    forbidden = [
        name
        for name, metadata in metadata_by_name.items()
        if any(
            key.startswith("trait:") and value == "required" and key[6:] not in traits
            for key, value in metadata.items()
        )
    ]
    assert sorted(rewrite("isolate_aggregates", request, metadata_by_name).forbidden_aggregates) == forbidden


@settings(max_examples=100, deadline=None)
@given(requests, aggregates)
def test_project_is_limited_to_its_aggregates_and_refused_without_one(request, metadata_by_name):
    project_aggregates = [
        name
        for name, metadata in metadata_by_name.items()
        if request.project in (metadata.get("filter_tenant_id"), metadata.get("filter_tenant_id_2"))
    ]
    if project_aggregates:
        (member_of,) = rewrite("require_tenant_aggregate", request, metadata_by_name).member_of
        assert sorted(member_of) == project_aggregates
    else:
        with pytest.raises(errors.NoValidHost, match="no aggregate for project"):
            rewrite("require_tenant_aggregate", request, metadata_by_name)


@settings(max_examples=60, deadline=None)
@given(requests, aggregates)
def test_rewritten_lists_additions_of_each_prefilter(request, metadata_by_name):
    prefilters = pipeline.build(PrefilterOptions(limit_tenants=True, isolated_aggregates=True, image_types=True))
    try:
        rewritten_request = pipeline.run(prefilters, request, aggregates_seen(metadata_by_name))
    except errors.InvalidSpec:
        return
    for name in pipeline.REWRITTEN:
        additions = [
            value for changes in rewritten_request.decision.rewritten.values() for value in changes.get(name, ())
        ]
        additions = [tuple(value) if isinstance(value, list) else value for value in additions]
        assert [*getattr(request, name), *additions] == list(getattr(rewritten_request, name))
    assert rewritten_request.decision.rewritten.keys() <= set(pipeline.NAMES)
    # A request that no prefilter changed is the same object.
    assert rewritten_request.decision.rewritten or rewritten_request is request


def test_default_prefilters_change_nothing():
    request = SchedulingRequest("r", {"VCPU": 1}, image={"disk_format": "raw", "properties": {"hw_disk_bus": "scsi"}})
    metadata_by_name = {"a": {"trait:CUSTOM_GOLD": "required", "filter_tenant_id": "p1"}}
    assert pipeline.run(pipeline.build(), request, aggregates_seen(metadata_by_name)) is request


@pytest.mark.parametrize("service", ["volume", "network"])
def test_volume_and_network_requests_are_not_rewritten(service):
    prefilters = pipeline.build(PrefilterOptions(limit_tenants=True, isolated_aggregates=True, image_types=True))
    metadata_by_name = {"a": {"trait:CUSTOM_GOLD": "required", "filter_tenant_id": "p1"}}
    request = SchedulingRequest("r", {"DISK_GB": 1}, project="p1", service=service, image={"disk_format": "raw"})
    assert pipeline.run(prefilters, request, aggregates_seen(metadata_by_name)) is request
    assert (
        pipeline.run(prefilters, dataclasses.replace(request, service="compute"), aggregates_seen(metadata_by_name))
        is not request
    )
