package guard

import "github.com/tidegate/tidegate/core"

// A walk goes through the limits that clients are told of, of a visit and of
// those before it at the same limiter, in the table's order:
//
//	for w := v.visible(); w.next(); {
//		use(&w.LimitResult)
//	}
type walk struct {
	core.LimitResult
	node  *node
	alone bool // nothing has been decided before: the visit's own order will do
	i     int  // alone: the next to look at
	last  int  // otherwise: the index of the last one seen
}

func (v *Visit[C]) visible() walk {
	w := walk{node: &v.node, alone: true, last: -1}
	for n := v.node.before; n != nil; n = n.before {
		if n.guard == v.node.guard {
			w.alone = false
		}
	}
	return w
}

// next moves on to the next limit. It reports false after the last.
func (w *walk) next() bool {
	if !w.alone {
		return w.nextOfAll()
	}
	for d := w.node.decision; w.i < d.Len(); {
		w.LimitResult = w.node.limit(w.i)
		w.i++
		if told(&w.LimitResult) {
			return true
		}
	}
	return false
}

// nextOfAll finds the limit with the lowest index above the last one, among all
// visits.
func (w *walk) nextOfAll() bool {
	found := false
	for n := w.node; n != nil; n = n.before {
		if n.guard != w.node.guard {
			continue
		}
		for i := range n.decision.Len() {
			r := n.limit(i)
			if told(&r) && r.Index > w.last && (!found || r.Index < w.Index) {
				w.LimitResult, found = r, true
			}
		}
	}
	w.last = w.Index
	return found
}

func told(r *core.LimitResult) bool { return !r.Hidden && !r.Shadow }
