# SPDX-License-Identifier: Apache-2.0
"""Each prefilter against plain Python on the request's and the aggregates' dictionaries."""

import dataclasses

import os_traits
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rpcapi import errors
from rpcapi.model.groups import RequestGroup
from scheduler_svc.prefilters import pipeline
from scheduler_svc.prefilters.options import PrefilterOptions
from scheduler_svc.request import SchedulingRequest
from scheduler_svc.table.aggregates import AggregateColumns, AggregateView

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
    """Return a strategy for a mapping of some of these keys to one of their values each."""
    return st.fixed_dictionaries({}, optional={key: st.sampled_from(each) for key, each in values.items()})


aggregates = st.lists(optional_values(METADATA), max_size=4).map(
    lambda each: {f"a{at}": told for at, told in enumerate(each)}
)
requests = st.builds(
    lambda project, required, suffixed, disk_format, properties, wishes, security: SchedulingRequest(
        "r",
        {"VCPU": 1},
        required_traits=tuple(required),
        groups=(RequestGroup("1", {"FPGA": 1}, tuple(suffixed)),),
        project=project,
        image={
            "disk_format": disk_format,
            "properties": properties | {f"hw_{key}": wishes[0][key] for key in wishes[0]},
        },
        extra_specs={f"hw:{key}": wishes[1][key] for key in wishes[1]} | security,
    ),
    st.sampled_from(PROJECTS),
    st.sets(st.sampled_from(TRAITS)),
    st.sets(st.sampled_from(TRAITS)),
    st.sampled_from((None, "raw", "qcow2", "papyrus")),
    optional_values(PROPERTIES),
    st.tuples(optional_values(SETTINGS), optional_values(SETTINGS)),
    optional_values({"hw:tpm_secret_security": SECURITY}),
)


def aggregates_seen(told):
    """Return these aggregates as a decision sees them: none has a member."""
    made = AggregateColumns(1)
    for name, metadata in told.items():
        made.put(0, name, {"hosts": [], "metadata": metadata})
    return AggregateView(made, 1)


def rewrite(name, asked, told=None):
    (prefilter,) = (each for each in pipeline.build(ALL_PREFILTERS) if each.name == name)
    return prefilter.rewrite(asked, aggregates_seen(told or {}))


def setting(asked, key):
    """Return what is wished, or an error where flavor and image differ."""
    own, other = asked.extra_specs.get(f"hw:{key}"), asked.image["properties"].get(f"hw_{key}")
    if own and other and own != other:
        raise ValueError(key)
    return own or other


def flag(asked, key):
    said = {
        each in ("true", "yes", "on")
        for each in (asked.extra_specs.get(f"hw:{key}"), asked.image["properties"].get(f"hw_{key}"))
        if each is not None
    }
    if len(said) > 1:
        raise ValueError(key)
    return said == {True}


def trait(name):
    if name not in os_traits.get_traits():
        raise ValueError(name)
    return name


def packed_virtqueue_traits(asked):
    return ["COMPUTE_NET_VIRTIO_PACKED"] if flag(asked, "virtio_packed_ring") else []


def encryption_traits(asked):
    if not flag(asked, "ephemeral_encryption"):
        return []
    wished = setting(asked, "ephemeral_encryption_format")
    more = [trait(f"COMPUTE_EPHEMERAL_ENCRYPTION_{wished.upper()}")] if wished else []
    return ["COMPUTE_EPHEMERAL_ENCRYPTION", *more]


def sound_traits(asked):
    return ["COMPUTE_SOUND_MODEL_VIRTIO"] if setting(asked, "sound_model") == "virtio" else []


def tpm_secret_traits(asked):
    if setting(asked, "tpm_version") is None:
        return []
    kept = asked.extra_specs.get("hw:tpm_secret_security", "user")
    return [trait(f"COMPUTE_SECURITY_TPM_SECRET_SECURITY_{kept.upper()}")]


def image_type_traits(asked):
    name = f"COMPUTE_IMAGE_TYPE_{(asked.image['disk_format'] or '').upper()}"
    return [name] if name in os_traits.get_traits() else []


