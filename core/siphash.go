package core

import "math/bits"

// SipHash-2-4 with 128 bits of output (Aumasson and Bernstein, "SipHash: a fast
// short-input PRF", 2012, and its reference code for the long output). It is
// keyed, so that callers who choose the values cannot choose collisions, and
// fast on inputs as short as a user id.

type sum128 struct{ hi, lo uint64 }

func (a sum128) xor(b sum128) sum128 { return sum128{a.hi ^ b.hi, a.lo ^ b.lo} }

type sipState struct{ v0, v1, v2, v3 uint64 }

func (s *sipState) round() {
	s.v0 += s.v1
	s.v1 = bits.RotateLeft64(s.v1, 13) ^ s.v0
	s.v0 = bits.RotateLeft64(s.v0, 32)
	s.v2 += s.v3
	s.v3 = bits.RotateLeft64(s.v3, 16) ^ s.v2
	s.v0 += s.v3
	s.v3 = bits.RotateLeft64(s.v3, 21) ^ s.v0
	s.v2 += s.v1
	s.v1 = bits.RotateLeft64(s.v1, 17) ^ s.v2
	s.v2 = bits.RotateLeft64(s.v2, 32)
}

func (s *sipState) word(m uint64) {
	s.v3 ^= m
	s.round()
	s.round()
	s.v0 ^= m
}

// sip returns the keyed hash of data.
func sip[T string | []byte](key sum128, data T) sum128 {
	s := sipState{
		key.lo ^ 0x736f6d6570736575,
		key.hi ^ 0x646f72616e646f6d ^ 0xee,
		key.lo ^ 0x6c7967656e657261,
		key.hi ^ 0x7465646279746573,
	}
	n := len(data)
	i := 0
	for ; i+8 <= n; i += 8 {
		s.word(load64(data[i : i+8]))
	}
	last := uint64(n) << 56
	for j := n - 1; j >= i; j-- {
		last |= uint64(data[j]) << (8 * (j - i))
	}
	s.word(last)
	s.v2 ^= 0xee
	for range 4 {
		s.round()
	}
	lo := s.v0 ^ s.v1 ^ s.v2 ^ s.v3
	s.v1 ^= 0xdd
	for range 4 {
		s.round()
	}
	return sum128{hi: s.v0 ^ s.v1 ^ s.v2 ^ s.v3, lo: lo}
}

func load64[T string | []byte](b T) uint64 {
	_ = b[7]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}
