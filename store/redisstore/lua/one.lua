-- Decides the most common requests of all: copies of a charge to one bucket. It does
-- what words.lua and take.lua do, without what they need for everything else.
--
-- KEYS: the bucket. ARGV: mark, limit, unit, tick, capacity, cost, copies.
-- Reply: as take.lua's; or -2 when the state cannot be converted here.

local call, floor, ceil, byte, char, sub = redis.call, math.floor, math.ceil, string.byte, string.char, string.sub
local t = call('TIME')
local now = t[1] * 1000000 + t[2]
local mark, limit, unit, tick, capacity, cost = ARGV[1], ARGV[2] + 0, ARGV[3] + 0, ARGV[4] + 0, ARGV[5] + 0, ARGV[6] + 0
local s = call('GET', KEYS[1])
local spent, at, stale = 0, now - now % tick, false
if s then
  local flow, pace, span, i = limit, tick, unit, #mark
  if sub(s, 1, i) ~= mark then
    local h = byte(s, 1)
    local l, u = ({[0] = 1, 2, 4, 7})[h % 4], ({[0] = 3, 4, 5, 7})[floor(h / 4) % 4]
    stale, flow, span, pace, i = true, 0, 0, 10 ^ floor(h / 16), 1 + l + u
    for k = 2, 1 + l do flow = flow * 256 + byte(s, k) end
    for k = 2 + l, i do span = span * 256 + byte(s, k) end
  end
  local a, b, c, d, e, f, g = byte(s, i + 1, i + 7)
  local there = (((((a * 256 + b) * 256 + c) * 256 + d) * 256 + e) * 256 + f) * 256 + g
  a, b, c, d, e, f, g = byte(s, i + 8, -1)
  spent = ((a * 256 + b) * 256 + c) * 256 + d
  if f then spent = (spent * 256 + e) * 256 + f end
  if g then spent = spent * 256 + g end
  local here = now - now % pace
  if here > there then
    local gone = (here - there) / pace * flow
    spent = gone >= spent and 0 or spent - gone
    there = here
  end
  at = there
  if stale then
    if span ~= unit then
      if spent * unit >= 9007199254740992 then return -2 end
      spent = ceil(spent * unit / span)
    end
    at = ceil((at > now and at or now) / tick) * tick
  end
end
local copies = floor(floor((capacity - spent) / unit) / cost)
if copies > ARGV[7] + 0 then copies = ARGV[7] + 0 end
if copies > 0 or stale then
  local x = spent
  if copies > 0 then x = x + copies * cost * unit end
  local left = 0
  if x > 0 then left = at - now + ceil(x / limit) * tick end
  if left > 9007199254740992 then left = 9007199254740992 end
  if left > 0 then
    local y = at
    local g = y % 256 y = (y - g) / 256
    local f = y % 256 y = (y - f) / 256
    local e = y % 256 y = (y - e) / 256
    local d = y % 256 y = (y - d) / 256
    local c = y % 256 y = (y - c) / 256
    local b = y % 256
    local word = char((y - b) / 256, b, c, d, e, f, g)
    g = x % 256 x = (x - g) / 256
    f = x % 256 x = (x - f) / 256
    e = x % 256 x = (x - e) / 256
    if x < 256 then
      word = word .. char(x, e, f, g)
    else
      d = x % 256 x = (x - d) / 256
      c = x % 256 x = (x - c) / 256
      if x < 256 then
        word = word .. char(x, c, d, e, f, g)
      else
        b = x % 256
        word = word .. char((x - b) / 256, b, c, d, e, f, g)
      end
    end
    call('SET', KEYS[1], mark .. word, 'PX', ceil(left / 1000))
  else
    call('DEL', KEYS[1])
  end
end
return {now, spent, at}
