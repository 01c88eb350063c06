package child

import "syscall"

// attributes makes the kernel kill the child when the nursery's thread ends,
// which is when this process ends, however that happens.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
