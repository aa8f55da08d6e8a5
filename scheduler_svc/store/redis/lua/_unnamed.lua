-- SPDX-License-Identifier: Apache-2.0
-- Stands in `awaited` for forgotten hosts that nobody has named yet. Host names have no spaces.
local UNNAMED_HOSTS = '(hosts not named yet)'
