# SPDX-License-Identifier: Apache-2.0
"""What runs in the peers' own environments; imported by nobody of ours."""
