# SPDX-License-Identifier: Apache-2.0
"""Traits that prefilters add to a request."""

import pytest

from scheduler_svc.core.prefilters.traits import find_standard_trait, require_traits
from tests.support.scheduler.hosts import request


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
