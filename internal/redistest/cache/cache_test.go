package cache

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

func TestDirIsFilledOnce(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	if _, err := Dir("kind", "key", func(string) error { return errors.New("no") }); err == nil {
		t.Fatal("a failure was lost")
	}
	var fills atomic.Int32
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			dir, err := Dir("kind", "key", func(dir string) error {
				fills.Add(1)
				return os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o600)
			})
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := os.Stat(filepath.Join(dir, "file")); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if fills.Load() != 1 {
		t.Errorf("filled %d times", fills.Load())
	}
}
