package core

import (
	"errors"
	"fmt"
	"github.com/tidegate/tidegate/core/algo"
	"strings"
)

const maxNameLength = 64

func validName(name string) error {
	if name == "" {
		return errors.New("is missing, want 1 to 64 of A-Z a-z 0-9 _ . : / -")
	}
	if len(name) > maxNameLength {
		return fmt.Errorf("is %d characters long, want at most %d", len(name), maxNameLength)
	}
	for i := range len(name) {
		c := name[i]
		if !('a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("_.:/-", c) >= 0) {
			return fmt.Errorf("is %q, want only A-Z a-z 0-9 _ . : / -", name)
		}
	}
	return nil
}

func checkKey(path string, l Limit, parts []KeyPart, p *problems) {
	if len(l.Keys) > 0 && l.Key.kind != partNone {
		p.add(path+".key", "is set twice, want Key or Keys")
	}
	seen := map[string]bool{}
	for i, part := range parts {
		at := path + ".key"
		if len(parts) > 1 {
			at = fmt.Sprintf("%s[%d]", at, i)
		}
		name := canonicalPart(part)
		switch {
		case part.kind == partNone:
			p.add(at, "is empty, want core.ByPrincipal, ByIP, ByRoute, Global, ByHeader or ByValue")
		case seen[name]:
			p.add(at, "repeats %q, want each part once", part)
		case part.kind == partGlobal && len(parts) > 1:
			p.add(at, "is global beside other parts, which it would not change; leave it out")
		case part.kind == partHeader && !isToken(part.name):
			p.add(at, "names the header %q, want letters, digits and -", part.name)
		case part.kind == partHeader && movedHeader(part.name):
			p.add(at, "names the header %s, which Go takes out of a request's headers, so that it would never be found; want another header, or in Go code core.ByValue", part.name)
		case part.kind == partValue && part.name == "":
			p.add(at, "names no value, want the name of the adapter's Value option")
		case l.Stage == Early && (part.kind == partPrincipal || part.kind == partValue):
			p.add(at, "is %v in the early stage, where nobody is authenticated yet; want ip, route, global or header:NAME", part)
		}
		seen[name] = true
	}
	const most = 8
	if len(parts) > most {
		p.add(path+".key", "has %d parts, want at most %d", len(parts), most)
	}
}

// movedHeader reports whether net/http keeps a field of a request elsewhere than
// among its headers.
func movedHeader(name string) bool {
	for _, moved := range []string{"Host", "Transfer-Encoding", "Trailer"} {
		if strings.EqualFold(name, moved) {
			return true
		}
	}
	return false
}

// checkActions checks what happens around the count: cost, wait, count, penalty.
func checkActions(path string, l Limit, p *problems) {
	if l.Cost < 0 {
		p.add(path+".cost", "is %d, want 1 or more", l.Cost)
	}
	if int(l.StoreFailure) >= len(policyNames) {
		p.add(path+".store_failure", "is %v, want open, closed or local", l.StoreFailure)
	}
	if int(l.Exceeded) >= len(exceededNames) {
		p.add(path+".exceeded", "is %v, want reject, wait, shadow or fallback", l.Exceeded)
	}
	if l.Stage > Early {
		p.add(path+".stage", "is %v, want main or early", l.Stage)
	}
	checkWait(path, l, p)
	if len(l.Count) > 0 && l.algorithm() == algo.Concurrency {
		p.add(path+".count", "is set, and concurrency counts who is there, whatever comes of it; leave it out")
	}
	seen := map[int]bool{}
	for i, status := range l.Count {
		at := fmt.Sprintf("%s.count.status[%d]", path, i)
		if status < 200 || status > 599 {
			p.add(at, "is %d, want a final status, 200 to 599", status)
		}
		if seen[status] {
			p.add(at, "repeats %d, want each status once", status)
		}
		seen[status] = true
	}
	if l.Penalty != nil {
		if err := l.Penalty.Check(); err != nil {
			addAlgo(path+".penalty", err, p)
		}
	}
}

func checkWait(path string, l Limit, p *problems) {
	bucket := l.algorithm() == algo.TokenBucket
	switch {
	case l.Exceeded == Wait && !bucket && l.algorithm() != algo.LeakyBucket:
		p.add(path+".exceeded", "is wait, want that for token-bucket only, and this is a %v", l.algorithm())
	case l.MaxWait != 0 && l.Exceeded != Wait:
		p.add(path+".max_wait", "is %v without exceeded: wait, want both or neither", l.MaxWait)
	case l.MaxWait < 0:
		p.add(path+".max_wait", "is %v, want more than 0", l.MaxWait)
	}
	if l.Exceeded == Wait && (bucket || l.algorithm() == algo.LeakyBucket) {
		p.add(path+".exceeded", "wait is not supported yet")
	}
}
