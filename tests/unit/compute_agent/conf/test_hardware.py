# SPDX-License-Identifier: Apache-2.0
"""Groups of device types."""

import pytest
from oslo_config import cfg

from compute_agent.conf import hardware


@pytest.mark.parametrize("value", ["8086", "10DE", "ffff"])
def test_vendor_is_four_hexadecimal_digits(conf: cfg.ConfigOpts, value: str) -> None:
    conf.register_opts(hardware.PCI_OPTS, group="pci_device:nic")
    conf.set_override("vendor_id", value, group="pci_device:nic")
    assert conf["pci_device:nic"].vendor_id == value


@pytest.mark.parametrize("name", ["vendor_id", "product_id"])
@pytest.mark.parametrize("value", ["808", "80860", "808g", "0x8086", "8086 ", "intel-8086"])
def test_other_vendor_or_product_is_rejected(conf: cfg.ConfigOpts, name: str, value: str) -> None:
    conf.register_opts(hardware.PCI_OPTS, group="pci_device:nic")
    with pytest.raises(ValueError, match="doesn't match regex"):
        conf.set_override(name, value, group="pci_device:nic")


@pytest.mark.parametrize(
    ("options", "group", "name", "value"),
    [
        (hardware.PCI_OPTS, "pci_device:nic", "functions", 0),
        (hardware.PCI_OPTS, "pci_device:nic", "functions", 256),
        (hardware.DEVICE_OPTS, "device:gpu", "instances", 0),
        (hardware.DEVICE_OPTS, "device:gpu", "instances", 1025),
    ],
)
def test_number_out_of_range_is_rejected(
    conf: cfg.ConfigOpts, options: list[cfg.Opt], group: str, name: str, value: int
) -> None:
    conf.register_opts(options, group=group)
    with pytest.raises(ValueError, match="Should be"):
        conf.set_override(name, value, group=group)
