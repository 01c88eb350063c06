// Package source reads numbers from the outside world: one file per trigger type,
// and a Table of them.
//
// A trigger type takes the same metadata as KEDA's own scaler of that type. Each is
// described by metadata.Keys, from which parsing and documentation both are made.
package source
