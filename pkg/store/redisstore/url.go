package redisstore

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

const (
	redisPort    = "6379"
	sentinelPort = "26379"
)

// target is a Redis to connect to; exactly one field is set.
type target struct {
	single   *redis.Options
	sentinel *redis.FailoverOptions
	cluster  *redis.ClusterOptions
}

// forbidden are parameters that go-redis knows and a store must not have, and why.
var forbidden = map[string]string{
	"max_retries":                "a record must not be swapped twice",
	"max_redirects":              "a record must not be swapped twice",
	"context_timeout_enabled":    "deadlines always hold",
	"dialer_retries":             "deadlines always hold",
	"read_only":                  "a replica's records are old",
	"replica_only":               "a replica's records are old",
	"use_disconnected_replicas":  "a replica's records are old",
	"route_by_latency":           "a replica's records are old",
	"route_by_latency_tolerance": "a replica's records are old",
	"route_randomly":             "a replica's records are old",
	"addr":                       "hosts are listed before the path, with commas",
	"master_name":                "it is called master",
	"username":                   "it goes before the hosts, as USER:PASSWORD@",
	"password":                   "it goes before the hosts, as USER:PASSWORD@",
	"db":                         "it is the path, as /0",
}

// parseURL reads the forms that Open describes. An error names the part that is wrong,
// and never contains the password.
func parseURL(raw string) (target, error) {
	parts, err := splitURL(raw)
	if err != nil {
		return target{}, fmt.Errorf("redis URL: %w", err)
	}
	var t target
	switch parts.mode {
	case "sentinel":
		t, err = parts.toSentinel()
	case "cluster":
		t, err = parts.toCluster()
	default:
		t, err = parts.toSingle()
	}
	if err != nil {
		return target{}, fmt.Errorf("redis URL: %w", err)
	}
	return t, nil
}

// urlParts are the parts of a store's URL. net/url cannot read it, as it may name
// several hosts, and quotes passwords in its errors.
type urlParts struct {
	scheme string // of go-redis: redis, or rediss with TLS
	mode   string // sentinel, cluster, or empty
	user   *url.Userinfo
	hosts  []string // host:port
	path   string
	query  url.Values
}

func splitURL(raw string) (urlParts, error) {
	scheme, rest, _ := strings.Cut(raw, "://")
	var p urlParts
	p.scheme, p.mode, _ = strings.Cut(scheme, "-")
	legal := []string{"redis", "rediss", "redis-sentinel", "rediss-sentinel", "redis-cluster", "rediss-cluster"}
	if !slices.Contains(legal, scheme) || len(rest) == 0 {
		return p, fmt.Errorf("it must be SCHEME://HOST, the scheme one of %s", strings.Join(legal, ", "))
	}
	authority, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, tail = rest[:i], rest[i:]
	}
	// After an @ out here, all of the rest may be a password that was not encoded.
	if strings.ContainsAny(tail, "@#") {
		return p, errors.New("@ and # after the hosts, and / ? # in a password, must be written %40 %23 %2F %3F")
	}
	var err error
	if p.user, authority, err = splitUser(authority); err != nil {
		return p, err
	}
	if p.hosts, err = splitHosts(authority, p.mode); err != nil {
		return p, err
	}
	p.path, p.query, err = splitTail(tail)
	return p, err
}

// splitUser cuts the user and the password off an authority. Nothing of them gets
// into an error.
func splitUser(authority string) (user *url.Userinfo, hosts string, err error) {
	at := strings.LastIndex(authority, "@")
	if at < 0 {
		return nil, authority, nil
	}
	name, password, hasPassword := strings.Cut(authority[:at], ":")
	name, nameErr := url.PathUnescape(name)
	password, passwordErr := url.PathUnescape(password)
	if nameErr != nil || passwordErr != nil {
		return nil, "", errors.New("user or password: % must be written %25")
	}
	if !hasPassword {
		return url.User(name), authority[at+1:], nil
	}
	return url.UserPassword(name, password), authority[at+1:], nil
}

func splitHosts(list, mode string) ([]string, error) {
	defaultPort := redisPort
	if mode == "sentinel" {
		defaultPort = sentinelPort
	}
	var hosts []string
	for item := range strings.SplitSeq(list, ",") {
		u, err := url.Parse("redis://" + item)
		if err != nil || u.Hostname() == "" || strings.Contains(u.Hostname(), ":") && item[0] != '[' {
			return nil, fmt.Errorf("host %q: it must be HOST or HOST:PORT, an IPv6 address in brackets", item)
		}
		port := u.Port()
		if port == "" {
			port = defaultPort
		}
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return nil, fmt.Errorf("host %q: the port must be from 1 to 65535", item)
		}
		hosts = append(hosts, net.JoinHostPort(u.Hostname(), port))
	}
	if mode == "" && len(hosts) > 1 {
		return nil, fmt.Errorf("%d hosts: redis:// takes one, redis-sentinel:// and redis-cluster:// take several", len(hosts))
	}
	return hosts, nil
}

func splitTail(tail string) (path string, query url.Values, err error) {
	rawPath, rawQuery, _ := strings.Cut(tail, "?")
	path, err = url.PathUnescape(rawPath)
	if err != nil {
		return "", nil, errors.New("path: % must be written %25")
	}
	query, err = url.ParseQuery(rawQuery)
	if err != nil {
		return "", nil, errors.New("parameters: they must be KEY=VALUE&KEY=VALUE, with % written %25 and ; written %3B")
	}
	for key := range query {
		if why, bad := forbidden[key]; bad {
			return "", nil, fmt.Errorf("parameter %s is not allowed here: %s", key, why)
		}
	}
	return path, query, nil
}

// take removes a parameter and returns its value.
func (p urlParts) take(key string) string {
	value := p.query.Get(key)
	p.query.Del(key)
	return value
}

// goRedis is the URL in the form that go-redis parses.
func (p urlParts) goRedis() string {
	u := url.URL{Scheme: p.scheme, User: p.user, Host: p.hosts[0], Path: p.path, RawQuery: p.query.Encode()}
	return u.String()
}

func (p urlParts) toSingle() (target, error) {
	o, err := redis.ParseURL(p.goRedis())
	if err != nil {
		return target{}, err
	}
	return target{single: o}, nil
}

func (p urlParts) toSentinel() (target, error) {
	master := p.take("master")
	if master == "" {
		return target{}, errors.New("parameter master is missing: the name by which the sentinels know the primary")
	}
	data := p.user
	p.user = url.UserPassword(p.take("sentinel_username"), p.take("sentinel_password"))
	p.query.Set("master_name", master)
	p.query["addr"] = p.hosts[1:]
	o, err := redis.ParseFailoverURL(p.goRedis())
	if err != nil {
		return target{}, err
	}
	if data != nil {
		o.Username = data.Username()
		o.Password, _ = data.Password()
	}
	perHost(o.TLSConfig)
	return target{sentinel: o}, nil
}

func (p urlParts) toCluster() (target, error) {
	if db := strings.Trim(p.path, "/"); db != "" && db != "0" {
		return target{}, fmt.Errorf("path %q: a Redis Cluster has only database 0", p.path)
	}
	p.query["addr"] = p.hosts[1:]
	o, err := redis.ParseClusterURL(p.goRedis())
	if err != nil {
		return target{}, err
	}
	perHost(o.TLSConfig)
	return target{cluster: o}, nil
}

// perHost lets each server prove its own name. go-redis would ask all of them for
// the name of the first.
func perHost(config *tls.Config) {
	if config != nil {
		config.ServerName = ""
	}
}
