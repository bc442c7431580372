package core_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tidegate/tidegate/core"
)

func describe(demands []core.Demand) string {
	var all []string
	for _, d := range demands {
		all = append(all, fmt.Sprintf("%v at %s of %q%s", d.Need, d.Path, d.Limit, d.Value))
	}
	return strings.Join(all, "; ")
}

func TestATableSaysWhatItDemandsOfAdapters(t *testing.T) {
	soft := hourly("soft", 1)
	soft.Exceeded, soft.Except = core.Fallback, []string{"/y"}
	d := newDesk(t, core.Config{
		Exempt: []core.Exemption{{Principals: []string{"m"}}, {Match: []string{"/health"}}},
		Limits: []core.Limit{
			hourly("plain", 1), soft,
			{Name: "keyed", Keys: core.Keys(core.ByRoute, core.ByValue("org")), Match: []string{"/x"}, Quota: core.Unlimited},
		},
	})
	var got string
	m, err := d.Mount(func(demands []core.Demand) error { got = describe(demands); return nil })
	if err != nil {
		t.Fatal(err)
	}
	want := `route at exempt[1].match of ""; route at limits[1].except of "soft"; fallback at limits[1].exceeded of "soft"; ` +
		`route at limits[2].match of "keyed"; route at limits[2].key of "keyed"; value at limits[2].key of "keyed"org`
	if got != want {
		t.Errorf("demands\n%s\nwant\n%s", got, want)
	}
	runtime.KeepAlive(m)
}

// An update that something mounted cannot serve is refused, for as long as it is in
// use.
func TestUpdateAsksWhatIsMounted(t *testing.T) {
	soft := hourly("a", 1)
	soft.Exceeded = core.Fallback
	d := newDesk(t, core.Config{Limits: []core.Limit{hourly("a", 1)}})
	m, err := d.Mount(func(demands []core.Demand) error {
		if len(demands) > 0 {
			return &core.FieldError{Path: demands[0].Path, Problem: "is too much"}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	err = d.Update(core.Config{Limits: []core.Limit{soft, hourly("b", 1)}})
	if list := core.FieldErrors(err); len(list) != 1 || list[0].Path != "limits[0].exceeded" {
		t.Errorf("Update: %v, want limits[0].exceeded refused", err)
	}
	if d.HasLimit("b") {
		t.Error("a refused table is in force")
	}
	if err := d.Update(core.Config{Limits: []core.Limit{hourly("a", 1), hourly("b", 1)}}); err != nil || !d.HasLimit("b") {
		t.Errorf("Update to a table that can be served: %v", err)
	}
	runtime.KeepAlive(m)
	m = nil
	for range 100 {
		runtime.GC()
		if err = d.Update(core.Config{Limits: []core.Limit{soft}}); err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("what is no longer mounted still refuses: %v", err)
}

func TestAMountThatCannotServeIsNotMounted(t *testing.T) {
	soft := hourly("a", 1)
	soft.Exceeded = core.Fallback
	d := newDesk(t, core.Config{Limits: []core.Limit{soft}})
	wrong := errors.New("no handler")
	if m, err := d.Mount(func([]core.Demand) error { return wrong }); m != nil || !errors.Is(err, wrong) {
		t.Errorf("Mount: %v, %v", m, err)
	}
	if err := d.Update(core.Config{Limits: []core.Limit{hourly("b", 1)}}); err != nil {
		t.Errorf("a mount that failed refuses tables: %v", err)
	}
}
