
-- Looks at keys, and writes nothing.
-- KEYS and ARGV: as in take.lua, without requests.

return found((take_in(1)))
