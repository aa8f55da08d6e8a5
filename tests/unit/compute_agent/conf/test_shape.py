# SPDX-License-Identifier: Apache-2.0
"""Groups [shape:NAME] of a configuration file."""

from pathlib import Path

import pytest
from oslo_config import cfg

from compute_agent.conf import shape


@pytest.fixture
def read(tmp_path: Path):
    def read_text(text: str) -> tuple[cfg.ConfigOpts, list[str]]:
        path = tmp_path / "gantt.conf"
        path.write_text(text)
        conf = cfg.ConfigOpts()
        conf(["--config-file", str(path)], project="gantt")
        return conf, shape.register_opts(conf)

    return read_text


def test_each_shape_of_the_files_is_a_group(read) -> None:
    conf, groups = read("[shape:small]\nvcpus = 4\n[compute]\nx = 1\n[shape:big]\n[shapes]\n")
    assert groups == ["shape:big", "shape:small"]
    assert (conf["shape:small"].vcpus, conf["shape:big"].vcpus) == (4, 32)


def test_file_without_shapes_has_none(read) -> None:
    assert read("[compute]\nhosts = a\n")[1] == []


def test_maps_are_read_by_class_and_by_page_size(read) -> None:
    conf, (group,) = read("[shape:x]\nresources = VGPU:4,CUSTOM_FPGA:2\nhuge_pages = 2048:512,1048576:2\n")
    assert conf[group].resources == {"VGPU": 4, "CUSTOM_FPGA": 2}
    assert conf[group].huge_pages == {"2048": 512, "1048576": 2}


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("vcpus = -1", "vcpus"),
        ("cpu_allocation_ratio = -0.5", "cpu_allocation_ratio"),
        ("numa_cells = 65", "numa_cells"),
        ("threads_per_core = 0", "threads_per_core"),
        ("huge_pages = 2048:0", "huge_pages"),
        ("resources = VGPU:-1", "resources"),
        ("kind = router", "kind"),
        ("share = 0", "share"),
    ],
)
def test_value_out_of_range_is_rejected(read, line: str, name: str) -> None:
    conf, (group,) = read(f"[shape:x]\n{line}\n")
    with pytest.raises(cfg.ConfigFileValueError, match=name):
        conf[group][name]
