package main

import (
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// lookEvery is how often the limits file is read. It is small, and reading it sees
// every way of changing it: in place, by rename, behind a link.
const lookEvery = 500 * time.Millisecond

// watch reloads on SIGHUP and, when follow is set, whenever the limits file's text
// has changed and has stayed so for two looks: a file that is half written is not
// loaded. It returns a function that stops watching.
func (a *app) watch(follow bool, stderr io.Writer) (stop func()) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	done, ended := make(chan struct{}), make(chan struct{})
	var look <-chan time.Time
	if follow && a.flags.config != "" {
		ticker := time.NewTicker(lookEvery)
		look = ticker.C
	}
	go func() {
		defer close(ended)
		loaded, _ := a.content()
		seen := loaded
		for {
			select {
			case <-done:
				return
			case <-hup:
				loaded, _ = a.content()
				a.reload(stderr)
			case <-look:
				now, ok := a.content()
				if ok && now == seen && now != loaded {
					loaded = now
					a.reload(stderr)
				}
				seen = now
			}
		}
	}()
	return func() {
		signal.Stop(hup)
		close(done)
		<-ended
	}
}
