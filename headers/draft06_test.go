package headers

import (
	"errors"
	"math"
	"reflect"
	"testing"
	"time"
)

func TestAppendDraft06Policy(t *testing.T) {
	for _, tt := range []struct {
		quota  int64
		window time.Duration
		want   string
	}{
		{100, time.Minute, "100;w=60"},
		{0, 100 * time.Millisecond, "0;w=1"},
		{-1, 0, "0;w=1"},
		{math.MaxInt64, 1500 * time.Millisecond, "999999999999999;w=2"},
	} {
		if got := string(AppendDraft06Policy(nil, tt.quota, tt.window)); got != tt.want {
			t.Errorf("AppendDraft06Policy(%d, %v) = %s, want %s", tt.quota, tt.window, got, tt.want)
		}
	}
}

func TestAppendDraft06Policies(t *testing.T) {
	for _, tt := range []struct {
		name string
		ps   []Policy
		want string
	}{
		{"in order", []Policy{{Quota: 10, Window: time.Second}, {Quota: 1000, Window: time.Hour}}, "10;w=1, 1000;w=3600"},
		{"equal quotas: the tightest", []Policy{{Quota: 10, Window: time.Second}, {Quota: 5, Window: time.Second}, {Quota: 10, Window: time.Minute}}, "5;w=1, 10;w=60"},
		{"equal policies: the first", []Policy{{Quota: 10, Window: time.Second}, {Quota: 10, Window: time.Second}}, "10;w=1"},
		{"equal once clamped", []Policy{{Quota: -1, Window: time.Second}, {Quota: 0, Window: time.Second}}, "0;w=1"},
		{"no window", []Policy{{Quota: 10, Unit: ConcurrentRequests}, {Quota: 1, Unit: Requests, Window: time.Second}}, "1;w=1"},
		{"another unit does not count", []Policy{{Quota: 9, Unit: ContentBytes, Window: time.Minute}, {Quota: 9, Window: time.Second}}, "9;w=1"},
		{"nothing that fits", []Policy{{Quota: 10}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(AppendDraft06Policies(nil, tt.ps)); got != tt.want {
				t.Errorf("AppendDraft06Policies(%+v) = %s, want %s", tt.ps, got, tt.want)
			}
		})
	}
	if got, want := string(AppendDraft06Policies([]byte("x"), []Policy{{Quota: 1, Window: time.Second}})), "x1;w=1"; got != want {
		t.Errorf("appended to x: %s, want %s", got, want)
	}
}

func TestParseDraft06Policies(t *testing.T) {
	got, err := ParseDraft06Policies([]string{`10;w=1, 1000;w=3600;comment="an hour"`})
	want := []Policy{{Quota: 10, Window: time.Second}, {Quota: 1000, Window: time.Hour}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	for _, member := range []string{`10`, `10;w=0`, `10;w=1.5`, `-1;w=1`, `1.5;w=1`, `"burst";q=100;w=60`} {
		got, err := ParseDraft06Policies([]string{member + `, 5;w=1`})
		if want := []Policy{{Quota: 5, Window: time.Second}}; !errors.Is(err, ErrDropped) || !reflect.DeepEqual(got, want) {
			t.Errorf("with %s: got %+v, %v, want %+v and ErrDropped", member, got, err, want)
		}
	}
	if got, err := ParseDraft06Policies([]string{`10;w=`}); got != nil || !errors.Is(err, ErrMalformed) {
		t.Errorf("got %+v, %v, want none and ErrMalformed", got, err)
	}
}
