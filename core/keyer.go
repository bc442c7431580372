package core

import (
	"math/rand/v2"
	"strings"

	"github.com/tidegate/tidegate/core/algo"
)

// A keyer makes the charges of one request. It hashes the caller once, however
// many limits count by it.
type keyer struct {
	table   *table
	request *Request
	route   sum128

	who     sum128 // the principal's hash, or the address's
	hasWho  bool
	addr    sum128
	hasAddr bool
}

// charge fills in c for one line of the bill.
func (k *keyer) charge(c *Charge, ln *line) {
	r := ln.rule
	*c = Charge{
		Key:      k.key(r),
		Limit:    r.Name,
		Quota:    ln.quota,
		Cost:     k.cost(r),
		Penalty:  r.Penalty,
		Shadow:   r.Exceeded == Shadow,
		Prefetch: r.prefetch,
		Policy:   r.policy,
	}
	if ln.quota.Algorithm() == algo.Concurrency {
		c.Slot, c.Hold = rand.Uint64(), r.Hold
	}
}

func (k *keyer) cost(r *rule) int64 {
	if k.request.Source != nil {
		if units, ok := k.request.Source.Cost(r.Name); ok {
			return max(0, units)
		}
	}
	return r.cost
}

// key hashes the parts of the rule's key for this request.
func (k *keyer) key(r *rule) Key {
	if len(r.parts) == 1 {
		part, tag := k.part(r, 0)
		return makeKey(r, part, tag)
	}
	var buf [8]sum128
	parts := buf[:0]
	var tag uint64
	rank := rankNone
	for i := range r.parts {
		part, t := k.part(r, i)
		parts = append(parts, part)
		// The tag is the principal's, else the address's, else the header value's.
		if got := tagRank(r.parts[i].kind, t); got < rank {
			rank, tag = got, t
		}
	}
	return makeKey(r, k.table.hasher.combine(parts), tag)
}

// makeKey joins the limit's hash and the caller's. Both are outputs of a keyed
// hash that callers cannot see, so they cannot choose two that meet.
func makeKey(r *rule, part sum128, tag uint64) Key {
	sum := part.xor(r.hash)
	if tag == 0 {
		tag = r.hash.hi // nobody's: the limit's own
	}
	return Key{Hi: sum.hi, Lo: sum.lo, Tag: tag}
}

const (
	rankNone  = 4
	rankFirst = 1
)

// tagRank orders parts by how well they say whose key it is.
func tagRank(kind partKind, tag uint64) int {
	switch {
	case tag == 0:
		return rankNone
	case kind == partPrincipal:
		return rankFirst
	case kind == partIP:
		return rankFirst + 1
	}
	return rankFirst + 2
}

// part returns the hash of one part of the key, and the tag of the caller it
// stands for, 0 if it stands for none.
func (k *keyer) part(r *rule, i int) (sum128, uint64) {
	part := &r.parts[i]
	switch part.kind {
	case partPrincipal:
		who := k.caller()
		return who, who.hi
	case partIP:
		addr := k.address()
		return addr, addr.hi
	case partRoute:
		return k.route, 0
	case partHeader, partValue:
		if value := k.value(part); value != "" {
			sum := sip(r.seeds[i], value)
			return sum, sum.hi
		}
		addr := k.address() // never a constant, and never unlimited
		return addr, addr.hi
	}
	return k.table.hasher.global, 0
}

func (k *keyer) value(part *KeyPart) string {
	source := k.request.Source
	switch {
	case source == nil:
		return ""
	case part.kind == partHeader:
		return strings.TrimSpace(source.Header(part.name))
	}
	return source.KeyValue(part.name)
}

// caller returns the hash of the principal, or of the address when there is
// none: hashed under another secret, so the two never meet.
func (k *keyer) caller() sum128 {
	if !k.hasWho {
		k.hasWho = true
		if id := k.request.Identity.Principal; id != "" {
			k.who = sip(k.table.hasher.principal, id)
		} else {
			k.who = k.address()
		}
	}
	return k.who
}

func (k *keyer) address() sum128 {
	if !k.hasAddr {
		k.hasAddr = true
		k.addr = k.table.hasher.hashAddr(k.request.Addr)
	}
	return k.addr
}
