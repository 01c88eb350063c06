package externalmetrics

import (
	"log/slog"
	"testing"

	"k8s.io/klog/v2"
)

func TestMain(m *testing.M) {
	klog.SetSlogLogger(slog.New(slog.DiscardHandler)) // the library tells of every server's life
	m.Run()
}
