# SPDX-License-Identifier: Apache-2.0
"""Nova's databases, specs and messages."""
