# SPDX-License-Identifier: Apache-2.0
"""The agent's options in the sample file."""

from compute_agent.conf import opts


def test_every_option_is_listed_for_the_sample_file() -> None:
    listed = dict(opts.list_opts())
    assert sorted(listed) == ["compute", "device:NAME", "pci_device:NAME", "shape:NAME", "simulator"]
    assert all(option.help and option.help.endswith(".") for group in listed.values() for option in group)
