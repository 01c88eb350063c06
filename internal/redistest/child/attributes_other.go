//go:build unix && !linux

package child

import "syscall"

// attributes has no parent-death signal to ask for on this system: children
// end with Stop and Kill only.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
