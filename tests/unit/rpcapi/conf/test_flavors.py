# SPDX-License-Identifier: Apache-2.0
"""Flavors from a configuration file, and errors for invalid ones."""

import pytest
from oslo_config import cfg

from rpcapi import errors
from rpcapi.conf import flavors
from rpcapi.spec_builder.builder import build_spec


def load(folder, text):
    path = folder / "gantt.conf"
    path.write_text(text)
    conf = cfg.ConfigOpts()
    conf(["--config-file", str(path)], project="gantt")
    return dict(flavors.load(conf))


def test_without_a_file_no_flavors_are_loaded():
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[], default_config_dirs=[])
    assert flavors.load(conf) == {}


def test_each_group_is_a_flavor(tmp_path):
    loaded = load(
        tmp_path,
        "[flavor:m1.tiny]\nvcpus = 3\nmemory_mb = 100\n"
        "[flavor:gpu]\nvcpus = 8\nmemory_mb = 32768\ndisk_gb = 100\n"
        "extra_specs = trait:CUSTOM_GPU=required, resources:VGPU=1\n",
    )
    assert build_spec(loaded["m1.tiny"]).resources == {"VCPU": 3, "MEMORY_MB": 100}
    assert build_spec(loaded["gpu"]).resources["VGPU"] == 1
    assert build_spec(loaded["gpu"]).required_traits == ["CUSTOM_GPU"]
    assert loaded.keys() == {"m1.tiny", "gpu"}


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("vcpus = 1", "lacks memory_mb"),
        ("vcpus = many\nmemory_mb = 1", "vcpus"),
        ("vcpus = -1\nmemory_mb = 1", "vcpus"),
        ("vcpus = 1\nmemory_mb = 1\nextra_specs = trait:CUSTOM_A", "must be key=value"),
        (
            "vcpus = 1\nmemory_mb = 1\nextra_specs = trait:CUSTOM_A=required,trait:CUSTOM_A=forbidden",
            "with each key once",
        ),
        ("vcpus = 1\nmemory_mb = 1\nextra_specs = group_policy=red", "'group_policy' of flavor 'odd'"),
        ("vcpus = 1\nmemory_mb = 1\nextra_specs = trait:NOPE=required", "Unknown trait 'NOPE'"),
        ("vcpus = 0\nmemory_mb = 0", "got 0"),
    ],
)
def test_invalid_flavor_is_bad_configuration_with_its_group(tmp_path, body, sentence):
    with pytest.raises(errors.BadConfiguration) as caught:
        load(tmp_path, f"[flavor:odd]\n{body}\n")
    assert "[flavor:odd]" in caught.value.sentence
    assert sentence in caught.value.sentence
