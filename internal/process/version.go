package process

import "runtime/debug"

// Version is the version of the running program as the go command stamped it: a
// tag, a pseudo-version with the commit and its time, or "(devel)".
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
