package process

import (
	"fmt"
	"io"
	"log/slog"
)

// LogFormats are the formats that NewLogger knows.
func LogFormats() []string { return []string{"text", "json"} }

// ParseLevel reads debug, info, warn or error, in any case.
func ParseLevel(text string) (slog.Level, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(text)); err != nil {
		return 0, fmt.Errorf("parse log level: %w", err)
	}
	return level, nil
}

// NewLogger returns a logger that writes to w in one of LogFormats; text if the
// format is none of them.
func NewLogger(w io.Writer, level slog.Level, format string) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
