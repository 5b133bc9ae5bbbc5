package tags

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestSurvey: what the tags of the categories are attached to anywhere, at three requests
// and the names that are not known; and never the objects of all tags.
func TestSurvey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, refs := inventory(2, 1)
		elsewhere := ref("Pool", 1)
		f.attached[elsewhere], f.names["o"], f.tags["o1"] = []string{"b", "o1"}, "other", Tag{"o", "o"}
		f.tags["unused"] = Tag{"unused", "z"}
		r := newCache(refresh, 4)
		if uses, err := r.survey(t.Context(), f, []string{"zone"}); err != nil || len(uses) != 0 || f.surveys != 0 {
			t.Errorf("before anything is known: %v, %v", uses, err)
		}
		reading(t, r, f, refs, "zone")
		f.gets = 0
		survey := func(gets int) {
			t.Helper()
			f.gets = 0
			uses, err := r.survey(t.Context(), f, []string{"zone"})
			want := fmt.Sprint([]Use{{"zone", "zone-a", refs[:2]}, {"zone", "zone-b", []Ref{elsewhere}}})
			if err != nil || fmt.Sprint(uses) != want || f.gets != gets {
				t.Errorf("%v with %d names read, want %s with %d: %v", uses, f.gets, want, gets, err)
			}
		}
		survey(1)
		survey(0)
		time.Sleep(NamesFor)
		reading(t, r, f, refs, "zone") // which does not forget the other one
		survey(1)
		f.broken["objects"] = errors.New("forbidden")
		if _, err := r.survey(t.Context(), f, []string{"zone"}); err == nil {
			t.Error("objects that cannot be listed are none")
		}
	})
}
