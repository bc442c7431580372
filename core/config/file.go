package config

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/tidegate/tidegate/core"
)

// A File is a limits file that has been read and found right.
type File struct {
	// Version is the version of the grammar, which is 1.
	Version int

	// Client says who the client of a request is.
	Client Client

	// Principals is the directory of callers.
	Principals Principals

	// Headers names the header styles that clients are answered with, and is
	// never empty. Default: ratelimit.
	Headers []string

	// Store is how the store is to be built.
	Store Store

	// Core is the table of limits. Its Store, Secret and Observer are not the
	// file's business: set them before [core.New].
	Core core.Config
}

// A Store is the store part of a file.
type Store struct {
	// MaxKeys is the bound of the memory store. 0: the store's own default.
	MaxKeys int

	// Failure is the policy of limits that name none, also found in the table.
	// Default: [core.FailOpen].
	Failure core.FailurePolicy

	// Redis is the shared store. nil: spending is kept in this process's memory.
	Redis *Redis

	// LocalFraction is this process's share of a quota while it is on its own. 0: the
	// default of package store.
	LocalFraction float64

	// LocalAuto makes that share an even one among the instances last known to be alive.
	LocalAuto bool

	// LocalTotal caps what this process admits while it is on its own. Its zero value
	// is no cap.
	LocalTotal core.Quota

	// Prefetch is the share of a quota that one process may hold for a key, also found
	// in the table. 0: none.
	Prefetch float64
}

// A Redis is the redis part of a file's store.
type Redis struct {
	URL     string        // may hold a password
	Prefix  string        // "": the store's default
	Timeout time.Duration // 0: the store's default
}

// MaxBytes is the size of the largest file that is read. A table of thousands of
// limits is far below it.
const MaxBytes = 1 << 20

// Load reads the file at path. The error is an [*Error] when the file could be
// read and is wrong.
func Load(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1)) // Parse refuses the one byte more
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return Parse(path, data)
}

// Parse reads the content of a file. The name is for messages. The error is an
// [*Error] with every problem of the file. data is not retained.
func Parse(name string, data []byte) (*File, error) {
	d := &decoder{file: name}
	root := d.parse(data)
	if root == nil {
		return nil, d.err()
	}
	f := d.root(root)
	d.validate(root, f.Core)
	if err := d.err(); err != nil {
		return nil, err
	}
	return f, nil
}

// Warnings returns what the file may say and hardly ever should. A program logs
// it at start.
func (f *File) Warnings() []string {
	var list []string
	for _, p := range f.Client.TrustedProxies {
		if p.Bits() == 0 {
			list = append(list, fmt.Sprintf("client.trusted_proxies has %v: every client can choose the address that it is counted by", p))
		}
	}
	return list
}
