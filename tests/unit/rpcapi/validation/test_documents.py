# SPDX-License-Identifier: Apache-2.0
"""Validation of extra specs and images that a request carries for filters."""

import pytest

from rpcapi import errors
from rpcapi.validation import documents


def test_valid_documents_pass():
    documents.EXTRA_SPECS("extra_specs", {"hw:boot_menu": "true"})
    documents.IMAGE("image", {})
    documents.IMAGE("image", {"id": "i", "name": "n", "disk_format": None, "properties": {"hw_architecture": "x86_64"}})


@pytest.mark.parametrize(
    ("image", "sentence"),
    [
        ([], "image must be a mapping"),
        ({"colour": "red"}, "image has an unknown key 'colour'"),
        ({"id": "x" * 256}, "image.id must be 1 to 255"),
        ({"properties": {"hw_numa_nodes": 2}}, "image.properties.hw_numa_nodes must be a string, not 2"),
        ({"properties": {"a": "x" * 40_000}}, "image.properties may take at most 32768 bytes"),
        ({"properties": {f"k{n}": "" for n in range(201)}}, "at most 200 entries, got 201"),
    ],
)
def test_invalid_image_is_refused_with_the_reason(image, sentence):
    with pytest.raises(errors.InvalidSpec) as caught:
        documents.IMAGE("image", image)
    assert sentence in caught.value.sentence


@pytest.mark.parametrize(
    ("extra_specs", "sentence"),
    [
        ({"": "x"}, "a key of extra_specs must be 1 to 255 characters, not ''"),
        ({"k" * 256: "x"}, "must be 1 to 255 characters, not 'kkk"),
        ({"hw:numa_nodes": 2}, "extra_specs.hw:numa_nodes must be a string"),
        ({7: "x"}, "a key of extra_specs must be 1 to 255 characters, not 7"),
    ],
)
def test_invalid_extra_specs_are_refused_with_the_reason(extra_specs, sentence):
    with pytest.raises(errors.InvalidSpec) as caught:
        documents.EXTRA_SPECS("extra_specs", extra_specs)
    assert sentence in caught.value.sentence
