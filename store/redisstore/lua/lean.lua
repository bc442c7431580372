-- The most common requests of all, copies of a charge to one bucket each, are decided
-- without what words.lua and take.lua need for everything else, and with the server's
-- own way of packing integers, which is much faster than Lua's. A server that lacks
-- it, as a stand-in may, is asked in the other way.
--
-- KEYS: buckets that differ. ARGV: for each, what charge (lean.go) makes of it.
-- Reply: for each the time, what was spent and when, in 7 bytes each; or nothing, when
-- it holds what was written under another quota, and is left as it is.
if not rawget(_G, 'struct') then return -2 end
local call, pack, unpack, sub, ceil = redis.call, struct.pack, struct.unpack, string.sub, math.ceil
local t = call('TIME')
local now = t[1] * 1000000 + t[2]
