# SPDX-License-Identifier: Apache-2.0
"""PCI aliases, device profiles and page sizes from a configuration file."""

import pytest
from oslo_config import cfg

from rpcapi import errors
from rpcapi.conf import catalog, flavors
from rpcapi.spec_builder.builder import build_spec
from rpcapi.spec_builder.pci import PciAlias


def read(folder, text):
    path = folder / "gantt.conf"
    path.write_text(text)
    conf = cfg.ConfigOpts()
    conf(["--config-file", str(path)], project="gantt")
    return conf


def test_flavor_may_refer_to_the_catalog(tmp_path):
    conf = read(
        tmp_path,
        '[pci]\nalias = {"name": "a", "resource_class": "CUSTOM_A"}\n'
        "[device_profile:p]\ngroup = resources:FPGA=1, trait:CUSTOM_B=required\ngroup = resources:VGPU=2\n"
        "[guests]\nlarge_page_kb = 1048576\n"
        "[flavor:f]\nvcpus = 1\nmemory_mb = 1024\n"
        "extra_specs = pci_passthrough:alias=a:1, accel:device_profile=p, hw:mem_page_size=large\n",
    )
    loaded_catalog = catalog.load(conf)
    assert loaded_catalog.aliases == {"a": PciAlias("a", "CUSTOM_A")}
    spec = build_spec(flavors.load(conf, loaded_catalog)["f"], catalog=loaded_catalog)
    assert list(spec.groups) == ["_numa0", "_pci0", "_dev0", "_dev1"]
    assert spec.groups["_numa0"]["resources"]["CUSTOM_MEMORY_PAGES_1048576KB"] == 1024
    with pytest.raises(errors.BadConfiguration, match=r"\[flavor:f\].*names unknown PCI alias 'a'"):
        _ = flavors.load(conf)["f"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[pci]\nalias = {}\n", "has no name"),
        ("[device_profile:p]\n", "[device_profile:p] needs at least one option"),
        ("[device_profile:p]\ngroup = trait:CUSTOM_A=required\n", "requests no resources"),
        ("[device_profile:p]\ngroup = FPGA\n", "must be key=value"),
        ("[guests]\nlarge_page_kb = 4\n", "[guests]"),
    ],
)
def test_invalid_option_is_bad_configuration_with_its_group(tmp_path, text, sentence):
    with pytest.raises(errors.BadConfiguration) as caught:
        dict(catalog.load(read(tmp_path, text)).profiles)
    assert sentence in caught.value.sentence
