# SPDX-License-Identifier: Apache-2.0
"""Groups of device types."""

import pytest
from oslo_config import cfg

from compute_agent.conf import hardware


def test_group_has_the_options_of_its_type(conf: cfg.ConfigOpts) -> None:
    for _ in range(2):  # two shapes may have the same device
        hardware.register_opts(conf, "pci_device:nic")
        hardware.register_opts(conf, "device:gpu")
    assert "vendor_id" in conf["pci_device:nic"] and "instances" not in conf["pci_device:nic"]
    assert "instances" in conf["device:gpu"] and "vendor_id" not in conf["device:gpu"]


@pytest.mark.parametrize("value", ["8086", "10DE", "ffff"])
def test_vendor_is_four_hexadecimal_digits(conf: cfg.ConfigOpts, value: str) -> None:
    hardware.register_opts(conf, "pci_device:nic")
    conf.set_override("vendor_id", value, group="pci_device:nic")
    assert conf["pci_device:nic"].vendor_id == value


@pytest.mark.parametrize("name", ["vendor_id", "product_id"])
@pytest.mark.parametrize("value", ["808", "80860", "808g", "0x8086", "8086 ", "intel-8086"])
def test_other_vendor_or_product_is_rejected(conf: cfg.ConfigOpts, name: str, value: str) -> None:
    hardware.register_opts(conf, "pci_device:nic")
    with pytest.raises(ValueError, match="doesn't match regex"):
        conf.set_override(name, value, group="pci_device:nic")


@pytest.mark.parametrize(
    ("group", "name", "value"),
    [
        ("pci_device:nic", "functions", 0),
        ("pci_device:nic", "functions", 256),
        ("device:gpu", "instances", 0),
        ("device:gpu", "instances", 1025),
    ],
)
def test_number_out_of_range_is_rejected(conf: cfg.ConfigOpts, group: str, name: str, value: int) -> None:
    hardware.register_opts(conf, group)
    with pytest.raises(ValueError, match="Should be"):
        conf.set_override(name, value, group=group)
