package redisstore

import (
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
)

// The scripts. Each is state.lua and one of the others behind it.
var (
	//go:embed lua/state.lua
	stateLua string
	//go:embed lua/take.lua
	takeLua string
	//go:embed lua/peek.lua
	peekLua string
	//go:embed lua/give.lua
	giveLua string
	//go:embed lua/block.lua
	blockLua string
	//go:embed lua/census.lua
	censusLua string
)

// A script is the text that a server runs, and the name by which it knows it.
type script struct{ text, sha string }

func newScript(tail string) *script {
	text := stateLua + tail
	sum := sha1.Sum([]byte(text)) // what Redis calls a script by, not a secret
	return &script{text, hex.EncodeToString(sum[:])}
}

// scripts are those of one store.
type scripts struct{ take, peek, give, block, census *script }

func newScripts() scripts {
	return scripts{newScript(takeLua), newScript(peekLua), newScript(giveLua), newScript(blockLua), newScript(censusLua)}
}
