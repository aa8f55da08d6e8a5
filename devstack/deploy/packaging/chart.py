# SPDX-License-Identifier: Apache-2.0
"""Archive of the Helm chart, with the wheel's version."""

import io
import tarfile
from pathlib import Path

from devstack.deploy.packaging import checkout, versions

PATH = Path("devstack/deploy/packaging/helm/gantt")
UNSET = "0.0.0"


def package(folder: Path, version: str, source: Path = checkout.ROOT) -> Path:
    """Write the archive reproducibly, with sorted files and the commit's time, and return its path."""
    number = versions.semantic(version)
    archive = folder / f"gantt-{number}.tgz"
    seconds = int(checkout.commit_time(source))
    names = sorted(name for name in checkout.tracked_files(source) if Path(name).is_relative_to(PATH))
    with tarfile.open(archive, "w:gz") as tar:
        for name in names:
            text = (source / name).read_text()
            if Path(name).name == "Chart.yaml":
                text = text.replace(f"\nversion: {UNSET}", f"\nversion: {number}")
                text = text.replace(f"\nappVersion: {UNSET}", f"\nappVersion: {version}")
            member = tarfile.TarInfo(str(Path("gantt") / Path(name).relative_to(PATH)))
            member.mtime, member.mode, member.size = seconds, 0o644, len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
    return archive
