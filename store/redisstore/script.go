package redisstore

import (
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"sync/atomic"
)

// The scripts are put together from these: most requests need little, and a server
// pays for every line at every call.
var (
	//go:embed lua/words.lua
	wordsLua string
	//go:embed lua/lists.lua
	listsLua string
	//go:embed lua/special.lua
	specialLua string
	//go:embed lua/take.lua
	takeLua string
	//go:embed lua/lean.lua
	leanLua string
	//go:embed lua/bucket.lua
	bucketLua string
	//go:embed lua/peek.lua
	peekLua string
	//go:embed lua/give.lua
	giveLua string
	//go:embed lua/block.lua
	blockLua string
	//go:embed lua/renew.lua
	renewLua string
	//go:embed lua/census.lua
	censusLua string
)

// A script is the text that a server runs, and the name by which it knows it.
type script struct {
	text, sha string
	lean      bool // it takes packed arguments, and not those of take.lua
}

func newScript(parts ...string) *script {
	var text string
	for _, p := range parts {
		text += p
	}
	sum := sha1.Sum([]byte(text)) // what Redis calls a script by, not a secret
	return &script{text: text, sha: hex.EncodeToString(sum[:])}
}

// scripts are those of one store.
type scripts struct {
	one    *script // copies of a charge to one bucket
	many   *script // the same of many buckets
	plain  *script // costs of buckets and windows
	take   *script // whatever may be asked for
	peek   *script
	give   *script
	block  *script
	renew  *script
	census *script

	fat atomic.Bool // the server cannot run lean scripts
}

func newScripts() *scripts {
	all := &scripts{
		one:    newScript(leanLua, "local key, arg = KEYS[1], ARGV[1]\n", bucketLua, "return found\n"),
		many:   newScript(leanLua, "local all = {}\nfor i = 1, #KEYS do\n  local key, arg = KEYS[i], ARGV[i]\n", bucketLua, "  all[i] = found\nend\nreturn all\n"),
		plain:  newScript(wordsLua, takeLua),
		take:   newScript(wordsLua, listsLua, specialLua, takeLua),
		peek:   newScript(wordsLua, listsLua, peekLua),
		give:   newScript(wordsLua, listsLua, giveLua),
		block:  newScript(wordsLua, blockLua),
		renew:  newScript(wordsLua, renewLua),
		census: newScript(wordsLua, censusLua),
	}
	all.one.lean, all.many.lean = true, true
	return all
}

// choose picks the script that does least.
func (s *scripts) choose(sh *sheet) *script {
	switch {
	case !sh.commits():
		return s.peek
	case !sh.plain():
		return s.take
	case sh.lean() && !s.fat.Load():
		if len(sh.cells) == 1 {
			return s.one
		}
		return s.many
	}
	return s.plain
}

func (s *sheet) commits() bool { return s.lines[0].requests[0].commit }

// plain reports whether nothing is asked for but costs of buckets and windows.
func (s *sheet) plain() bool {
	for i := range s.cells {
		if s.cells[i].penalty != nil || s.cells[i].quota.Wide() {
			return false
		}
	}
	for i := range s.lines {
		if !s.lines[i].requests[0].plain {
			return false
		}
	}
	return true
}
