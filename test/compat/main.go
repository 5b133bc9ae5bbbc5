package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

func main() { os.Exit(status()) }

func status() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := compare(ctx, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "compat: FAILED: %v\n", err)
		return 1
	}
	return 0
}

func progress(format string, args ...any) {
	fmt.Fprintf(os.Stdout, "compat: "+format+"\n", args...)
}

// onlyVariable names the entries that are run, instead of all.
const onlyVariable = "ONLY"

// compare plays the list with each of the minors, and records each as it is done.
func compare(ctx context.Context, minors []string) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	all, err := buildable(root)
	if err != nil {
		return fmt.Errorf("not in the root of the project: %w", err)
	}
	chosen, err := choose(all, minors)
	if err != nil {
		return err
	}
	entries, err := readList(listYAML)
	if err != nil {
		return err
	}
	some, err := only(entries, strings.Fields(os.Getenv(onlyVariable)))
	if err != nil {
		return err
	}
	tree, err := readTree(ctx, root)
	if err != nil {
		return err
	}
	var errs []error
	for _, k := range chosen {
		errs = append(errs, one(ctx, root, k, some, entries, tree))
	}
	if tree.why != "" {
		progress("nothing is recorded: %s", tree.why)
	}
	return errors.Join(errs...)
}

// one plays entries of the list with one version.
func one(ctx context.Context, root string, k kubernetes, some, all []entry, t tree) error {
	began := time.Now()
	name := filepath.Join(root, "bin", "compat-"+k.minor+".log")
	log, err := os.Create(name)
	if err != nil {
		return err
	}
	defer log.Close()
	progress("%s: what is printed goes to %s", k.version, name)
	p := &player{root: root, kubernetes: k, log: log, progress: progress}
	if err := p.build(ctx); err != nil {
		return fmt.Errorf("%s: %w", k.version, err)
	}
	built := time.Now()
	results, err := p.play(ctx, some)
	if err != nil {
		return fmt.Errorf("%s: %w", k.version, err)
	}
	etcd, err := required(root, controlPlane, "go.etcd.io/etcd/server/v3")
	if err != nil {
		return err
	}
	r := run{
		Kubernetes: k.version, Etcd: etcd, Date: time.Now().UTC().Format(time.DateOnly), Commit: t.commit,
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Seconds: int(time.Since(built).Seconds()), Results: results,
	}
	progress("%s: %d of %d passed in %d s, after %.0f s of building", k.version, len(r.of(passed)), len(results), r.Seconds, built.Sub(began).Seconds())
	if t.why == "" {
		if err := save(root, all, r); err != nil {
			return err
		}
	}
	if bad := r.of(failed); len(bad) > 0 {
		return fmt.Errorf("%s: %s: see %s", k.version, strings.Join(bad, ", "), name)
	}
	return nil
}

// save puts a run into the record and into the page.
func save(root string, entries []entry, r run) error {
	runs, err := readRecord(root)
	if err != nil {
		return err
	}
	runs = with(runs, r)
	if err := writeRecord(root, runs); err != nil {
		return err
	}
	return writePage(root, entries, runs)
}

// A tree says what is checked out.
type tree struct {
	commit string
	why    string // why nothing made with it can be recorded
}

// readTree finds out whether the built daemon is what is committed.
func readTree(ctx context.Context, root string) (tree, error) {
	commit, err := output(ctx, root, "git", "rev-parse", "HEAD")
	if err != nil {
		return tree{}, err
	}
	changed, err := output(ctx, root, "git", "status", "--porcelain", "--", ".", ":!"+recordFile, ":!"+pageFile)
	if err != nil {
		return tree{}, err
	}
	t := tree{commit: commit}
	if changed != "" {
		t.why = "there are changes that are not committed, in " + strings.Join(strings.Fields(changed), " ")
		return t, nil
	}
	version, err := output(ctx, root, filepath.Join(root, daemonFile), "--version=raw")
	if err != nil {
		return tree{}, err
	}
	if !strings.Contains(version, commit) {
		t.why = fmt.Sprintf("%s is not built from %s: make build", daemonFile, commit)
	}
	return t, nil
}

// output runs a program in a folder and returns what it prints, without blanks around it.
func output(ctx context.Context, folder, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = folder
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", filepath.Base(name), strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
