package redisstore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// describe puts what a URL means into one line.
func describe(t target) string {
	line := func(addrs []string, user, password string, tls bool, rest string) string {
		return strings.TrimSpace(fmt.Sprintf("%s %q %q tls=%v %s", strings.Join(addrs, " "), user, password, tls, rest))
	}
	switch {
	case t.single != nil:
		o := t.single
		return line([]string{o.Addr}, o.Username, o.Password, o.TLSConfig != nil, fmt.Sprintf("db=%d pool=%d", o.DB, o.PoolSize))
	case t.sentinel != nil:
		o := t.sentinel
		return line(o.SentinelAddrs, o.Username, o.Password, o.TLSConfig != nil,
			fmt.Sprintf("db=%d master=%s sentinel=%q %q", o.DB, o.MasterName, o.SentinelUsername, o.SentinelPassword))
	default:
		o := t.cluster
		return line(o.Addrs, o.Username, o.Password, o.TLSConfig != nil, "")
	}
}

func TestParseURL(t *testing.T) {
	for _, test := range []struct{ url, want string }{
		{"redis://h", `h:6379 "" "" tls=false db=0 pool=0`},
		{"redis://h:1/3?pool_size=7", `h:1 "" "" tls=false db=3 pool=7`},
		{"redis://:pw@h", `h:6379 "" "pw" tls=false db=0 pool=0`},
		{"redis://u@h", `h:6379 "u" "" tls=false db=0 pool=0`},
		{"rediss://u:p%40%2F%3A:w@h", `h:6379 "u" "p@/::w" tls=true db=0 pool=0`},
		{"redis://u:p@w@h", `h:6379 "u" "p@w" tls=false db=0 pool=0`},
		{"redis://[::1]:7", `[::1]:7 "" "" tls=false db=0 pool=0`},
		{"redis://[::1]", `[::1]:6379 "" "" tls=false db=0 pool=0`},
		{"redis-sentinel://a,b:2/1?master=m", `a:26379 b:2 "" "" tls=false db=1 master=m sentinel="" ""`},
		{
			"rediss-sentinel://u:p@a?master=m&sentinel_username=su&sentinel_password=s%40p",
			`a:26379 "u" "p" tls=true db=0 master=m sentinel="su" "s@p"`,
		},
		{"redis-cluster://u:p@a:1,[::2]:2,c", `a:1 [::2]:2 c:6379 "u" "p" tls=false`},
		{"rediss-cluster://a/0", `a:6379 "" "" tls=true`},
	} {
		got, err := parseURL(test.url)
		if err != nil {
			t.Errorf("%s: %v", test.url, err)
			continue
		}
		if got := describe(got); got != test.want {
			t.Errorf("%s\n got %s\nwant %s", test.url, got, test.want)
		}
	}
}

func TestParseURLRefuses(t *testing.T) {
	for _, test := range []struct{ url, want string }{
		{"", "SCHEME://HOST"},
		{"localhost:6379", "SCHEME://HOST"},
		{"http://h", "rediss-cluster"},
		{"redis://", "SCHEME://HOST"},
		{"redis:///0", `host ""`},
		{"redis://:6379", `host ":6379"`},
		{"redis://h:0", "1 to 65535"},
		{"redis://h:65536", "1 to 65535"},
		{"redis://h:x", `host "h:x"`},
		{"redis://::1", `in brackets`},
		{"redis://a,b", "2 hosts"},
		{"redis://h/x", `database number: "x"`},
		{"redis://h/%zz", "path"},
		{"redis://h?pool_size=many", "pool_size"},
		{"redis://h?poolsize=1", "poolsize"},
		{"redis://h?a=1;b=2", "parameters"},
		{"redis://h?max_retries=3", "max_retries"},
		{"redis://h#x", "%23"},
		{"redis-cluster://a/1", "only database 0"},
		{"redis-cluster://a?read_only=true", "read_only"},
		{"redis-cluster://a,", `host ""`},
		{"redis-sentinel://a", "master is missing"},
		{"redis-sentinel://a?master=m&addr=b", "addr"},
		{"redis-sentinel://a?master=m&route_randomly=true", "route_randomly"},
	} {
		_, err := parseURL(test.url)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: error %v; want one about %q", test.url, err, test.want)
		}
	}
}

func TestTLSVerifiesEachHost(t *testing.T) {
	for _, url := range []string{"rediss-sentinel://a,b?master=m", "rediss-cluster://a,b"} {
		target, err := parseURL(url)
		if err != nil {
			t.Fatal(err)
		}
		config := func() string {
			if target.cluster != nil {
				return target.cluster.TLSConfig.ServerName
			}
			return target.sentinel.TLSConfig.ServerName
		}()
		if config != "" {
			t.Errorf("%s: every server would have to be %q", url, config)
		}
	}
}

// FuzzParseURL looks for panics, for passwords in errors, and for a password that
// gets lost or into another part.
func FuzzParseURL(f *testing.F) {
	f.Add("redis", "", "", "h:1/0")
	f.Add("redis-sentinel", "a/", "", "h?master=m&sentinel_password=x")
	f.Add("redis-cluster", "?", "#", "a,b:2")
	f.Add("rediss", "%", "@", "[::1]:5")
	f.Add("redis", "[", "]:x/", "h:p")
	f.Fuzz(func(t *testing.T, scheme, before, after, rest string) {
		const secret = "hunter2"
		if strings.Contains(scheme+rest, secret) {
			return // it is no secret there
		}
		target, err := parseURL(scheme + "://user:" + before + secret + after + "@" + rest)
		if err != nil {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the error shows the password: %v", err)
			}
			return
		}
		if password := passwordOf(target); !strings.Contains(password, secret) {
			t.Errorf("the password became %q", password)
		}
	})
}

func passwordOf(t target) string {
	switch {
	case t.single != nil:
		return t.single.Password
	case t.sentinel != nil:
		return t.sentinel.Password
	default:
		return t.cluster.Password
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, test := range []struct {
		url, want string
		options   Options
	}{
		{"redis://h", "instance is empty", Options{}},
		{"redis://h", "at least 1ms", Options{Instance: "a", Timeout: 1}},
		{"redis://h", "at least 1ms", Options{Instance: "a", Timeout: -1}},
		{"nonsense", "redis URL", Options{Instance: "a"}},
	} {
		_, err := Open(test.url, test.options)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("Open(%q, %+v): error %v; want %q", test.url, test.options, err, test.want)
		}
	}
}

// Every kind of client has to be told separately.
func TestClientsNeverRetry(t *testing.T) {
	single, _ := parseURL("redis://h")
	if o := single.connect().(*redis.Client).Options(); o.MaxRetries != 0 || !o.ContextTimeoutEnabled {
		t.Errorf("single: %d retries, deadlines %v", o.MaxRetries, o.ContextTimeoutEnabled)
	}
	sentinel, _ := parseURL("redis-sentinel://h?master=m")
	if o := sentinel.connect().(*redis.Client).Options(); o.MaxRetries != 0 || !o.ContextTimeoutEnabled {
		t.Errorf("sentinel: %d retries, deadlines %v", o.MaxRetries, o.ContextTimeoutEnabled)
	}
	cluster, _ := parseURL("redis-cluster://h")
	if o := cluster.connect().(*redis.ClusterClient).Options(); o.MaxRetries > 0 || !o.ContextTimeoutEnabled {
		t.Errorf("cluster: %d retries, deadlines %v", o.MaxRetries, o.ContextTimeoutEnabled)
	}
}
