package cluster

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"

	"golang.org/x/net/dns/dnsmessage"
)

// scalerName is the name under which KEDA finds all scaler replicas, as it
// would find the pods of a headless Service.
const scalerName = "dashpot.test"

// nameServer is a DNS server that knows one name. gRPC's resolver is told to
// use it by the authority in its target: dns://server/name:port.
type nameServer struct {
	conn net.PacketConn

	mu    sync.Mutex
	addrs []netip.Addr
}

func startNameServer() (*nameServer, error) {
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the name server: %w", err)
	}
	server := &nameServer{conn: conn}
	go server.serve()
	return server, nil
}

func (s *nameServer) addr() string { return s.conn.LocalAddr().String() }
func (s *nameServer) stop()        { _ = s.conn.Close() }

// set replaces the addresses of the name.
func (s *nameServer) set(addrs []netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addrs = addrs
}

// setReplicas replaces the addresses of the name by those of replicas, whose one
// port their clients know.
func (s *nameServer) setReplicas(replicas []netip.AddrPort) {
	addrs := make([]netip.Addr, len(replicas))
	for i, replica := range replicas {
		addrs[i] = replica.Addr()
	}
	s.set(addrs)
}

func (s *nameServer) serve() {
	buffer := make([]byte, 1500)
	for {
		n, client, err := s.conn.ReadFrom(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		if answer, err := s.answer(buffer[:n]); err == nil {
			_, _ = s.conn.WriteTo(answer, client) // a client that is gone asks no more
		}
	}
}

// answer gives the addresses for an A query of the name, nothing for other
// types (there are no IPv6 addresses), and NXDOMAIN for other names, which
// resolvers try with their search domains appended.
func (s *nameServer) answer(query []byte) ([]byte, error) {
	var parser dnsmessage.Parser
	header, err := parser.Start(query)
	if err != nil {
		return nil, fmt.Errorf("read a query: %w", err)
	}
	question, err := parser.Question()
	if err != nil {
		return nil, fmt.Errorf("read a query: %w", err)
	}
	message := dnsmessage.Message{
		Header: dnsmessage.Header{
			ID: header.ID, Response: true, Authoritative: true,
			RecursionDesired: header.RecursionDesired, RCode: dnsmessage.RCodeSuccess,
		},
		Questions: []dnsmessage.Question{question},
	}
	switch {
	case !strings.EqualFold(question.Name.String(), scalerName+"."):
		message.RCode = dnsmessage.RCodeNameError
	case question.Type == dnsmessage.TypeA:
		message.Answers = s.records(question.Name)
	}
	packed, err := message.Pack()
	if err != nil {
		return nil, fmt.Errorf("write an answer: %w", err)
	}
	return packed, nil
}

func (s *nameServer) records(name dnsmessage.Name) []dnsmessage.Resource {
	s.mu.Lock()
	defer s.mu.Unlock()
	records := make([]dnsmessage.Resource, 0, len(s.addrs))
	for _, addr := range s.addrs {
		records = append(records, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: name, Class: dnsmessage.ClassINET, TTL: 1},
			Body:   &dnsmessage.AResource{A: addr.As4()},
		})
	}
	return records
}
