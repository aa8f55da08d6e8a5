# SPDX-License-Identifier: Apache-2.0
"""A quoted pair of [flavor:NAME] extra_specs is read wherever it stands in the list.

oslo.config strips a pair of quotes around a whole value before the option parses it. Lists whose first and last pair
were quoted could not be read, nor could a list of one quoted pair.
"""

from pathlib import Path

import pytest
from oslo_config import cfg

from rpcapi.conf import flavors
from rpcapi.spec_builder.catalog import Catalog
from rpcapi.spec_builder.pci import PciAlias

CATALOG = Catalog(aliases={name: PciAlias(name, f"CUSTOM_{name.upper()}") for name in ("nic", "gpu")})
DEVICES = '"pci_passthrough:alias=nic:1,gpu:1"'
CELL_0, CELL_1 = '"hw:numa_cpus.0=0,1"', '"hw:numa_cpus.1=2,3"'
MEMORY = "hw:numa_mem.0=256, hw:numa_mem.1=256"
PAIRS = {
    DEVICES: {"pci_passthrough:alias": "nic:1,gpu:1"},
    f"{DEVICES}, hw:numa_nodes=1": {"pci_passthrough:alias": "nic:1,gpu:1", "hw:numa_nodes": "1"},
    f"hw:numa_nodes=1, {DEVICES}": {"pci_passthrough:alias": "nic:1,gpu:1", "hw:numa_nodes": "1"},
    f"{CELL_0}, hw:numa_nodes=2, {MEMORY}, {CELL_1}": {
        "hw:numa_cpus.0": "0,1",
        "hw:numa_nodes": "2",
        "hw:numa_mem.0": "256",
        "hw:numa_mem.1": "256",
        "hw:numa_cpus.1": "2,3",
    },
}


@pytest.mark.parametrize("text", PAIRS)
def test_pairs_are_read_as_they_are_written(tmp_path: Path, text: str) -> None:
    file = tmp_path / "gantt.conf"
    file.write_text(f"[flavor:one]\nvcpus = 4\nmemory_mb = 512\nextra_specs = {text}\n")
    conf = cfg.ConfigOpts()
    conf(["--config-file", str(file)], project="gantt", default_config_files=[], default_config_dirs=[])
    assert flavors.load(conf, CATALOG)["one"].extra_specs == PAIRS[text]
