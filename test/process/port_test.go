package process

import (
	"net"
	"strconv"
	"testing"
)

// TestFreePortIsClaimed checks what other processes see of a returned port: they can listen on it, but FreePort does not
// return it to them.
func TestFreePortIsClaimed(t *testing.T) {
	port, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatalf("listening on port %d: %v", port, err)
	}
	defer l.Close()
	if claim, err := net.ListenPacket("udp", address); err == nil {
		_ = claim.Close()
		t.Errorf("port %d is not claimed", port)
	}
}