def image_metadata_traits(asked):
    found = {
        "hw_disk_bus": "COMPUTE_STORAGE_BUS",
        "hw_vif_model": "COMPUTE_NET_VIF_MODEL",
        "hw_video_model": "COMPUTE_GRAPHICS_MODEL",
        "hw_architecture": "HW_ARCH",
        "hw_viommu_model": "COMPUTE_VIOMMU",
    }
    properties = asked.image["properties"]
    names = [f"{prefix}_{properties[key].upper()}" for key, prefix in found.items() if key in properties]
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
def test_traits_are_asked_of_the_host_itself(name, oracle, asked):
    try:
        expected = oracle(asked)
    except ValueError:
        with pytest.raises(errors.InvalidSpec):
            rewrite(name, asked)
        return
    found = rewrite(name, asked)
    assert sorted(found.root_required) == sorted(set(expected))
    assert (found is asked) is not bool(expected)


@settings(max_examples=100, deadline=None)
@given(requests, st.sets(st.sampled_from(TRAITS)), aggregates)
def test_an_aggregate_for_a_trait_is_closed_to_who_does_not_ask_for_it(asked, of_the_root, told):
    asked = dataclasses.replace(asked, root_required=tuple(of_the_root))
    traits = {*asked.required_traits, *of_the_root, *asked.groups[0].required}
    closed = [
        name
        for name, metadata in told.items()
        if any(
            key.startswith("trait:") and value == "required" and key[6:] not in traits
            for key, value in metadata.items()
        )
    ]
    assert sorted(rewrite("isolate_aggregates", asked, told).forbidden_aggregates) == closed


@settings(max_examples=100, deadline=None)
@given(requests, aggregates)
def test_a_project_is_kept_to_its_aggregates_and_refused_without_one(asked, told):
    its = [
        name
        for name, metadata in told.items()
        if asked.project in (metadata.get("filter_tenant_id"), metadata.get("filter_tenant_id_2"))
    ]
    if its:
        (found,) = rewrite("require_tenant_aggregate", asked, told).member_of
        assert sorted(found) == its
    else:
        with pytest.raises(errors.NoValidHost, match="no aggregate is for project"):
            rewrite("require_tenant_aggregate", asked, told)


@settings(max_examples=60, deadline=None)
@given(requests, aggregates)
def test_a_request_tells_what_each_prefilter_added(asked, told):
    wanted = pipeline.build(PrefilterOptions(limit_tenants=True, isolated_aggregates=True, image_types=True))
    try:
        found = pipeline.run(wanted, asked, aggregates_seen(told))
    except errors.InvalidSpec:
        return
    for name in pipeline.REWRITTEN:
        more = [each for added in found.rewritten.values() for each in added.get(name, ())]
        more = [tuple(each) if isinstance(each, list) else each for each in more]
        assert [*getattr(asked, name), *more] == list(getattr(found, name))
    assert found.rewritten.keys() <= set(pipeline.NAMES)
    # What nobody rewrote is the very request.
    assert found.rewritten or found is asked


def test_by_default_nothing_is_asked_that_was_not_wished_for():
    asked = SchedulingRequest("r", {"VCPU": 1}, image={"disk_format": "raw", "properties": {"hw_disk_bus": "scsi"}})
    told = {"a": {"trait:CUSTOM_GOLD": "required", "filter_tenant_id": "p1"}}
    assert pipeline.run(pipeline.build(), asked, aggregates_seen(told)) is asked


@pytest.mark.parametrize("service", ["volume", "network"])
def test_what_is_placed_alone_is_no_server(service):
    wanted = pipeline.build(PrefilterOptions(limit_tenants=True, isolated_aggregates=True, image_types=True))
    told = {"a": {"trait:CUSTOM_GOLD": "required", "filter_tenant_id": "p1"}}
    asked = SchedulingRequest("r", {"DISK_GB": 1}, project="p1", service=service, image={"disk_format": "raw"})
    assert pipeline.run(wanted, asked, aggregates_seen(told)) is asked
    assert pipeline.run(wanted, dataclasses.replace(asked, service="compute"), aggregates_seen(told)) is not asked
