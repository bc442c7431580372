package config

import (
	"math"
	"net/url"
	"slices"
	"strings"
	"time"
)

func (d *decoder) store(n *node, s *Store) {
	d.fields(n,
		field{name: "memory", read: func(n *node) {
			d.fields(n, field{name: "max_keys", read: into(&s.MaxKeys, within[int](d, 1, math.MaxInt32))})
		}},
		field{name: "failure", read: into(&s.Failure, d.failure)},
		field{name: "redis", read: d.redis},
		field{name: "local_fraction", read: d.localFraction},
		field{name: "local_total", read: d.localTotal},
		field{name: "prefetch", read: d.prefetch},
	)
}

func (d *decoder) redis(n *node) {
	d.fields(n,
		field{name: "url", read: d.redisURL, want: "an address such as redis://127.0.0.1:6379/0"},
		field{name: "prefix", read: d.redisPrefix},
		field{name: "timeout", read: func(n *node) { d.span(n, time.Minute) }},
	)
	d.unsupported(n)
}

// redisURL checks the address of a server. It may have a password, and so is not
// printed.
func (d *decoder) redisURL(n *node) {
	const want = "want an address such as redis://127.0.0.1:6379/0, rediss:// for TLS, redis-cluster://h1:6379,h2:6379"
	if n.kind != text {
		d.wrong(n, "is no address, %s", want)
		return
	}
	scheme, hosts, found := strings.Cut(n.text, "://")
	if !found || !slices.Contains([]string{"redis", "rediss", "redis-cluster"}, scheme) {
		d.wrong(n, "has no scheme that is known, %s", want)
		return
	}
	nodes := []string{hosts}
	if scheme == "redis-cluster" {
		nodes = strings.Split(hosts, ",")
	}
	for _, host := range nodes {
		if u, err := url.Parse("redis://" + host); err != nil || u.Hostname() == "" {
			d.wrong(n, "has no host, or one that is no host:port; %s", want)
			return
		}
	}
}

// redisPrefix checks what every key begins with. Braces would choose the slot of
// a cluster.
func (d *decoder) redisPrefix(n *node) {
	const want = "1 to 64 letters, digits or _ . : / -"
	if !named.MatchString(d.text(n, want)) && n.kind == text && n.text != "" {
		d.reject(n, want)
	}
}

func (d *decoder) localFraction(n *node) {
	if n.kind == text {
		if d.word(n, "auto") == "" {
			return
		}
	} else {
		d.fraction(n)
	}
	d.unsupported(n)
}

func (d *decoder) localTotal(n *node) {
	d.rate(n)
	d.unsupported(n)
}
