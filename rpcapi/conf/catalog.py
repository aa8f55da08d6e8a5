# SPDX-License-Identifier: Apache-2.0
"""Options of names that flavors refer to: PCI aliases, device profiles, and the size of large pages."""

from oslo_config import cfg

from rpcapi import errors
from rpcapi.conf import pairs
from rpcapi.conf.named_groups import NamedItems
from rpcapi.resources.inventory import MAX_AMOUNT
from rpcapi.spec_builder import device_profiles, pci
from rpcapi.spec_builder.catalog import LARGE_PAGE_KB, Catalog
from rpcapi.spec_builder.device_profiles import DeviceProfile

PCI_GROUP = "pci"
GUESTS_GROUP = "guests"
PREFIX = "device_profile:"
PROFILE_GROUP = f"{PREFIX}NAME"

PCI_OPTS = [
    cfg.MultiStrOpt(
        "alias",
        default=[],
        sample_default=['{"name": "QuickAssist", "vendor_id": "8086", "product_id": "0443", "numa_policy": "legacy"}'],
        help="PCI alias by which flavors request devices, in Nova's JSON format; repeat the option for each alias. "
        "'resource_class', or 'vendor_id' and 'product_id', select the devices, 'traits' are required of them, "
        "'numa_policy' is their NUMA affinity to the guest: required, legacy, preferred or socket.",
    )
]

GUESTS_OPTS = [
    cfg.IntOpt(
        "large_page_kb",
        default=LARGE_PAGE_KB,
        min=5,
        max=MAX_AMOUNT,
        help="Page size in KiB for hw:mem_page_size=large. 'large' has one size in the whole cloud, because requests "
        "are translated before hosts are considered.",
    )
]

PROFILE_OPTS = [
    cfg.MultiStrOpt(
        "group",
        default=[],
        sample_default=["resources:FPGA=1, trait:CUSTOM_AES=required"],
        help="Request group for one device of accel:device_profile=NAME: resources:CLASS=N and trait:NAME=required or "
        "=forbidden, separated by commas; repeat the option for each device.",
    )
]


def load(conf: cfg.ConfigOpts) -> Catalog:
    for group, options in ((PCI_GROUP, PCI_OPTS), (GUESTS_GROUP, GUESTS_OPTS)):
        conf.register_opts(options, group=group)
    profiles = NamedItems(conf, PREFIX, PROFILE_OPTS, _profile)
    try:
        return Catalog(pci.parse(conf[PCI_GROUP].alias), profiles, conf[GUESTS_GROUP].large_page_kb)
    except (cfg.Error, ValueError) as error:
        raise errors.BadConfiguration(why=f"[{GUESTS_GROUP}] {error}") from error


def _profile(name: str, values: cfg.ConfigOpts.GroupAttr) -> DeviceProfile:
    groups = [pairs.parse(f"[{PREFIX}{name}] group", text.split(",")) for text in values.group]
    if not groups:
        raise ValueError("needs at least one option 'group'")
    return device_profiles.parse_profile(name, groups)
