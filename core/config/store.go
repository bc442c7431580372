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
		field{name: "redis", read: func(n *node) { s.Redis = d.redis(n) }},
		field{name: "local_fraction", read: func(n *node) { d.localFraction(n, s) }},
		field{name: "local_total", read: into(&s.LocalTotal, d.rate)},
		field{name: "prefetch", read: func(n *node) { s.Prefetch = max(0, d.prefetch(n)) }},
	)
}

func (d *decoder) redis(n *node) *Redis {
	var r Redis
	d.fields(n,
		field{name: "url", read: into(&r.URL, d.redisURL), want: "an address such as redis://127.0.0.1:6379/0"},
		field{name: "prefix", read: into(&r.Prefix, d.redisPrefix)},
		field{name: "timeout", read: func(n *node) { r.Timeout = d.span(n, time.Minute) }},
	)
	return &r
}

// redisURL checks the address of a server. It may have a password, and so is not
// printed.
func (d *decoder) redisURL(n *node) string {
	const want = "want an address such as redis://127.0.0.1:6379/0, rediss:// for TLS, redis-cluster://h1:6379,h2:6379"
	if n.kind != text {
		d.wrong(n, "is no address, %s", want)
		return ""
	}
	scheme, hosts, found := strings.Cut(n.text, "://")
	if !found || !slices.Contains([]string{"redis", "rediss", "redis-cluster", "rediss-cluster"}, scheme) {
		d.wrong(n, "has no scheme that is known, %s", want)
		return ""
	}
	nodes := []string{hosts}
	if strings.HasSuffix(scheme, "-cluster") {
		nodes = strings.Split(hosts, ",")
	}
	for _, host := range nodes {
		if u, err := url.Parse("redis://" + host); err != nil || u.Hostname() == "" {
			d.wrong(n, "has no host, or one that is no host:port; %s", want)
			return ""
		}
	}
	return n.text
}

// redisPrefix checks what every key begins with. Braces would choose the slot of
// a cluster.
func (d *decoder) redisPrefix(n *node) string {
	const want = "1 to 64 letters, digits or _ . : / -"
	prefix := d.text(n, want)
	if !named.MatchString(prefix) && n.kind == text && n.text != "" {
		d.reject(n, want)
	}
	return prefix
}

func (d *decoder) localFraction(n *node, s *Store) {
	if n.kind == text {
		s.LocalAuto = d.word(n, "auto") == "auto"
		return
	}
	s.LocalFraction = d.fraction(n)
}
