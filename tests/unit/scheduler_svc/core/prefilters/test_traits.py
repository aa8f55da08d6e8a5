# SPDX-License-Identifier: Apache-2.0
"""Traits that prefilters add to a request, and settings that flavor and image may both have."""

import pytest

from rpcapi import errors
from scheduler_svc.core.prefilters.traits import find_standard_trait, read_flag, read_text, require_traits
from tests.support.scheduler.hosts import request
from tests.unit.scheduler_svc.core.prefilters.rewritten import server_request


def test_traits_are_added_to_those_of_the_root():
    before = request(root_required=("CUSTOM_A",), required_traits=("CUSTOM_B",))
    after = require_traits(before, "CUSTOM_A", "CUSTOM_B", "CUSTOM_C")
    assert after.root_required == ("CUSTOM_A", "CUSTOM_B", "CUSTOM_C")
    assert after.required_traits == ("CUSTOM_B",)
    assert before.root_required == ("CUSTOM_A",)


def test_request_that_has_all_traits_is_returned_itself():
    before = request(root_required=("CUSTOM_A", "CUSTOM_B"))
    assert require_traits(before, "CUSTOM_B") is before
    assert require_traits(before) is before


@pytest.mark.parametrize(
    ("name", "is_standard"), [("HW_CPU_X86_AVX2", True), ("CUSTOM_GOLD", False), ("HW_CPU_X86_AVX9", False)]
)
def test_only_names_of_os_traits_are_standard(name, is_standard):
    assert find_standard_trait(name) == (name if is_standard else None)


@pytest.mark.parametrize(
    ("flavor", "image", "expected"),
    [(None, None, None), ("virtio", None, "virtio"), (None, "virtio", "virtio"), ("virtio", "virtio", "virtio")],
)
def test_text_is_that_of_the_flavor_or_the_image(flavor, image, expected):
    specs = {} if flavor is None else {"hw:sound_model": flavor}
    properties = {} if image is None else {"hw_sound_model": image}
    assert read_text(server_request(specs, properties), "sound_model") == expected


def test_different_texts_are_refused_with_both():
    conflicting = server_request({"hw:sound_model": "virtio"}, {"hw_sound_model": "sb16"})
    with pytest.raises(errors.InvalidSpec, match="hw:sound_model='virtio' and image property hw_sound_model='sb16'"):
        read_text(conflicting, "sound_model")


@pytest.mark.parametrize(
    ("flavor", "image", "expected"),
    [
        (None, None, False),
        ("true", None, True),
        (None, True, True),
        ("yes", "on", True),
        ("no", None, False),
        ("false", "0", False),
    ],
)
def test_flag_compares_meanings_and_not_texts(flavor, image, expected):
    specs = {} if flavor is None else {"hw:virtio_packed_ring": flavor}
    properties = {} if image is None else {"hw_virtio_packed_ring": image}
    assert read_flag(server_request(specs, properties), "virtio_packed_ring") is expected


@pytest.mark.parametrize(("flavor", "image"), [("true", "false"), ("no", "yes")])
def test_contradicting_flags_are_refused(flavor, image):
    conflicting = server_request({"hw:virtio_packed_ring": flavor}, {"hw_virtio_packed_ring": image})
    with pytest.raises(errors.InvalidSpec, match="must be equal"):
        read_flag(conflicting, "virtio_packed_ring")


def test_request_without_flavor_and_image_has_no_settings():
    assert read_text(request(), "sound_model") is None
    assert read_flag(request(), "virtio_packed_ring") is False
