package tags

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestOldNames: only the names that matter are read again, as soon as they are older than
// is asked for, and Named says how old the oldest of them is.
func TestOldNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, refs := inventory(3, 0)
		for i := range 100 {
			id, category := fmt.Sprintf("t%d", i), fmt.Sprintf("c%d", i%10)
			f.tags[id], f.names[category] = Tag{id, category}, category
			f.attached[refs[i%3]] = append(f.attached[refs[i%3]], id)
		}
		r := newCache(refresh, 4)
		read := func(age time.Duration, gets int, named time.Time) Attachments {
			t.Helper()
			f.gets = 0
			a, err := r.read(t.Context(), f, Query{Objects: refs, Categories: []string{"zone"}, Age: age})
			if err != nil {
				t.Fatal(err)
			}
			if f.gets != gets || !a.Named.Equal(named) {
				t.Errorf("%d names were read, want %d; the oldest is of %v, want %v", f.gets, gets, a.Named, named)
			}
			return a
		}
		began := time.Now()
		read(0, 101+11, began)
		time.Sleep(refresh)
		read(0, 0, began)
		f.tags["a"] = Tag{"zone-x", "z"}
		if a := read(refresh/2, 2, time.Now()); !strings.Contains(zoneOf(a, refs[0]), "zone=zone-x") {
			t.Errorf("%s", zoneOf(a, refs[0]))
		}
		// Where the category is another one by now, all of them are asked.
		time.Sleep(refresh)
		f.names["z"], f.names["c3"] = "before", "zone"
		if got := zoneOf(read(refresh/2, 1+10+10, time.Now()), refs[0]); !strings.Contains(got, "zone=t3 ") || strings.Contains(got, "zone=zone-x") {
			t.Errorf("%s", got)
		}
		// What cannot be read is as old as it was.
		f.broken["t3"] = status(http.StatusServiceUnavailable)
		before := time.Now()
		time.Sleep(refresh)
		f.gets = 0
		if a, err := r.read(t.Context(), f, Query{Objects: refs, Categories: []string{"zone"}, Age: refresh / 2}); err != nil || !a.Named.Equal(before) || a.Kept == nil {
			t.Errorf("%v, read at %v, kept for %v", err, a.Named, a.Kept)
		}
	})
}
