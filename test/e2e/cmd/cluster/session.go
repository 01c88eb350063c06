package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/dashpot-project/dashpot/internal/redistest"
	"github.com/dashpot-project/dashpot/test/e2e/cluster"
)

// session is everything that runs, for a shell and for whoever reads its terminal.
type session struct {
	cluster       *cluster.Cluster
	redis         *redistest.Server
	replicas      *cluster.Replicas
	scalerAddress string // of all replicas; empty without KEDA
	bin           string // directory of the clients
	env           string // file for shells
}

// link makes the clients known by their usual names in a directory of their own.
func (s *session) link(dir string) error {
	s.bin = filepath.Join(dir, "bin")
	if err := os.Mkdir(s.bin, 0o755); err != nil {
		return fmt.Errorf("make a directory for the clients: %w", err)
	}
	redis, err := exec.LookPath(redistest.CLI())
	if err != nil {
		return fmt.Errorf("find redis-cli: %w", err)
	}
	for name, target := range map[string]string{"kubectl": s.cluster.Kubectl(), "redis-cli": redis} {
		if err := os.Symlink(target, filepath.Join(s.bin, name)); err != nil {
			return fmt.Errorf("make a name for a client: %w", err)
		}
	}
	return nil
}

// variables are what a shell gets, in their order.
func (s *session) variables() [][2]string {
	list := [][2]string{
		{"PATH", s.bin + ":$PATH"},
		{"KUBECONFIG", s.cluster.Kubeconfig()},
		{"REDIS", s.redis.Addr()},
		{"DASHPOT", "http://" + s.replicas.HTTPAddr(0)},
		{"LOGS", s.cluster.LogDir()},
	}
	if s.scalerAddress != "" {
		list = append(list, [2]string{"SCALER", s.scalerAddress})
	}
	return list
}

// writeEnv writes the file for shells, under its name only once it is whole.
func (s *session) writeEnv() error {
	var text strings.Builder
	for _, v := range s.variables() {
		fmt.Fprintf(&text, "export %s=%q\n", v[0], v[1])
	}
	if err := os.MkdirAll(filepath.Dir(s.env), 0o755); err != nil {
		return fmt.Errorf("make a directory for %s: %w", s.env, err)
	}
	temporary := s.env + ".new"
	if err := os.WriteFile(temporary, []byte(text.String()), 0o600); err != nil {
		return fmt.Errorf("tell shells of the cluster: %w", err)
	}
	if err := os.Rename(temporary, s.env); err != nil {
		return fmt.Errorf("tell shells of the cluster: %w", err)
	}
	return nil
}

// String tells how to use the session.
func (s *session) String() string {
	var text strings.Builder
	for i := range s.replicas.Count() {
		fmt.Fprintf(&text, "replica %d   http://%s\n", i, s.replicas.HTTPAddr(i))
	}
	fmt.Fprintf(&text, "logs        %s\n", s.cluster.LogDir())
	page := "docs/quickstart-keda.md"
	if s.scalerAddress == "" {
		page = "docs/quickstart-native.md"
	}
	fmt.Fprintf(&text, "\nIn another terminal, in this directory:\n\n  . %s\n\nWhat to try: %s. Ctrl-C ends everything.\n", s.env, page)
	return text.String()
}
