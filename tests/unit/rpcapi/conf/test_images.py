# SPDX-License-Identifier: Apache-2.0
"""Images from a configuration file, and errors for invalid ones."""

import pytest
from oslo_config import cfg

from rpcapi import errors
from rpcapi.conf import images
from rpcapi.spec_builder.images import Image


def read(folder, text):
    path = folder / "gantt.conf"
    path.write_text(text)
    conf = cfg.ConfigOpts()
    conf(["--config-file", str(path)], project="gantt")
    return conf


def test_images_are_read_with_their_properties(tmp_path):
    text = '[image:a]\nproperties = architecture=x86_64, "hw_numa_cpus.0=0,2"\nmin_ram_mb = 512\n[image:b]\nid = 7\n'
    loaded = images.load(read(tmp_path, text))
    assert loaded == {
        "a": Image("a", properties={"architecture": "x86_64", "hw_numa_cpus.0": "0,2"}, min_ram_mb=512),
        "b": Image("b", "7"),
    }
    assert loaded["a"].as_dict()["properties"] == {"hw_architecture": "x86_64", "hw_numa_cpus.0": "0,2"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("properties = x", "[image:a] properties: 'x' must be key=value"),
        ("min_ram_mb = much", "[image:a]"),
        (f"id = {'x' * 300}", "image.id"),
    ],
)
def test_invalid_option_is_bad_configuration_with_its_group(tmp_path, text, sentence):
    with pytest.raises(errors.BadConfiguration) as caught:
        dict(images.load(read(tmp_path, f"[image:a]\n{text}\n")))
    assert sentence in caught.value.sentence
