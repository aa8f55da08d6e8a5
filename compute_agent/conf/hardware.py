# SPDX-License-Identifier: Apache-2.0
"""Device types: the groups [pci_device:NAME] and [device:NAME], with names set by the operator."""

from oslo_config import cfg

PCI_PREFIX = "pci_device:"
DEVICE_PREFIX = "device:"

PCI_OPTS = [
    cfg.StrOpt("vendor_id", regex=r"\A[0-9a-fA-F]{4}\Z", help="PCI vendor of the device, four hexadecimal digits."),
    cfg.StrOpt("product_id", regex=r"\A[0-9a-fA-F]{4}\Z", help="PCI product of the device, four hexadecimal digits."),
    cfg.IntOpt(
        "functions",
        default=1,
        min=1,
        max=255,
        help="Guests that share one device, each by a virtual function. 1: the device is assigned as a whole.",
    ),
    cfg.StrOpt(
        "resource_class",
        default="",
        help="Resource class of the device. Empty: CUSTOM_PCI_VENDOR_PRODUCT, in capitals.",
    ),
    cfg.StrOpt(
        "physical_network",
        default="",
        help="Network of the device, reported as the trait CUSTOM_PHYSNET_NAME. Empty: none.",
    ),
    cfg.ListOpt("traits", default=[], help="Traits of the device."),
]

DEVICE_OPTS = [
    cfg.StrOpt("resource_class", help="Resource class of a part of the device, such as VGPU or CUSTOM_FPGA_X."),
    cfg.IntOpt("instances", default=1, min=1, max=1024, help="Number of parts of one physical device."),
    cfg.ListOpt("traits", default=[], help="Traits of the device, such as CUSTOM_NVIDIA_A100."),
]
