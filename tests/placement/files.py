# SPDX-License-Identifier: Apache-2.0
"""The files of Placement's suite whose routes are served, by the configuration of the server that they need."""

# Options of gantt-placement by group, beside those of the deployment.
CONFIGURATIONS: dict[str, dict[str, dict[str, str]]] = {
    "default": {"oslo_policy": {"enforce_new_defaults": "false"}},
    "cors": {"cors": {"allowed_origin": "http://valid.example.com"}},
    "legacy policy": {"oslo_policy": {"enforce_new_defaults": "false"}},
    "secure policy": {"oslo_policy": {"enforce_new_defaults": "true"}},
    "open policy": {},
}
# The configurations whose policy file allows everything to everybody.
OPEN = frozenset(("open policy",))

# The number of tests in each file, so that none is lost unnoticed.
FILES: dict[str, dict[str, int]] = {
    "default": {
        "aggregate": 19,
        "allocation-bad-class": 7,
        "allocations": 45,
        "allocations-1-12": 10,
        "allocations-1-8": 10,
        "allocations-bug-1714072": 7,
        "allocations-bug-1778591": 5,
        "allocations-bug-1778743": 5,
        "allocations-bug-1779717": 8,
        "allocations-post": 29,
        "basic-http": 24,
        "bug-1674694": 3,
        "confirm-auth": 4,
        "consumer-types-bug-story-2009167": 2,
        "consumer-types-1.38": 19,
        "ensure-consumer": 2,
        "inventory": 64,
        "microversion": 8,
        "microversion-bug-1724065": 1,
        "non-cors": 2,
        "reshaper": 23,
        "resource-class-in-use": 10,
        "resource-classes": 30,
        "resource-classes-1-6": 1,
        "resource-classes-1-7": 6,
        "resource-classes-last-modified": 10,
        "resource-provider": 83,
        "resource-provider-any-traits": 4,
        "resource-provider-bug-1779818": 9,
        "resource-provider-duplication": 4,
        "resource-provider-links": 8,
        "resource-provider-resources-query": 20,
        "traits": 53,
        "unicode": 5,
        "usage": 15,
        "with-allocations": 14,
    },
    "cors": {"cors": 4},
    "legacy policy": {
        "aggregate-legacy-rbac": 12,
        "allocation-candidates-legacy-rbac": 5,
        "allocations-legacy-rbac": 29,
        "inventory-legacy-rbac": 40,
        "resource-classes-legacy-rbac": 10,
        "resource-provider-legacy-rbac": 25,
        "traits-legacy-rbac": 15,
        "usage-legacy-rbac": 5,
    },
    "secure policy": {
        "aggregate-secure-rbac": 17,
        "allocation-candidates-secure-rbac": 7,
        "allocations-secure-rbac": 41,
        "inventory-secure-rbac": 51,
        "resource-classes-secure-rbac": 35,
        "resource-provider-secure-rbac": 35,
        "traits-secure-rbac": 52,
        "usage-secure-rbac": 20,
    },
    "open policy": {
        "aggregate-policy": 3,
        "allocation-candidates-policy": 1,
        "allocations-policy": 7,
        "inventory-policy": 8,
        "resource-classes-policy": 5,
        "resource-provider-policy": 5,
        "traits-policy": 8,
        "usage-policy": 3,
    },
}
ALL = [(configuration, name) for configuration, names in FILES.items() for name in names]
