# SPDX-License-Identifier: Apache-2.0
"""``gantt flavor``."""


def test_configured_and_built_in_flavors_are_listed(gantt, config_file):
    with config_file.open("a") as file:
        file.write("[flavor:gpu]\nvcpus = 8\nmemory_mb = 100\nextra_specs = trait:CUSTOM_GPU=required\n")
    rows = {row["name"]: row for row in gantt("flavor", "list", "-f", "json").json}
    assert rows["gpu"]["extra_specs"] == {"trait:CUSTOM_GPU": "required"}
    assert rows["m1.tiny"]["vcpus"] == 1
