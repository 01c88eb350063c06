package source

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
	"unique"

	"github.com/redis/go-redis/v9"

	"github.com/dashpot-project/dashpot/pkg/egress"
	"github.com/dashpot-project/dashpot/pkg/metadata"
)

// redisInterval is how often a Redis server is read by default.
const redisInterval = 5 * time.Second

// topology is how the servers behind the addresses work together. Its value is what
// it adds to the name of a trigger type.
type topology string

const (
	single   topology = ""
	cluster  topology = "-cluster"
	sentinel topology = "-sentinel"
)

// redisServer identifies a server and how to get into it. It is comparable, and kept
// behind a unique.Handle so that no way of printing a query shows a password.
type redisServer struct {
	topology           topology
	addresses          string // comma-separated
	database           int
	username, password string
	// For sentinel only.
	master                             string
	sentinelUsername, sentinelPassword string
	tls, unsafe                        bool
	// name is for messages: addresses and database. id is name with a fingerprint of
	// everything else.
	name, id string
}

var (
	addressKey = metadata.Key{
		Name: "address", Aliases: []string{"addresses"}, Format: "host:port, or several separated by commas",
		Meaning: "Where the server is. Several for a cluster or for sentinels; of several, plain Redis uses the first.",
	}
	hostKey = metadata.Key{
		Name: "host", Aliases: []string{"hosts"}, Format: "a host name or IP address, or as many as port has, separated by commas",
		Meaning: "The host, in place of address.",
	}
	portKey = metadata.Key{
		Name: "port", Aliases: []string{"ports"}, Format: "a port from 1 to 65535, or as many as host has, separated by commas",
		Meaning: "The port, in place of address.",
	}
	databaseKey = metadata.Key{
		Name: "databaseIndex", Kind: metadata.Whole, Range: metadata.Range{Min: 0, Max: 1_000_000}, Default: "0",
		Meaning: "The database.",
	}
	usernameKey = metadata.Key{Name: "username", Secret: true, Meaning: "The ACL user; the default user if absent."}
	passwordKey = metadata.Key{Name: "password", Secret: true, Meaning: "The password. Give it as passwordFromEnv."}
	tlsKey      = metadata.Key{
		Name: "source.enableTLS", Kind: metadata.Flag, Default: "false",
		Meaning: "Whether to connect with TLS.",
	}
	unsafeKey = metadata.Key{
		Name: "source.unsafeSsl", Kind: metadata.Flag, Default: "false",
		Meaning: "Whether to accept any certificate.",
	}
	masterKey = metadata.Key{
		Name: "sentinelMaster", Required: true,
		Meaning: "The name of the primary that the sentinels watch.",
	}
	sentinelUsernameKey = metadata.Key{Name: "sentinelUsername", Secret: true, Meaning: "The ACL user at the sentinels."}
	sentinelPasswordKey = metadata.Key{Name: "sentinelPassword", Secret: true, Meaning: "The password at the sentinels."}

	// scalerTLSKey is KEDA's own: the connection from KEDA to this scaler.
	scalerTLSKey = metadata.Key{Name: "enableTLS"}
)

// connectionKeys are the keys that say where the server is.
func connectionKeys(t topology) []metadata.Key {
	keys := []metadata.Key{addressKey, hostKey, portKey, databaseKey, usernameKey, passwordKey, tlsKey, unsafeKey}
	if t == sentinel {
		keys = append(keys, masterKey, sentinelUsernameKey, sentinelPasswordKey)
	}
	return keys
}

// parseServer reads the connection keys.
func parseServer(m *metadata.Map, t topology, salt []byte) unique.Handle[redisServer] {
	s := redisServer{
		topology: t,
		database: int(m.Whole(databaseKey)),
		username: m.Text(usernameKey),
		password: m.Text(passwordKey),
		tls:      m.Flag(tlsKey),
		unsafe:   m.Flag(unsafeKey),
	}
	if t == sentinel {
		s.master, s.sentinelUsername, s.sentinelPassword = m.Text(masterKey), m.Text(sentinelUsernameKey), m.Text(sentinelPasswordKey)
	}
	if m.Has(scalerTLSKey) && !m.Has(tlsKey) {
		m.Warn("enableTLS: is about the connection from KEDA to Dashpot; for the one to Redis set source.enableTLS")
	}
	if t == cluster && s.database != 0 {
		m.Warn("databaseIndex: ignored, a cluster has only database 0")
		s.database = 0
	}
	addresses := parseAddresses(m)
	if t == single && len(addresses) > 1 {
		m.Warn("%s: only the first of %d addresses is used; for a cluster set source to one of the cluster types", addressKey.Name, len(addresses))
		addresses = addresses[:1]
	}
	s.addresses = strings.Join(addresses, ",")
	s.name = fmt.Sprintf("%s/%d", s.addresses, s.database)
	if s.master != "" {
		s.name = fmt.Sprintf("%s at %s", s.master, s.name)
	}
	s.id = s.name + "#" + fingerprint(salt,
		string(s.topology), s.username, s.password, s.sentinelUsername, s.sentinelPassword,
		strconv.FormatBool(s.tls), strconv.FormatBool(s.unsafe))
	return unique.Make(s)
}

