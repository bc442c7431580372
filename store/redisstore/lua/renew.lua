
-- Renews slots that are still held. What has ended stays ended.
-- KEYS: the sets. ARGV: for each of them how many slots, and for each of those: slot,
-- units, hold.

local p = 1
for i = 1, #KEYS do
  local n, longest = num(ARGV[p]), call('PTTL', KEYS[i])
  p = p + 1
  for _ = 1, n do
    local slot, units, hold = ARGV[p], num(ARGV[p + 1]), num(ARGV[p + 2])
    for u = 1, units do
      local member = slot .. ':' .. u
      local ends = call('ZSCORE', KEYS[i], member)
      if ends and num(ends) > now then call('ZADD', KEYS[i], now + hold, member) end
    end
    longest = max(longest, expiry(hold))
    p = p + 3
  end
  if longest > 0 then call('PEXPIRE', KEYS[i], longest) end
end
return {now}
