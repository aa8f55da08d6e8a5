# SPDX-License-Identifier: Apache-2.0
"""Shadow of nova-scheduler: decides the same requests without claims, and compares the chosen hosts."""