// parseAddresses reads address, and host with port, which add to it.
func parseAddresses(m *metadata.Map) []string {
	addresses := fields(m.Text(addressKey))
	hosts, ports := fields(m.Text(hostKey)), fields(m.Text(portKey))
	for _, address := range addresses {
		if host, port, err := net.SplitHostPort(address); err != nil || !legalPort(port) || !legalHost(host) {
			m.Problem(unlessLogin(addressKey, m), "")
			return nil
		}
	}
	switch {
	case len(hosts) == 0 && len(ports) == 0 && len(addresses) == 0:
		m.Problem(addressKey, "or host and port together")
		return nil
	case len(hosts) == 0 && len(ports) > 0 && len(addresses) == 0:
		m.Problem(hostKey, "")
		return nil
	case len(ports) == 0 && len(hosts) > 0 && len(addresses) == 0:
		m.Problem(portKey, "")
		return nil
	case len(hosts) == 0 || len(ports) == 0:
		return addresses // as in KEDA, half a pair beside an address does nothing
	case slices.ContainsFunc(hosts, func(h string) bool { return !legalHost(h) }):
		m.Problem(unlessLogin(hostKey, m), "")
		return nil
	case len(hosts) != len(ports):
		m.Problem(hostKey, fmt.Sprintf("%d hosts and %d ports", len(hosts), len(ports)))
		return nil
	case !slices.ContainsFunc(ports, func(p string) bool { return !legalPort(p) }):
		for i, host := range hosts {
			addresses = append(addresses, net.JoinHostPort(host, ports[i]))
		}
		return addresses
	}
	m.Problem(portKey, "")
	return nil
}

// legalHost refuses what is no host: the path of a socket, which go-redis would open, and
// what has a login before it.
func legalHost(host string) bool { return !strings.ContainsAny(host, "@/") }

// unlessLogin is a key of which nothing is shown where somebody may have put a login.
func unlessLogin(k metadata.Key, m *metadata.Map) metadata.Key {
	k.Secret = strings.Contains(m.Text(k), "@")
	return k
}

func legalPort(text string) bool {
	port, err := strconv.ParseUint(text, 10, 16)
	return err == nil && port > 0
}

// fields splits a comma-separated list, without its empty entries.
func fields(text string) []string {
	var fields []string
	for field := range strings.SplitSeq(text, ",") {
		if field = strings.TrimSpace(field); field != "" {
			fields = append(fields, field)
		}
	}
	return fields
}

// connect makes a client. It does not touch the network yet.
func (s redisServer) connect(timeout time.Duration, dialer egress.Dialer) redis.UniversalClient {
	options := &redis.UniversalOptions{
		Addrs:    strings.Split(s.addresses, ","),
		DB:       s.database,
		Username: s.username, Password: s.password,
		MasterName:       s.master,
		SentinelUsername: s.sentinelUsername, SentinelPassword: s.sentinelPassword,
		IsClusterMode: s.topology == cluster,
		// RESP2 is what every server speaks, and it has no pushes to keep up with.
		Protocol: 2, DisableIdentity: true,
		// One attempt each: the breaker decides when to try again.
		MaxRetries: -1, DialerRetries: 1,
		// It dials whatever a sentinel or a node of a cluster names, too.
		Dialer:      s.dial(dialer),
		DialTimeout: timeout, ReadTimeout: timeout, WriteTimeout: timeout, PoolTimeout: timeout,
		ContextTimeoutEnabled: true,
		// A read takes well under a millisecond, so a few connections serve thousands
		// of policies. All reads are pipelines: they need no pool of their own.
		PoolSize: 8, PipelinePoolSize: -1,
		ReadBufferSize: 4096, WriteBufferSize: 4096,
		ConnMaxIdleTime: time.Minute,
	}
	return redis.NewUniversalClient(options)
}

// dial connects by a dialer, and with TLS where that is asked for.
func (s redisServer) dial(dialer egress.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	if !s.tls {
		return dialer.DialContext
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		plain, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		host, _, _ := net.SplitHostPort(address)                                                            // which has just been dialled
		config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host, InsecureSkipVerify: s.unsafe} //nolint:gosec // the user's own choice
		ctx, cancel := context.WithTimeout(ctx, dialer.Timeout)
		defer cancel()
		secure := tls.Client(plain, config)
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = plain.Close()
			return nil, err
		}
		return secure, nil
	}
}
