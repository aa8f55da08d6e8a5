# SPDX-License-Identifier: Apache-2.0
"""``gantt image``."""

import json

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


def test_configured_images_are_listed(cluster, gantt, config_file):
    config_file.write_text(config_file.read_text() + CLOUD)
    assert [(row["name"], row["id"]) for row in gantt("image", "list", "-f", "json").json] == [("debian", "77")]


def test_image_of_the_cluster_is_created_shown_and_deleted(cluster, gantt):
    options = ("--id", "88", "--disk-format", "qcow2", "--min-ram", "512", "--property", "hw_architecture=x86_64")
    assert gantt("image", "create", "Debian 12", *options).code == 0
    row = gantt("image", "show", "Debian 12", "-f", "json").json
    assert row == {
        **{"name": "Debian 12", "id": "88", "disk_format": "qcow2", "properties": {"hw_architecture": "x86_64"}},
        **{"min_ram_mb": 512, "min_disk_gb": 0, "source": "cluster"},
    }
    assert gantt("image", "delete", "Debian 12").code == 0
    assert gantt("image", "list", "-f", "json").json == []


def test_replaced_image_loses_what_the_new_one_lacks(cluster, gantt):
    assert gantt("image", "create", "i", "--disk-format", "qcow2", "--property", "hw_architecture=x86_64").code == 0
    assert gantt("image", "create", "i", "--replace").code == 0
    row = gantt("image", "show", "i", "-f", "json").json
    assert (row["disk_format"], row["properties"]) == (None, {})


def test_shown_images_are_imported(cluster, gantt, tmp_path):
    shown = {
        **{"id": "9", "name": "cirros", "disk_format": "qcow2", "min_ram": 64, "min_disk": 1, "visibility": "public"},
        "properties": {"hw_disk_bus": "virtio", "os_hidden": False},
    }
    path = tmp_path / "image.json"
    path.write_text(json.dumps(shown))
    assert gantt("image", "import", str(path)).err == "1 imported\n"
    row = gantt("image", "show", "cirros", "-f", "json").json
    assert (row["id"], row["min_ram_mb"], row["min_disk_gb"]) == ("9", 64, 1)
    assert row["properties"] == {"hw_disk_bus": "virtio", "os_hidden": "False"}
