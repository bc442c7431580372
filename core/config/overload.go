package config

import (
	"math"

	"github.com/tidegate/tidegate/core"
)

// overload checks the protection of the instance. Its engine does not exist yet.
func (d *decoder) overload(n *node) {
	d.fields(n,
		field{name: "adaptive", read: d.adaptive},
		field{name: "target_latency", read: d.anySpan},
		field{name: "signals", read: func(n *node) {
			d.fields(n, field{name: "cpu", read: d.anyFraction, want: "a share such as 0.8"})
		}},
		field{name: "queue", read: func(n *node) {
			d.fields(n,
				field{name: "max", read: d.anyCount},
				field{name: "max_wait", read: d.anySpan})
		}},
		field{name: "weights", read: d.weights},
		field{name: "shed_above", read: d.anyFraction},
		field{name: "classes", read: func(n *node) {
			d.fields(n,
				field{name: "critical", read: d.patterns},
				field{name: "sheddable", read: d.patterns})
		}},
		field{name: "exempt", read: d.patterns},
	)
	d.unsupported(n)
}

func (d *decoder) anySpan(n *node)     { d.span(n, forever) }
func (d *decoder) anyFraction(n *node) { d.fraction(n) }
func (d *decoder) anyCount(n *node)    { d.integer(n, 1, math.MaxInt32) }

func (d *decoder) adaptive(n *node) {
	var low, high, initial int64
	bound := within[int64](d, 1, math.MaxInt32)
	d.fields(n,
		field{name: "algorithm", read: func(n *node) { d.word(n, "goodput", "aimd", "gradient", "vegas") }},
		field{name: "min", read: into(&low, bound)},
		field{name: "max", read: into(&high, bound)},
		field{name: "initial", read: into(&initial, bound)},
	)
	if low > 0 && high > 0 && low > high {
		d.wrong(n, "has min %d above max %d, want it below", low, high)
	} else if initial > 0 && (initial < low || high > 0 && initial > high) {
		d.wrong(n, "has initial %d outside of min and max, want it between", initial)
	}
}

func (d *decoder) weights(n *node) {
	for _, child := range d.entries(n, "a mapping of tiers to weights such as {free: 1, pro: 5}") {
		if !d.isTier(child.key) {
			d.report(child.keyAt, child.path(), "is not in the list of tiers (%s)", d.tierNames())
		}
		d.anyCount(child)
	}
}

// patterns checks a list of routes that core does not get.
func (d *decoder) patterns(n *node) {
	items := n.items
	for i, route := range d.routes(n) {
		if _, err := core.ParsePattern(route); err != nil {
			d.wrong(items[i], "%v", err)
		}
	}
}
