// Package cache keeps what is expensive to make (downloaded or built programs)
// in the user's cache directory, outside any checkout.
package cache

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Dir returns the directory os.UserCacheDir()/dashpot/<kind>/<key>. When it
// does not exist yet, fill makes its content in a temporary directory that
// then takes the name: a directory that exists is complete. A file lock makes
// other processes wait for the one that fills.
func Dir(kind, key string, fill func(dir string) error) (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache directory: %w", err)
	}
	parent := filepath.Join(base, "dashpot", kind)
	target := filepath.Join(parent, key)
	if exists(target) {
		return target, nil
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", fmt.Errorf("make the cache: %w", err)
	}
	unlock, err := lock(target + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if exists(target) { // filled while this process waited
		return target, nil
	}
	temp, err := os.MkdirTemp(parent, key+".tmp-")
	if err != nil {
		return "", fmt.Errorf("make the cache: %w", err)
	}
	defer os.RemoveAll(temp) //nolint:errcheck // gone already when all went well
	if err := os.Chmod(temp, 0o755); err != nil {
		return "", fmt.Errorf("make the cache: %w", err)
	}
	if err := fill(temp); err != nil {
		return "", err
	}
	if err := os.Rename(temp, target); err != nil {
		return "", fmt.Errorf("publish in the cache: %w", err)
	}
	return target, nil
}

func exists(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}

// lock takes an exclusive lock that ends with the process, so that a build
// that was killed never blocks the next one.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the cache's lock: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, fmt.Errorf("lock the cache: %w", err)
	}
	return func() { _ = file.Close() }, nil
}
