package redisstore

import (
	"encoding/base64"
	"encoding/binary"

	"github.com/tidegate/tidegate/core"
)

// Keys look like tg:{x3mN0pQa}Jc8eU1xW9fTqZk2Bt: the prefix, eight characters of the
// caller in braces, which put all keys of a caller into one slot of a cluster, 96
// bits of the limit and the caller, and a letter for what is stored. All of it comes
// from keyed hashes, so nothing can be read from a key.
const (
	tagBytes      = 6
	identityBytes = 12
	nameLength    = 2 + 8 + 1 + 16 + 1 // without the prefix
)

// name returns the Redis key of k's state.
func (s *Store) name(k *core.Key, letter byte) string {
	var tag [8]byte
	var id [16]byte
	binary.BigEndian.PutUint64(tag[:], k.Tag)
	binary.BigEndian.PutUint64(id[:], k.Hi)
	binary.BigEndian.PutUint32(id[8:], uint32(k.Lo)^uint32(k.Lo>>32))
	b := make([]byte, 0, len(s.prefix)+nameLength)
	b = append(b, s.prefix...)
	b = append(b, ":{"...)
	b = base64.RawURLEncoding.AppendEncode(b, tag[:tagBytes])
	b = append(b, '}')
	b = base64.RawURLEncoding.AppendEncode(b, id[:identityBytes])
	b = append(b, letter)
	return string(b)
}

// group tells the callers apart whose keys stand in one slot.
func group(k *core.Key) uint64 { return k.Tag >> (64 - 8*tagBytes) }
