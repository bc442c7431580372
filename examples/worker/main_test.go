package main

import (
	"strings"
	"testing"
	"testing/synctest"
)

func TestWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		if err := run(t.Context(), &out); err != nil {
			t.Fatal(err)
		}
		const want = `e-mail 1 after 0s
e-mail 2 after 500ms
e-mail 3 after 1s
exporting 1, 2 left today
exporting 2, 0 left today
no export of 1, try again in 23h59m59s
no export of 4, try again never
`
		if got := out.String(); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	})
}
