package lies

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"vzones/test/cluster"
)

// TestLies: lies of a kubelet affect only its own Node (promise 9). The table lists the accepted exceptions with
// the reason.
func TestLies(t *testing.T) {
	if err := cluster.Wanted(); err != nil {
		t.Skip(err)
	}
	all := table()
	w := newWorld(t, moments(all))
	w.playAll(t, all, false)
	t.Run("only uncertainty keeps Node spared", w.testUncertainty)
	w.playAll(t, all, true)
}

// playAll plays the lies with the given value of certain.
func (w *world) playAll(t *testing.T, all []lie, certain bool) {
	for i := range all {
		if all[i].certain != certain {
			continue
		}
		for _, at := range all[i].moments {
			t.Run(fmt.Sprintf("%s/%s/%s", all[i].about, all[i].value, at), func(t *testing.T) {
				w.t = t
				out := w.play(&all[i], at)
				out.check(t, &all[i])
				if t.Failed() {
					w.renew() // the next lie starts with a clean world
				}
			})
			w.t = t
		}
	}
}

func moments(all []lie) (n int) {
	for _, l := range all {
		n += len(l.moments)
	}
	return n
}

func (out *playResult) check(t *testing.T, l *lie) {
	t.Helper()
	if out.mismatch != nil {
		t.Errorf("the lying kubelet's Node: %.500v; want: %s", out.mismatch, l.becomes)
	}
	for g, how := range out.gained {
		if _, known := l.accepted[g]; !known {
			t.Errorf("unexpected effect of the lie, %s: %.500s", g, how)
		}
	}
	for g := range l.accepted {
		if _, gained := out.gained[g]; !gained {
			t.Errorf("the accepted effect of the lie did not occur, %s: remove it from the table", g)
		}
	}
}

// testUncertainty proves that deletions are possible in this world: once the unreadable VM is readable, the spared
// Node is deleted.
func (w *world) testUncertainty(t *testing.T) {
	w.t = t
	if err := w.s.Fleet.VCenter("east").SetSummaryUUID("ghost-vm", "42000000-beef-4000-8000-000000000001"); err != nil {
		t.Fatal(err)
	}
	w.advance()
	gained := map[gain]string{}
	w.victims(gained, timeout)
	w.remove("joins")
	w.certain = true
	if gained[deletion] == "" {
		w.until("Node spared is deleted", func(nodes map[string]*v1.Node) error {
			if nodes["spared"] != nil {
				return fmt.Errorf("it still exists")
			}
			return nil
		})
	}
}
