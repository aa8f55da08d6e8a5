-- SPDX-License-Identifier: Apache-2.0
-- Ends the script with error 'FOREIGN UUID HOST' if a state folder UUID other than the caller's owns the host's name.
-- ARGV: uuid of the calling agent's state folder, '' if the folder has none, '*' for callers that are not agents
--@ args host_uuid
--@ keys services
if A.host_uuid ~= '*' then
  local owner_uuid = string.match(redis.call('HGET', K.services, A.host) or '', '"host_uuid":"([^"]*)"')
  if owner_uuid and owner_uuid ~= A.host_uuid then
    return redis.error_reply('FOREIGN ' .. owner_uuid .. ' ' .. A.host)
  end
end
