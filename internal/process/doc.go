// Package process is what Dashpot's programs share: how they log, how they are
// probed and measured, how they take certificates, and how they end.
package process
