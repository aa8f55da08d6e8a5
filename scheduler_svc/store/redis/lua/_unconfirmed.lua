-- SPDX-License-Identifier: Apache-2.0
-- Returns how a claim ends that its host has not confirmed; nil: it stays prepared.
-- A prepared claim of an earlier epoch is aborted: the store may have forgotten that it was aborted before.
local function end_of_prepared(claim)
  if is_expired(claim) then
    return 'expired'
  end
  return not is_open(claim.host) and 'aborted' or nil
end
