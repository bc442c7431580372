package redisstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Open returns a store for the server at an address, with connections of its own:
//
//	redis://[user:password@]host:port[/db]     one server
//	rediss://…                                 the same over TLS
//	redis-cluster://[user:password@]h:p,h:p    a cluster, by some of its nodes
//	rediss-cluster://…                         the same over TLS
//
// Options may follow as in redis://host?protocol=2; see redis.ParseURL and
// redis.ParseClusterURL. A group watched by Sentinel is opened with [New] and
// redis.NewFailoverClient. Open does not connect: the server may come up later.
func Open(address string, c Config) (*Store, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	client, err := dial(address, c)
	if err != nil {
		return nil, fmt.Errorf("redisstore: %w", withoutPassword(address, err))
	}
	s, err := New(client, c)
	if err != nil {
		return nil, err
	}
	s.owned = true
	return s, nil
}

// withoutPassword keeps an address out of messages: it may have a password.
func withoutPassword(address string, err error) error {
	if strings.Contains(err.Error(), address) || strings.Contains(address, "@") {
		return errors.New("the address is wrong, want one such as redis://127.0.0.1:6379/0, rediss://host:6380 or redis-cluster://h1:6379,h2:6379")
	}
	return err
}

func dial(address string, c Config) (redis.UniversalClient, error) {
	scheme, rest, _ := strings.Cut(address, "://")
	switch scheme {
	case "redis", "rediss":
		if u, err := url.Parse(address); err != nil || u.Hostname() == "" {
			return nil, errors.New("the address has no host")
		}
		o, err := redis.ParseURL(address)
		if err != nil {
			return nil, err
		}
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout = c.Timeout, c.Timeout, c.Timeout
		o.PoolTimeout, o.ContextTimeoutEnabled = c.Timeout, true
		o.MaxRetries, o.DialerRetries = -1, 1
		o.DisableIdentity = true
		o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		return redis.NewClient(o), nil
	case "redis-cluster", "rediss-cluster":
		o, err := clusterOptions(scheme == "rediss-cluster", rest)
		if err != nil {
			return nil, err
		}
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout = c.Timeout, c.Timeout, c.Timeout
		o.PoolTimeout, o.ContextTimeoutEnabled = c.Timeout, true
		o.MaxRetries, o.DialerRetries = -1, 1
		o.DisableIdentity, o.DisableRoutingPolicies = true, true
		o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		return redis.NewClusterClient(o), nil
	}
	return nil, fmt.Errorf("%.20q has no scheme that is known, want redis://, rediss://, redis-cluster:// or rediss-cluster://", scheme)
}

// clusterOptions reads user:password@h:p,h:p?options.
func clusterOptions(secure bool, rest string) (*redis.ClusterOptions, error) {
	body, query, _ := strings.Cut(rest, "?")
	user, hosts, found := cutLast(body, "@")
	if !found {
		user, hosts = "", body
	}
	nodes := strings.Split(strings.TrimSuffix(hosts, "/"), ",")
	for _, node := range nodes {
		if u, err := url.Parse("redis://" + node); err != nil || u.Hostname() == "" {
			return nil, errors.New("a node of the cluster is no host:port")
		}
	}
	first := "redis://"
	if found {
		first += user + "@"
	}
	first += nodes[0]
	if query != "" {
		first += "?" + query
	}
	o, err := redis.ParseClusterURL(first)
	if err != nil {
		return nil, err
	}
	o.Addrs = nil
	for _, node := range nodes {
		u, _ := url.Parse("redis://" + node)
		port := u.Port()
		if port == "" {
			port = "6379"
		}
		o.Addrs = append(o.Addrs, joinHostPort(u.Hostname(), port))
	}
	if secure {
		u, _ := url.Parse("redis://" + nodes[0])
		o.TLSConfig = &tls.Config{ServerName: u.Hostname(), MinVersion: tls.VersionTLS12}
	}
	return o, nil
}

func joinHostPort(host, port string) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + port
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return "", s, false
	}
	return s[:i], s[i+len(sep):], true
}

// Quiet ends go-redis's own log for the whole program. It has a line for every
// connection that cannot be made, which in an outage are many; the failures
// themselves are told to whoever asks for them (see the decorators in package store).
func Quiet() { redis.SetLogger(silence{}) }

type silence struct{}

// Printf says nothing.
func (silence) Printf(context.Context, string, ...any) {}
