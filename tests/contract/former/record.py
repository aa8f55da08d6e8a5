# SPDX-License-Identifier: Apache-2.0
"""Records the contract of a checkout: ``cd CHECKOUT && python .../record.py COMMIT > contract.json``.

It uses the contract tests of that checkout: their table of objects, and what each method of a client sends.
"""

import json
import sys
from typing import Any


def main() -> None:
    """Print the contract of the checkout in the current folder."""
    sys.path.insert(0, ".")
    from rpcapi import objects  # noqa: PLC0415 - that of the checkout
    from tests.contract import test_clients, test_objects  # noqa: PLC0415

    def service(api: Any) -> dict[str, Any]:
        sent, signatures = test_clients.sent_by(api), test_clients.methods(api)
        return {
            "version": api.VERSION,
            "methods": {
                name: {
                    "version": version,
                    "arguments": arguments,
                    "returns": getattr(signatures[name].return_annotation, "__name__", None),
                }
                for name, (version, arguments) in sorted(sent.items())
            },
        }

    contract = {
        "commit": sys.argv[1],
        "services": {api.__name__: service(api) for api in test_clients.ENDPOINTS},
        "objects": {name: test_objects.FINGERPRINTS[name] for name in sorted(objects.__all__)},
    }
    json.dump(contract, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
