# SPDX-License-Identifier: Apache-2.0
"""``gantt image``."""

CLOUD = """
[flavor:gpu]
vcpus = 4
memory_mb = 4096
disk_gb = 20
extra_specs = resources1:VGPU=1, trait1:CUSTOM_A=required, accel:device_profile=fpga, "pci_passthrough:alias=a:1,b:1"
[image:debian]
id = 77
disk_format = qcow2
properties = hw_architecture=x86_64, trait:CUSTOM_B=required
[device_profile:fpga]
group = resources:FPGA=1, trait:CUSTOM_AES=required
[pci]
alias = {"name": "a", "resource_class": "CUSTOM_A"}
alias = {"name": "b", "vendor_id": "8086", "product_id": "1572"}
"""


def test_configured_images_are_listed(gantt, config_file):
    config_file.write_text(config_file.read_text() + CLOUD)
    assert [(row["name"], row["id"]) for row in gantt("image", "list", "-f", "json").json] == [("debian", "77")]
