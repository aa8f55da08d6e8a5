# SPDX-License-Identifier: Apache-2.0
"""What peers may call: each method decodes, makes one call into the domain, and encodes."""
