# SPDX-License-Identifier: Apache-2.0
"""Images: lookup by name or id, and the mapping that a request spec carries."""

import pytest

from rpcapi import errors
from rpcapi.spec_builder import images
from rpcapi.spec_builder.images import NO_IMAGE, Image

DEBIAN = Image("debian", "id-1", "qcow2", {"architecture": "x86_64", "os_distro": "debian"})
IMAGES = {"debian": DEBIAN, "plain": Image("plain")}


@pytest.mark.parametrize(
    ("image", "mapping"),
    [
        (NO_IMAGE, {}),
        (Image("plain"), {"id": "plain", "name": "plain"}),
        (
            DEBIAN,
            {
                "id": "id-1",
                "name": "debian",
                "disk_format": "qcow2",
                "properties": {"hw_architecture": "x86_64", "os_distro": "debian"},
            },
        ),
    ],
)
def test_mapping_has_current_property_names_and_no_empty_fields(image, mapping):
    assert image.as_dict() == mapping


def test_added_properties_replace_those_of_the_same_name():
    changed = DEBIAN.with_properties({"os_distro": "fedora", "hw_numa_nodes": "2"})
    assert changed.properties == {"architecture": "x86_64", "os_distro": "fedora", "hw_numa_nodes": "2"}
    assert DEBIAN.properties["os_distro"] == "debian"


@pytest.mark.parametrize("name", ["debian", "id-1"])
def test_image_is_found_by_name_and_by_id(name):
    assert images.find(IMAGES, name) is DEBIAN


@pytest.mark.parametrize(("available_images", "sentence"), [(IMAGES, "known: debian, plain"), ({}, "known: none")])
def test_unknown_image_error_lists_the_known_images(available_images, sentence):
    with pytest.raises(errors.UnknownImage) as caught:
        images.find(available_images, "nope")
    assert sentence in caught.value.sentence
