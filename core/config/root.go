package config

import (
	"slices"
	"strings"

	"github.com/tidegate/tidegate/core"
)

// maxTiers bounds the list of tiers: every limit has a quota for each.
const maxTiers = 100

// root reads the whole file. The order matters: what names a tier comes after
// what says which there are.
func (d *decoder) root(n *node) *File {
	f := &File{Client: Client{IPv6Prefix: defaultIPv6Prefix}, Headers: []string{defaultHeaders}}
	f.Store.Failure = core.FailOpen
	c := &f.Core
	d.fields(n,
		field{name: "version", read: into(&f.Version, d.version), want: "version: 1"},
		field{name: "tiers", read: into(&c.Tiers, d.tierList)},
		field{name: "limits", read: into(&c.Limits, d.limits)},
		field{name: "default_tier", read: into(&c.DefaultTier, d.tierName)},
		field{name: "client", read: func(n *node) { d.client(n, &f.Client) }},
		field{name: "principals", read: into(&f.Principals, d.principals)},
		field{name: "headers", read: into(&f.Headers, d.headers)},
		field{name: "exempt", read: into(&c.Exempt, d.exempt)},
		field{name: "store", read: func(n *node) { d.store(n, &f.Store) }},
		field{name: "overload", read: d.overload},
	)
	c.Failure, c.Prefetch = f.Store.Failure, f.Store.Prefetch
	c.IPv6Prefix = f.Client.IPv6Prefix
	return f
}

func (d *decoder) version(n *node) int {
	if n.kind != number || n.text != "1" {
		d.reject(n, "the number 1")
	}
	return 1
}

// tierList reads the list of tiers. Core is given the good ones only.
func (d *decoder) tierList(n *node) []string {
	items := d.list(n, "a list of tiers such as [free, pro], or leave it out")
	for i, name := range d.texts(items, "the name of a tier", "") {
		if name != "" && d.tierNamed(items[i].place, items[i].path(), name) {
			d.tiers = append(d.tiers, name)
		}
	}
	d.listed = len(items) > 0
	d.boundTiers(n)
	return d.tiers
}

// tierNamed reports a name that cannot be a tier's.
func (d *decoder) tierNamed(at place, path, name string) bool {
	const most = 64
	switch {
	case name == "*":
		d.report(at, path, "is \"*\", want a name: that stands for the rest of the tiers")
	case len(name) > most:
		d.report(at, path, "has a name of %d bytes, want at most %d", len(name), most)
	case name == "":
		d.report(at, path, "has no name, want one")
	default:
		return true
	}
	return false
}

// mention notes the tiers that a limit names, for files without a list.
func (d *decoder) mention(n *node, name string) {
	if !d.listed && name != "*" && !slices.Contains(d.tiers, name) {
		d.tiers = append(d.tiers, name)
		d.boundTiers(n)
	}
}

func (d *decoder) boundTiers(n *node) {
	if len(d.tiers) > maxTiers && !d.tooLarge {
		d.tooLarge = true
		d.wrong(n, "makes more than %d tiers, want fewer", maxTiers)
	}
}

// tierName reads the name of one tier. Core checks it.
func (d *decoder) tierName(n *node) string { return d.text(n, "the name of a tier") }

// isTier reports whether a tier exists. Where nobody names tiers there are none
// to choose from, and any will do.
func (d *decoder) isTier(name string) bool {
	return name == "" || len(d.tiers) == 0 || slices.Contains(d.tiers, name)
}

func (d *decoder) tierNames() string { return strings.Join(d.tiers, ", ") }
