package config

import (
	"strings"

	"github.com/tidegate/tidegate/core"
)

// Principals is a static directory of callers, for small services, demos and
// tests. A real service finds its callers with code.
type Principals struct {
	// Header is the request header that carries a caller's key. Empty: there is
	// no directory.
	Header string

	// Known maps keys to callers. Keys are secrets.
	Known map[string]core.Identity
}

// Lookup returns the caller whose key is value. An unknown key is no principal.
func (p Principals) Lookup(value string) (core.Identity, bool) {
	id, ok := p.Known[value]
	return id, ok
}

func (d *decoder) principals(n *node) (p Principals) {
	d.fields(n,
		field{name: "header", read: into(&p.Header, d.headerName), want: "the name of a header, such as X-API-Key"},
		field{name: "known", read: into(&p.Known, d.known), want: "a mapping of keys to callers, or {} to say none"},
	)
	return p
}

func (d *decoder) known(n *node) map[string]core.Identity {
	n.private = true
	known := map[string]core.Identity{}
	for _, child := range d.entries(n, "a mapping of keys to callers such as {id: alice, tier: free}") {
		if !sendable(child.key) {
			d.report(child.keyAt, child.path(), "has a key that no header can carry, want letters and digits without blanks around them")
		}
		known[child.key] = d.identity(child)
	}
	return known
}

// sendable reports whether a header can have this value: blanks around it are
// lost on the way, and only printable ASCII is safe.
func sendable(key string) bool {
	unsafe := func(r rune) bool { return r < ' ' || r > '~' }
	return key != "" && strings.TrimSpace(key) == key && strings.IndexFunc(key, unsafe) < 0
}

func (d *decoder) identity(n *node) (id core.Identity) {
	d.fields(n,
		field{name: "id", want: wantID, read: func(n *node) {
			id.Principal = d.text(n, wantID)
		}},
		field{name: "tier", read: func(n *node) {
			id.Tier = d.tierName(n)
			if !d.isTier(id.Tier) {
				d.reject(n, "one of the tiers ("+d.tierNames()+")")
			}
		}},
	)
	return id
}

const wantID = "the principal that the caller is, such as alice"
