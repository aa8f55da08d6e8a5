-- SPDX-License-Identifier: Apache-2.0
-- How a claim ends that its host has not confirmed; nil: it stands.
-- None outlives its epoch: that it had been aborted may be what was forgotten.
local function end_of_prepared(claim)
  if is_past(claim) then
    return 'expired'
  end
  return not is_open(claim.host) and 'aborted' or nil
end
