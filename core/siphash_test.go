package core

import (
	"encoding/binary"
	"encoding/hex"
	"testing"
)

// The first vectors of SipHash-2-4 with 128 bits of output, from the authors'
// reference code: key 00 to 0f, message 00 01 02 … of growing length.
func TestSipHashReferenceVectors(t *testing.T) {
	key := sum128{lo: 0x0706050403020100, hi: 0x0f0e0d0c0b0a0908}
	for n, want := range []string{
		"a3817f04ba25a8e66df67214c7550293",
		"da87c1d86b99af44347659119b22fc45",
		"8177228da4a45dc7fca38bdef60affe4",
		"9c70b60c5267a94e5f33b6b02985ed51",
		"f88164c12d9c8faf7d0f6e7c7bcd5579",
		"1368875980776f8854527a07690e9627",
		"14eeca338b208613485ea0308fd7a15e",
		"a1f1ebbed8dbc153c0b84aa61ff08239",
		"3b62a9ba6258f5610f83e264f31497b4",
		"264499060ad9baabc47f8b02bb6d71ed",
	} {
		message := make([]byte, n)
		for i := range message {
			message[i] = byte(i)
		}
		sum := sip(key, message)
		var out [16]byte
		binary.LittleEndian.PutUint64(out[:], sum.lo)
		binary.LittleEndian.PutUint64(out[8:], sum.hi)
		if got := hex.EncodeToString(out[:]); got != want {
			t.Errorf("%d bytes: %s, want %s", n, got, want)
		}
		if sip(key, string(message)) != sum {
			t.Errorf("%d bytes: text and bytes differ", n)
		}
	}
}
