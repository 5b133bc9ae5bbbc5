//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// serviceAddress is the address of the API server in Pods, where kube-proxy would be responsible.
const serviceAddress = "10.0.0.1"

// prepareWorld makes the new namespaces usable: a proc file system, a folder of temporary files, and a loopback interface. Of the
// host's files, only those in dir stay writable.
func prepareWorld(dir string) error {
	temporary := filepath.Join(dir, "tmp")
	if err := os.MkdirAll(temporary, 0o700); err != nil {
		return err
	}
	err := mountAll([]mount{
		{target: "/", flags: unix.MS_REC | unix.MS_PRIVATE},
		{source: dir, target: dir, flags: unix.MS_BIND},
	})
	if err != nil {
		return err
	}
	if err := makeReadOnly(); err != nil {
		return err
	}
	err = mountAll([]mount{
		{target: dir, flags: unix.MS_REMOUNT | unix.MS_BIND},
		{source: "proc", target: "/proc", kind: "proc"},
		{source: "tmpfs", target: temporary, kind: "tmpfs"},
	})
	if err != nil {
		return err
	}
	// kubectl and helm write caches below the home folder.
	return errors.Join(os.Setenv("TMPDIR", temporary), os.Setenv("HOME", temporary), addAddresses(serviceAddress))
}

// makeReadOnly makes all mounts of the namespace read-only, and with /sys the cgroups.
func makeReadOnly() error {
	if err := unix.MountSetattr(-1, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return fmt.Errorf("making all mounts read-only: %w", err)
	}
	return nil
}

type mount struct {
	source, target, kind string
	flags                uintptr
	data                 string
}

func mountAll(mounts []mount) error {
	for _, m := range mounts {
		if err := unix.Mount(m.source, m.target, m.kind, m.flags, m.data); err != nil {
			return fmt.Errorf("mounting %s on %s: %w", m.source, m.target, err)
		}
	}
	return nil
}

// addAddresses starts the loopback interface and adds IPv4 addresses to it.
func addAddresses(addresses ...string) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	set := func(request uintptr, name string, value func(*unix.Ifreq) error) error {
		r, err := unix.NewIfreq(name)
		if err != nil {
			return err
		}
		if err := value(r); err != nil {
			return err
		}
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(socket), request, uintptr(unsafe.Pointer(r))); errno != 0 {
			return fmt.Errorf("interface %s: %w", name, errno)
		}
		return nil
	}
	err = set(unix.SIOCSIFFLAGS, "lo", func(r *unix.Ifreq) error { r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING); return nil })
	if err != nil {
		return err
	}
	for _, address := range addresses {
		ip := net.ParseIP(address).To4()
		// An address of its own needs a label of its own.
		label := fmt.Sprintf("lo:%x", []byte(ip))
		errs := []error{
			set(unix.SIOCSIFADDR, label, func(r *unix.Ifreq) error { return r.SetInet4Addr(ip) }),
			set(unix.SIOCSIFNETMASK, label, func(r *unix.Ifreq) error { return r.SetInet4Addr(net.IPv4bcast.To4()) }),
		}
		if err := errors.Join(errs...); err != nil {
			return fmt.Errorf("address %s: %w", address, err)
		}
	}
	return nil
}

// forward forwards connections with the Service of the API server to the server, until the listener is closed.
func forward(ctx context.Context, server string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(serviceAddress, "443"))
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go pipe(context.WithoutCancel(ctx), client, server)
		}
	}()
	return listener, nil
}

func pipe(ctx context.Context, client net.Conn, server string) {
	defer client.Close()
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", server)
	if err != nil {
		return
	}
	defer connection.Close()
	go func() {
		_, _ = io.Copy(connection, client)
		_ = connection.Close()
	}()
	_, _ = io.Copy(client, connection)
}
