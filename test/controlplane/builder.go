package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// heartbeat is how often a running build says that it is alive.
const heartbeat = 30 * time.Second

// A builder brings the programs in one folder up to date.
type builder struct {
	out     string
	assets  string                                                  // $KUBEBUILDER_ASSETS, or empty
	key     func(program) string                                    // changes whenever the binary would
	compile func(ctx context.Context, p program, file string) error // the slow part
	say     func(line string)
}

// run builds those of the programs that are not current, one after another:
// one build alone uses all cores.
func (b *builder) run(ctx context.Context, wanted []program) error {
	wanted = b.without(wanted)
	if len(b.stale(wanted)) == 0 {
		if len(wanted) > 0 {
			b.say(strings.Join(names(wanted), ", ") + ": up to date in " + b.out)
		}
		return nil
	}
	if err := os.MkdirAll(b.out, 0o755); err != nil {
		return err
	}
	unlock, err := b.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()

	// Whoever held the lock may have built them meanwhile.
	stale := b.stale(wanted)
	if len(stale) > 0 {
		b.say("building " + strings.Join(names(stale), ", ") + " from source; the first time takes about five minutes" +
			" for etcd and kube-apiserver and three more for the other two, later ones take seconds")
	}
	for i, p := range stale {
		if err := b.build(ctx, p, fmt.Sprintf("%d of %d, %s", i+1, len(stale), p.name)); err != nil {
			return err
		}
	}
	return nil
}

// without leaves out the programs that $KUBEBUILDER_ASSETS holds.
func (b *builder) without(wanted []program) []program {
	if b.assets == "" {
		return wanted
	}
	var rest []program
	for _, p := range wanted {
		if path := filepath.Join(b.assets, p.name); executable(path) {
			b.say(p.name + ": not built, KUBEBUILDER_ASSETS has " + path)
			continue
		}
		rest = append(rest, p)
	}
	return rest
}

// stale returns the programs that are missing or were built from something else.
func (b *builder) stale(wanted []program) []program {
	var stale []program
	for _, p := range wanted {
		stamp, err := os.ReadFile(b.stamp(p))
		if err != nil || string(stamp) != b.key(p) || !executable(b.path(p)) {
			stale = append(stale, p)
		}
	}
	return stale
}

// build puts a program in its place whole or not at all. The stamp goes before
// the binary is replaced and comes after it, so that it never vouches for
// another binary than the one beside it.
func (b *builder) build(ctx context.Context, p program, title string) error {
	start := time.Now()
	b.say(title + ": building")
	temporary := filepath.Join(b.out, "."+p.name+".tmp")
	defer os.Remove(temporary)
	if err := b.watch(ctx, p, temporary, title, start); err != nil {
		return fmt.Errorf("building %s: %w", p.name, err)
	}
	if err := os.Remove(b.stamp(p)); err != nil && !os.IsNotExist(err) {
		return err
	}
	if err := os.Rename(temporary, b.path(p)); err != nil {
		return err
	}
	if err := os.WriteFile(b.stamp(p), []byte(b.key(p)), 0o644); err != nil {
		return err
	}
	b.say(title + ": built in " + elapsed(start))
	return nil
}

// watch compiles, and says every now and then that it still does.
func (b *builder) watch(ctx context.Context, p program, file, title string, start time.Time) error {
	done := make(chan error, 1)
	go func() { done <- b.compile(ctx, p, file) }()
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-tick.C:
			b.say(title + ": still building, " + elapsed(start))
		}
	}
}

// lock keeps two builds of the same folder apart. The kernel drops it when the
// process dies, so none is ever left behind.
func (b *builder) lock(ctx context.Context) (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(b.out, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := b.await(ctx, file); err != nil {
		file.Close()
		return nil, fmt.Errorf("locking %s: %w", b.out, err)
	}
	return func() { file.Close() }, nil
}

func (b *builder) await(ctx context.Context, file *os.File) error {
	free, err := tryLock(file)
	if free || err != nil {
		return err
	}
	b.say("waiting for another build to end")
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		if free, err := tryLock(file); free || err != nil {
			return err
		}
	}
}

func (b *builder) path(p program) string  { return filepath.Join(b.out, p.name) }
func (b *builder) stamp(p program) string { return filepath.Join(b.out, "."+p.name+".stamp") }

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

func elapsed(start time.Time) string {
	return time.Since(start).Round(time.Second).String()
}
