# SPDX-License-Identifier: Apache-2.0
"""Hosts with Neutron's agents, on the segments of one network."""

from tests.placement.clouds.cloud import Cloud, Provider, amount

BRIDGE_TRAITS = ("CUSTOM_VNIC_TYPE_NORMAL",)
CARD_TRAITS = ("CUSTOM_VNIC_TYPE_DIRECT", "CUSTOM_VNIC_TYPE_DIRECT_PHYSICAL", "CUSTOM_VNIC_TYPE_MACVTAP")


def _device(name: str, variable: str, segment: str, kilobits: int, traits: tuple[str, ...]) -> Provider:
    """Return a device with the same bandwidth in both directions."""
    inventories = {
        "NET_BW_EGR_KILOBIT_PER_SEC": amount(kilobits),
        "NET_BW_IGR_KILOBIT_PER_SEC": amount(kilobits),
    }
    return Provider(name, variable, inventories, (*traits, f"CUSTOM_PHYSNET_{segment}"))


def _host(number: int, segments: tuple[str, ...], bridge_kilobits: int, card_kilobits: int) -> Provider:
    """Return a host with a bridge and a card's port on each of ``segments``."""
    host = f"compute{number}"
    switch, card = f"{host}:Open vSwitch agent", f"{host}:NIC Switch agent"
    bridges = tuple(
        _device(f"{switch}:br-ex{suffix}", f"{host}:br_ex{suffix}", segment, bridge_kilobits, BRIDGE_TRAITS)
        for suffix, segment in zip(("", "2"), segments, strict=False)
    )
    ports = tuple(
        _device(f"{card}:enp129s0f{port}", f"{host}:pf{port}", segment, card_kilobits, CARD_TRAITS)
        for port, segment in enumerate(segments)
    )
    packets = {"NET_PACKET_RATE_KILOPACKET_PER_SEC": amount(1000)}
    return Provider(
        host,
        host,
        {"VCPU": amount(8), "MEMORY_MB": amount(4096), "DISK_GB": amount(500)},
        children=(
            Provider(switch, f"{host}:ovs_agent", packets, BRIDGE_TRAITS, children=bridges),
            Provider(card, f"{host}:sriov_agent", traits=CARD_TRAITS, children=ports),
        ),
    )


# One host apart from the network's two segments, one on each, and one with little bandwidth on both.
SEGMENTS = Cloud(
    (
        _host(0, ("OTHER",), 5000, 10000),
        _host(1, ("MSN_S1",), 5000, 10000),
        _host(2, ("MSN_S2",), 5000, 10000),
        _host(3, ("MSN_S1", "MSN_S2"), 1000, 1000),
    )
)
