
-- Blocks a key for a span, or releases it when the span is 0.
-- KEYS: the record of its denials. ARGV: the span, µs.

call('DEL', KEYS[1])
local span = num(ARGV[1])
if span > 0 then
  call('RPUSH', KEYS[1], 0, 1, now + span)
  call('PEXPIRE', KEYS[1], expiry(span))
end
return {now}
