# SPDX-License-Identifier: Apache-2.0
"""Page sizes of a guest's memory."""

import pytest

from rpcapi import errors
from tests.unit.rpcapi.spec_builder.plain_request import FLOATING, SINGLE_CELL, group, numa, request

# (extra specs, image properties, fields of the spec)
EXAMPLES = {
    "huge pages": (
        {"hw:mem_page_size": "2MB"},
        {},
        {
            "groups": {"_numa0": group(VCPU=4, CUSTOM_MEMORY_PAGES_2048KB=4096)},
            "numa": numa(SINGLE_CELL, page=2048),
        },
    ),
    "large pages": ({"hw:mem_page_size": "large"}, {}, {"numa": numa(SINGLE_CELL, page=1048576)}),
    "large pages, the image chooses": (
        {"hw:mem_page_size": "large"},
        {"hw_mem_page_size": "2048"},
        {"numa": numa(SINGLE_CELL, page=2048)},
    ),
    "any pages": ({"hw:mem_page_size": "any"}, {}, {"groups": FLOATING, "numa": numa(SINGLE_CELL)}),
    "small pages": ({"hw:mem_page_size": "small"}, {}, {"groups": FLOATING, "numa": numa(SINGLE_CELL)}),
    "pages of 4 KiB are small ones": ({"hw:mem_page_size": "4"}, {}, {"groups": FLOATING}),
}

CONTRADICTIONS = [
    ({"hw:mem_page_size": "huge"}, {}, "a size such as 2MB"),
    ({"hw:mem_page_size": "3"}, {"hw_mem_page_size": "2048"}, "which needs hw:mem_page_size any or large"),
    ({}, {"hw_mem_page_size": "2048"}, "which needs hw:mem_page_size any or large"),
    ({"hw:mem_page_size": "3MB"}, {}, "pages of 3072 KiB do not evenly divide"),
]


@pytest.mark.parametrize(("extra_specs", "properties", "fields"), EXAMPLES.values(), ids=EXAMPLES)
def test_page_size_is_translated_to_the_expected_fields(extra_specs, properties, fields):
    spec = request(extra_specs, properties)
    assert {name: getattr(spec, name) for name in fields} == fields


@pytest.mark.parametrize(("extra_specs", "properties", "sentence"), CONTRADICTIONS)
def test_contradiction_is_refused_with_the_reason(extra_specs, properties, sentence):
    with pytest.raises(errors.InvalidSpec) as caught:
        request(extra_specs, properties)
    assert sentence in caught.value.sentence
