-- SPDX-License-Identifier: Apache-2.0
-- Entry in `awaited` for forgotten hosts that nobody has named yet. The spaces keep it apart from host names.
local UNNAMED_HOSTS = '(hosts not named yet)'
