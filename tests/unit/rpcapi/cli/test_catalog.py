# SPDX-License-Identifier: Apache-2.0
"""``gantt flavor`` and ``gantt image``."""

import io
import json

import pytest

from tests.unit.rpcapi.cli.fakes import CLOUD


def test_configured_and_built_in_flavors_are_listed(cluster, gantt, config_file):
    with config_file.open("a") as file:
        file.write("[flavor:gpu]\nvcpus = 8\nmemory_mb = 100\nextra_specs = trait:CUSTOM_GPU=required\n")
    rows = {row["name"]: row for row in gantt("flavor", "list", "-f", "json").json}
    assert rows["gpu"]["extra_specs"] == {"trait:CUSTOM_GPU": "required"}
    assert rows["m1.tiny"]["vcpus"] == 1


SIZE = ("--vcpus", "2", "--ram", "1024")


def test_flavor_of_the_cluster_is_found_by_a_boot_without_a_file(cluster, gantt):
    assert gantt("flavor", "create", "big one", *SIZE, "--disk", "7", "--property", "hw:cpu_policy=dedicated").code == 0
    assert gantt("flavor", "show", "big one", "-f", "json").json == {
        **{"name": "big one", "vcpus": 2, "memory_mb": 1024, "disk_gb": 7, "source": "cluster"},
        "extra_specs": {"hw:cpu_policy": "dedicated"},
    }
    assert gantt("boot", "--flavor", "big one").code == 0
    ((spec, _uuids),) = cluster.conductor.builds
    assert (spec.flavor, spec.resources["DISK_GB"]) == ("big one", 7)


def test_configuration_takes_precedence_over_the_cluster_and_that_over_built_in_flavors(cluster, gantt, config_file):
    for name in ("m1.tiny", "own"):
        assert gantt("flavor", "create", name, *SIZE).code == 0
    with config_file.open("a") as file:
        file.write("[flavor:own]\nvcpus = 8\nmemory_mb = 100\n")
    rows = {row["name"]: (row["vcpus"], row["source"]) for row in gantt("flavor", "list", "-f", "json").json}
    assert (rows["m1.tiny"], rows["own"]) == ((2, "cluster"), (8, "configuration"))
    assert rows["m1.small"] == (1, "built-in")


def test_invalid_flavor_of_the_configuration_affects_only_its_own_use(cluster, gantt, config_file):
    with config_file.open("a") as file:
        file.write("[flavor:odd]\nvcpus = 8\nmemory_mb = 100\nextra_specs = oops\n[image:strange]\nproperties = oops\n")
    error = "[flavor:odd] extra_specs: 'oops' must be key=value"
    listed = gantt("flavor", "list", "-f", "json")
    assert "m1.tiny" in [row["name"] for row in listed.json] and error in listed.err
    assert gantt("boot", "--flavor", "m1.tiny").code == 0
    result = gantt("boot", "--flavor", "odd")
    assert (result.code, result.err.count("\n")) == (1, 1) and error in result.err
    result = gantt("boot", "--flavor", "m1.tiny", "--image", "strange")
    assert result.code == 1 and "[image:strange] properties: 'oops' must be key=value" in result.err


def test_existing_flavor_is_replaced_only_by_request(cluster, gantt):
    assert gantt("flavor", "create", "f", *SIZE).code == 0
    assert gantt("flavor", "create", "f", *SIZE).code == 0, "a repeated call is the same request"
    result = gantt("flavor", "create", "f", "--vcpus", "4", "--ram", "1024")
    assert result.code == 1 and "the name is taken" in result.err
    assert gantt("flavor", "create", "f", "--vcpus", "4", "--ram", "1024", "--replace").code == 0
    assert gantt("flavor", "show", "f", "-f", "json").json["vcpus"] == 4


