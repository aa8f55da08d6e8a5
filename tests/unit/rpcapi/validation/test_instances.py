# SPDX-License-Identifier: Apache-2.0
"""Validation of counts and uuids of instances."""

import uuid

import pytest

from rpcapi import errors
from rpcapi.validation import instances


@pytest.mark.parametrize("count", [1, 1000])
def test_count_within_the_limit_passes(count):
    instances.check_count(count, 1000)


@pytest.mark.parametrize("count", [0, -1, 1001, 100_000, True, 1.0, "1", None])
def test_invalid_count_is_refused(count):
    with pytest.raises(errors.InvalidCount, match="1 to 1000 instances") as caught:
        instances.check_count(count, 1000)
    assert str(caught.value).endswith("; split the request") == (count in (1001, 100_000))


UUID = "0f6f1f0e-5a35-4d6c-9e0b-b1a5d3f0c2a4"  # constant, as parameters of tests must be equal in all processes


@pytest.mark.parametrize("text", ["", "x", UUID.upper(), UUID.replace("-", ""), "{" + UUID + "}", UUID + "\n", 7, None])
def test_only_a_canonical_uuid_is_accepted(text):
    with pytest.raises(errors.InvalidName, match="uuid in lower case"):
        instances.check_uuid(text)


def test_uuids_must_be_a_list_of_different_uuids():
    instances.check_uuids([UUID, str(uuid.uuid4())], 2)
    with pytest.raises(errors.InvalidRequest, match="given twice"):
        instances.check_uuids([UUID, UUID], 2)
    with pytest.raises(errors.InvalidRequest, match="must be a list"):
        instances.check_uuids(UUID, 2)
    with pytest.raises(errors.InvalidCount):
        instances.check_uuids([], 2)


@pytest.mark.parametrize("name", ["web", "Datenbank für Äpfel", "x" * 255])
def test_printable_names_are_accepted(name):
    instances.check_names([name], 1)
    instances.check_names([], 1)


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 256, 7, None, "00000000-0000-0000-0000-000000000001"])
def test_name_that_is_unprintable_too_long_or_a_uuid_is_rejected(name):
    with pytest.raises(errors.InvalidName, match="is not the name of an instance"):
        instances.check_names([name], 1)


@pytest.mark.parametrize("names", [["a"], ["a", "b", "c"], "ab", {"a": "b"}])
def test_names_must_be_a_list_of_one_per_instance(names):
    with pytest.raises(errors.InvalidRequest, match="one name for each of 2 instances"):
        instances.check_names(names, 2)


@pytest.mark.parametrize("text", [UUID, UUID.upper(), UUID.replace("-", ""), "{" + UUID + "}", f"urn:uuid:{UUID}"])
def test_spellings_of_a_uuid_are_one_identity(text):
    assert instances.canonical_uuid(text) == UUID


@pytest.mark.parametrize(
    "text",
    [
        *("", "web", UUID[:-1], UUID + "0", f"{UUID} ", "0x" + UUID[2:], "_" * 32),
        *(
            f"{{{UUID}",
            f"{UUID}}}",
            f"{UUID}}}}}}}",
            f"{{{{{UUID}}}}}",
            f"urn:uuid:{{{UUID}}}",
            f"uuid:{UUID}",
            f"{UUID}-",
        ),
        *(f"{UUID}\n", UUID.replace("-", "", 1), f"{UUID[0]}-{UUID[1:]}"),
    ],
)
def test_other_text_is_no_uuid(text):
    assert instances.canonical_uuid(text) == text


@pytest.mark.parametrize("name", [UUID.upper(), UUID.replace("-", "")])
def test_name_that_spells_a_uuid_is_rejected(name):
    with pytest.raises(errors.InvalidName, match="a uuid would be ambiguous"):
        instances.check_name(name)
