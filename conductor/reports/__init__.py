# SPDX-License-Identifier: Apache-2.0
"""What hosts report of their guests: each report is applied to the record of its instance."""