def test_delete_removes_all_or_nothing(cluster, gantt):
    for name in ("a/b", "c"):
        assert gantt("flavor", "create", name, *SIZE).code == 0
    result = gantt("flavor", "delete", "c", "m1.tiny")
    assert (result.code, result.err) == (1, "Flavor m1.tiny of the cluster was not found\n")
    assert len(cluster.scheduler.state["flavor"]) == 2
    assert gantt("flavor", "delete", "c", "a/b").err == "2 deleted\n"
    assert cluster.scheduler.state["flavor"] == {}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--vcpus", "-1", "--ram", "5"), "VCPU"),
        ((*SIZE, "--property", "trait:NOT_A_TRAIT=required"), "NOT_A_TRAIT"),
        ((*SIZE, "--property", "a=1", "--property", "a=2"), "--property must have each key once"),
    ],
)
def test_flavor_that_nothing_can_be_booted_with_is_not_stored(cluster, gantt, options, message):
    result = gantt("flavor", "create", "f", *options)
    assert result.code == 1 and message in result.err
    assert cluster.scheduler.state["flavor"] == {}


LISTED = [
    {
        **{"ID": "1", "Name": "c1", "RAM": 2048, "Disk": 20, "Ephemeral": 5, "VCPUs": 2, "Swap": 512},
        **{"Is Public": True, "RXTX Factor": 1.0, "Properties": {"hw:numa_nodes": "2"}},
    },
    {
        **{"ID": "2", "Name": "c2", "RAM": 512, "Disk": 1, "Ephemeral": 0, "VCPUs": 1, "Swap": ""},
        "Properties": {"hw:cpu_policy": "dedicated", "quota:note": "a, b"},
    },
]


def test_listed_flavors_are_imported_and_replaced(cluster, gantt, tmp_path):
    path = tmp_path / "flavors.json"
    path.write_text(json.dumps(LISTED))
    assert gantt("flavor", "import", str(path), "--dry-run").err == "2 can be imported\n"
    assert cluster.scheduler.state["flavor"] == {}
    for _ in range(2):
        assert gantt("flavor", "import", str(path)).err == "2 imported\n"
    first, second = (gantt("flavor", "show", name, "-f", "json").json for name in ("c1", "c2"))
    assert (first["vcpus"], first["memory_mb"], first["disk_gb"]) == (2, 2048, 26)
    assert first["extra_specs"] == {"hw:numa_nodes": "2"}
    assert second["extra_specs"] == {"hw:cpu_policy": "dedicated", "quota:note": "a, b"}


def test_shown_flavor_is_imported_from_standard_input(cluster, gantt, monkeypatch):
    shown = {"OS-FLV-EXT-DATA:ephemeral": 3, "disk": 4, "id": "1", "name": "s", "ram": 64, "vcpus": 1, "swap": 0}
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(shown | {"properties": {}})))
    assert gantt("flavor", "import", "-").err == "1 imported\n"
    assert gantt("flavor", "show", "s", "-f", "json").json["disk_gb"] == 7


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"Name": "x", "RAM": 1, "VCPUs": "many"}, "x: vcpus must be a whole number, got 'many'"),
        ({"Name": "x", "VCPUs": 1}, "x: ram must be a whole number, got 'None'"),
        ({"RAM": 1, "VCPUs": 1}, "number 3: it has no name"),
        ("text", "number 3: it is not an object"),
        ({"Name": "x", "RAM": 1, "VCPUs": 1, "Properties": "nonsense"}, "x: its properties are not an object"),
        ({"Name": "x", "RAM": 1, "VCPUs": 1, "Properties": {"trait:BAD": "required"}}, "x: "),
        ({"Name": "c1", "RAM": 1, "VCPUs": 1}, "c1: duplicate name"),
    ],
)
def test_nothing_is_imported_unless_all_are_valid(cluster, gantt, tmp_path, row, reason):
    path = tmp_path / "flavors.json"
    path.write_text(json.dumps([*LISTED, row]))
    result = gantt("flavor", "import", str(path))
    assert result.code == 1
    assert result.err.startswith("Nothing imported: 1 of 3 are invalid:\n") and reason in result.err
    assert cluster.scheduler.state["flavor"] == {}


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000])
def test_file_that_is_not_json_is_one_line(cluster, gantt, tmp_path, text):
    path = tmp_path / "flavors.json"
    path.write_text(text)
    result = gantt("flavor", "import", str(path))
    assert result.code == 1 and f"{path} cannot be read as JSON" in result.err


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
