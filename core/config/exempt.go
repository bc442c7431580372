package config

import "github.com/tidegate/tidegate/core"

// placeholder stands for text that could not be used, where core wants some.
const placeholder = "placeholder"

func (d *decoder) exempt(n *node) []core.Exemption {
	var all []core.Exemption
	for _, item := range d.listOrNone(n, "a list of exemptions such as {match: [GET /healthz]}") {
		all = append(all, d.exemption(item))
	}
	return all
}

func (d *decoder) exemption(n *node) (e core.Exemption) {
	d.fields(n,
		field{name: "match", read: into(&e.Match, d.routes)},
		field{name: "ip", read: func(n *node) {
			const want = "a list of addresses and networks, such as [192.0.2.0/24]"
			e.IP = d.prefixes(d.list(n, want))
		}},
		field{name: "principal", read: func(n *node) {
			const want = "a list of principals, such as [monitor]"
			e.Principals = d.texts(d.list(n, want), "a principal", placeholder)
		}},
	)
	blank := n.kind == mapping && len(n.items) == 0 // which core reports
	if len(e.Match)+len(e.IP)+len(e.Principals) == 0 && !blank {
		e.Principals = []string{placeholder}
	}
	return e
}

// routes reads a list of patterns, which core checks.
func (d *decoder) routes(n *node) []string {
	return d.texts(d.list(n, wantRoutes), "a route such as \"GET /orders/{id}\"", "/")
}

const wantRoutes = "a list of routes, such as [POST /orders]"
