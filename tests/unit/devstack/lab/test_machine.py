# SPDX-License-Identifier: Apache-2.0
"""Description of the machine."""

import os

from devstack.lab import machine


def test_description_is_in_one_sentence():
    description = machine.describe()
    assert description["cores"] == len(os.sched_getaffinity(0))
    assert description["memory_gib"] > 0
    text = machine.sentence(description)
    assert all(str(value) in text for value in description.values())
    assert "\n" not in text
