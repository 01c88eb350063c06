package child

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
)

// The ports handed out lie below the range that systems take for outgoing
// connections (32768 and up on Linux), so that a child that is restarted finds
// its port free. They stay low enough for a Redis Cluster's bus, which listens
// 10000 higher, to be below that range too.
const (
	firstPort = 11000
	lastPort  = 22000
	busOffset = 10000
)

var taken struct {
	sync.Mutex
	ports map[int]bool
}

// FreePort returns a TCP port on which nothing listens, on any local address,
// and that this process has not been given before.
func FreePort() (int, error) {
	taken.Lock()
	defer taken.Unlock()
	if taken.ports == nil {
		taken.ports = map[int]bool{}
	}
	var last error
	for range 200 {
		port := firstPort + rand.IntN(lastPort-firstPort)
		if taken.ports[port] {
			continue
		}
		if last = errors.Join(probe(port), probe(port+busOffset)); last == nil {
			taken.ports[port] = true
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port between %d and %d: %w", firstPort, lastPort, last)
}

func probe(port int) error {
	listener, err := net.Listen("tcp4", fmt.Sprintf(":%d", port))
	if err != nil {
		return err
	}
	return listener.Close()
}
