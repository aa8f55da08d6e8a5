# SPDX-License-Identifier: Apache-2.0
"""nova-compute with a driver from this folder or the folder NOVA_DRIVERS: ``compute.py --config-file FILE``."""

import os
import sys
from pathlib import Path

from nova import monkey_patch, virt

if __name__ == "__main__":
    monkey_patch.patch(backend="threading")
    # Nova imports drivers only from its package nova.virt.
    virt.__path__ += [str(Path(__file__).parent / "drivers"), *filter(None, [os.environ.get("NOVA_DRIVERS")])]
    from nova.cmd.compute import main  # Import only after the choice of threads.

    sys.exit(main())
