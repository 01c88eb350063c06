package chart

import (
	"net"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/dashpot-project/dashpot/internal/redistest"
	"github.com/dashpot-project/dashpot/internal/redistest/child"
)

// TestTrialRedisStarts: a Redis understands the command line of the trial's, with a folder
// and a port that this machine has.
func TestTrialRedisStarts(t *testing.T) {
	path, err := redistest.Binary()
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range []string{"redis.trial.enabled=true", "redis.trial.enabled=true,redis.trial.storage=1Gi"} {
		t.Run(set, func(t *testing.T) {
			r, err := render(t, "--set="+set)
			if err != nil {
				t.Fatal(err)
			}
			var args []string
			for _, o := range objects(t, r.Manifest) {
				if template, found := podTemplate(t, o); found && o.GetKind() == "StatefulSet" {
					args = slices.Clone(template.Spec.Containers[0].Args)
				}
			}
			folder := slices.Index(args, "/data")
			if folder < 0 {
				t.Fatalf("no /data in %q", args)
			}
			args[folder] = t.TempDir()
			port, err := child.FreePort()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), path, append(args, "--port", strconv.Itoa(port))...)
			server, err := child.Start(cmd)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(server.Kill)
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
				conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
				if err == nil {
					_ = conn.Close()
					return
				}
				select {
				case <-server.Done():
					t.Fatalf("%q: it ended: %v", cmd.Args, server.Err())
				default:
				}
				if time.Now().After(deadline) {
					t.Fatalf("%q: no answer: %v", cmd.Args, err)
				}
			}
		})
	}
}
