package process

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dashpot-project/dashpot/internal/process/certtest"
)

// newFiles writes a server's certificate, and returns the files' names.
func newFiles(t *testing.T, pair certtest.Pair) TLSOptions {
	t.Helper()
	dir := t.TempDir()
	files := TLSOptions{Cert: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key")}
	write(t, files, pair)
	return files
}

func write(t *testing.T, files TLSOptions, pair certtest.Pair) {
	t.Helper()
	certtest.Write(t, files.Cert, pair.Cert)
	certtest.Write(t, files.Key, pair.Key)
}

// serveEcho accepts TLS connections and echoes what they say.
func serveEcho(t *testing.T, config *tls.Config) string {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func(conn net.Conn) { _, _ = io.Copy(conn, conn) }(conn)
		}
	}()
	return listener.Addr().String()
}

// say sends a word and returns the name on the server's certificate.
func say(t *testing.T, conn *tls.Conn) string {
	t.Helper()
	if _, err := io.WriteString(conn, "word"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	return conn.ConnectionState().PeerCertificates[0].Subject.CommonName
}

func dial(t *testing.T, addr string, config *tls.Config) *tls.Conn {
	t.Helper()
	conn, err := tls.Dial("tcp", addr, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func mustLoad(t *testing.T, files TLSOptions) *Certificates {
	t.Helper()
	certificates, err := LoadCertificates(files)
	if err != nil {
		t.Fatal(err)
	}
	return certificates
}

func TestChangedCertificatesAreForNewConnections(t *testing.T) {
	authority := certtest.NewAuthority(t, "authority")
	files := newFiles(t, authority.Issue(t, "first"))
	certificates := mustLoad(t, files)
	addr := serveEcho(t, certificates.Config())
	old := dial(t, addr, authority.Client(t))
	if name := say(t, old); name != "first" {
		t.Errorf("served %q; want the first certificate", name)
	}
	write(t, files, authority.Issue(t, "second"))
	if changed, err := certificates.reload(); !changed || err != nil {
		t.Fatalf("changed %v, error %v", changed, err)
	}
	if name := say(t, dial(t, addr, authority.Client(t))); name != "second" {
		t.Errorf("served %q; want the second certificate", name)
	}
	say(t, old) // it is still open
}

func TestClientAuthority(t *testing.T) {
	server, ours, theirs := certtest.NewAuthority(t, "server"), certtest.NewAuthority(t, "ours"), certtest.NewAuthority(t, "theirs")
	files := newFiles(t, server.Issue(t, "server"))
	files.ClientCA = filepath.Join(filepath.Dir(files.Cert), "ca.crt")
	certtest.Write(t, files.ClientCA, ours.PEM)
	certificates := mustLoad(t, files)
	addr := serveEcho(t, certificates.Config())
	ourClient, theirClient := server.Client(t, ours.Issue(t, "client")), server.Client(t, theirs.Issue(t, "client"))

	say(t, dial(t, addr, ourClient))
	refused(t, addr, "without a certificate", server.Client(t), "certificate required")
	refused(t, addr, "of another authority", theirClient, "unknown certificate authority")

	certtest.Write(t, files.ClientCA, theirs.PEM)
	if changed, err := certificates.reload(); !changed || err != nil {
		t.Fatalf("changed %v, error %v", changed, err)
	}
	say(t, dial(t, addr, theirClient))
	refused(t, addr, "of the former authority", ourClient, "unknown certificate authority")
}

// refused expects that a connection cannot be used, and why. In TLS 1.3 the client
// learns of it with its first read.
func refused(t *testing.T, addr, name string, config *tls.Config, why string) {
	t.Helper()
	conn, err := tls.Dial("tcp", addr, config)
	if err == nil {
		_, err = conn.Read(make([]byte, 1))
		_ = conn.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "tls: "+why) {
		t.Errorf("client %s: error %v; want %q", name, err, why)
	}
}

// A client that knows nothing newer than TLS 1.2 is served where 1.2 is asked for, and
// nowhere else.
func TestMinVersion(t *testing.T) {
	authority := certtest.NewAuthority(t, "authority")
	files := newFiles(t, authority.Issue(t, "server"))
	old, current := authority.Client(t), authority.Client(t)
	old.MaxVersion = tls.VersionTLS12
	for _, test := range []struct {
		min    uint16
		oldToo bool
	}{{0, false}, {tls.VersionTLS13, false}, {tls.VersionTLS12, true}} {
		files.MinVersion = test.min
		certificates := mustLoad(t, files)
		for door, config := range map[string]*tls.Config{"gRPC": certificates.Config(), "HTTP": certificates.HTTPConfig()} {
			addr := serveEcho(t, config)
			say(t, dial(t, addr, current))
			if !test.oldToo {
				refused(t, addr, door+" with TLS 1.2", old, "protocol version not supported")
			} else if conn := dial(t, addr, old); conn.ConnectionState().Version != tls.VersionTLS12 {
				t.Errorf("%s: version %x; want that of TLS 1.2", door, conn.ConnectionState().Version)
			}
		}
	}
}

// A Secret's volume changes by its link ..data, which the kubelet moves to another folder:
// the files' own names stay links through it.
func TestSecretVolume(t *testing.T) {
	authority := certtest.NewAuthority(t, "authority")
	volume := certtest.NewVolume(t)
	update := func(pair certtest.Pair) {
		volume.Update(t, map[string][]byte{"tls.crt": pair.Cert, "tls.key": pair.Key})
	}
	update(authority.Issue(t, "first"))
	certificates := mustLoad(t, TLSOptions{Cert: volume.Path("tls.crt"), Key: volume.Path("tls.key")})
	addr := serveEcho(t, certificates.Config())
	for _, name := range []string{"second", "third"} {
		update(authority.Issue(t, name))
		if changed, err := certificates.reload(); !changed || err != nil {
			t.Fatalf("changed %v, error %v", changed, err)
		}
		if got := say(t, dial(t, addr, authority.Client(t))); got != name {
			t.Errorf("served %q; want %q", got, name)
		}
	}
	if changed, err := certificates.reload(); changed || err != nil {
		t.Errorf("nothing changed: changed %v, error %v", changed, err)
	}
}

func TestUnusableFilesAreErrors(t *testing.T) {
	authority := certtest.NewAuthority(t, "authority")
	good, other := authority.Issue(t, "good"), authority.Issue(t, "other")
	tests := []struct {
		name  string
		pair  certtest.Pair
		ca    string
		wants string
	}{
		{"key of another certificate", certtest.Pair{Cert: good.Cert, Key: other.Key}, "", "private key does not match"},
		{"no certificate", certtest.Pair{Cert: []byte("text"), Key: good.Key}, "", "use certificate and key"},
		{"authority that is none", good, "text", "holds no PEM certificate"},
	}
	for _, test := range tests {
		files := newFiles(t, test.pair)
		if test.ca != "" {
			files.ClientCA = filepath.Join(t.TempDir(), "ca.crt")
			certtest.Write(t, files.ClientCA, []byte(test.ca))
		}
		if _, err := LoadCertificates(files); err == nil || !strings.Contains(err.Error(), test.wants) {
			t.Errorf("%s: error %v; want %q", test.name, err, test.wants)
		}
	}
	if _, err := LoadCertificates(TLSOptions{Cert: "/nowhere/tls.crt"}); err == nil {
		t.Error("missing file: no error")
	}
}

// A Secret's files may change one after the other: until they fit, the former
// ones serve, and the log says so once.
func TestRunWaitsForFilesThatFit(t *testing.T) {
	authority := certtest.NewAuthority(t, "authority")
	first, second := authority.Issue(t, "first"), authority.Issue(t, "second")
	files := newFiles(t, first)
	synctest.Test(t, func(t *testing.T) {
		certificates := mustLoad(t, files)
		var out bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			certificates.Run(ctx, NewLogger(&out, slog.LevelInfo, "text"))
			close(done)
		}()
		settle := func() {
			time.Sleep(3 * reloadPeriod)
			synctest.Wait()
		}
		serves := func(want certtest.Pair) {
			t.Helper()
			if got := certificates.current.Load().content[0]; !bytes.Equal(got, want.Cert) {
				t.Error("serves another certificate than wanted")
			}
		}
		settle()
		serves(first)
		certtest.Write(t, files.Cert, second.Cert)
		settle()
		serves(first)
		certtest.Write(t, files.Key, second.Key)
		settle()
		serves(second)
		cancel()
		<-done
		if log := out.String(); strings.Count(log, "level=ERROR") != 1 || strings.Count(log, "level=INFO") != 1 {
			t.Errorf("log %q; want one failure and one reload", log)
		}
	})
}
