package process

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"syscall"
	"testing"
)

func TestLogFormats(t *testing.T) {
	var out bytes.Buffer
	NewLogger(&out, slog.LevelWarn, "json").Info("too low")
	NewLogger(&out, slog.LevelWarn, "json").Warn("told", "key", 1)
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || line["msg"] != "told" {
		t.Errorf("wrote %q, error %v; want one line of JSON", out.String(), err)
	}
}

func TestParseLevel(t *testing.T) {
	for text, want := range map[string]slog.Level{"debug": slog.LevelDebug, "INFO": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError} {
		if got, err := ParseLevel(text); got != want || err != nil {
			t.Errorf("%s: %v, error %v; want %v", text, got, err, want)
		}
	}
	if _, err := ParseLevel("loud"); err == nil {
		t.Error("loud: no error")
	}
}

func TestContextEndsWithSIGTERM(t *testing.T) {
	ctx, stop := Context()
	defer stop()
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
}

func TestVersionIsNeverEmpty(t *testing.T) {
	if Version() == "" {
		t.Error("empty")
	}
}
