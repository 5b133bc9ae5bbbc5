package tags

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"vzones/vcenter/faults"
)

// TestLargeAnswers checks that a too large batch is divided, that later batches are smaller, and that an
// object with too many tags hides no other object.
func TestLargeAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, refs := inventory(0, 2000)
		for i, ref := range refs {
			f.attached[ref] = []string{"a"}
			if i%2 == 0 {
				f.attached[ref] = []string{"a", "b"}
			}
		}
		f.maxTags = 1000
		c := newCache(refresh, 4)
		for n, want := range []int{7, 7, 4, 4} {
			f.lists = 0
			a := reading(t, c, f, refs, "zone")
			for _, ref := range refs {
				if zone := zoneOf(a, ref); zone != "zone=zone-a" && zone != "zone=zone-a zone=zone-b" {
					t.Fatalf("reading %d: tags of %s: %s", n, ref.Value, zone)
				}
			}
			if f.lists > want {
				t.Errorf("reading %d took %d requests, want at most %d", n, f.lists, want)
			}
			time.Sleep(refresh)
		}
		for range 1001 {
			f.attached[refs[7]] = append(f.attached[refs[7]], "a")
		}
		for range 10 {
			a := reading(t, c, f, refs, "zone")
			if _, err := a.TagsOf(refs[7]); err == nil {
				t.Errorf("tags of an object with 1002 tags are known, want an error")
			}
			if zone := zoneOf(a, refs[9]); zone != "zone=zone-a" && !a.Incomplete {
				t.Errorf("tags of another object: %s, want zone=zone-a", zone)
			}
			time.Sleep(refresh)
		}
	})
}

func TestTagsAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		report func(f *fake, refs []Ref)
		want   error
	}{
		"tags": {func(f *fake, refs []Ref) {
			for i := range faults.MaxTags + 1 {
				id := fmt.Sprint(i)
				f.tags[id] = Tag{id, "z"}
				f.attached[refs[i%len(refs)]] = append(f.attached[refs[i%len(refs)]], id)
			}
		}, faults.ManyTags},
		"attached tags": {func(f *fake, refs []Ref) {
			for _, ref := range refs {
				f.attached[ref] = strings.Split(strings.Repeat("a", faults.MaxAttached/len(refs)+1), "")
			}
		}, faults.ManyTags},
	} {
		t.Run(name, func(t *testing.T) {
			f, refs := inventory(0, 100)
			r := newCache(refresh, 4)
			c.report(f, refs)
			if _, err := r.read(t.Context(), f, Query{Objects: refs}); !errors.Is(err, c.want) {
				t.Errorf("reading: %v, want %v", err, c.want)
			}
			if n := len(r.tags.byID); n > faults.MaxTags {
				t.Errorf("%d tags are kept, want at most %d", n, faults.MaxTags)
			}
		})
	}
}

// TestChangingTagsAreBounded returns different tags in each read, so that all previous tags are gone.
func TestChangingTagsAreBounded(t *testing.T) {
	f, refs := inventory(0, 2)
	c := newCache(refresh, 4)
	for n := range 5 {
		f.attached[refs[0]] = nil
		for i := range faults.MaxTags / 2 {
			id := fmt.Sprintf("%d-%d", n, i)
			f.tags[id] = Tag{id, "z"}
			f.attached[refs[0]] = append(f.attached[refs[0]], id)
		}
		_, _ = c.read(t.Context(), f, Query{Objects: refs})
		if n := len(c.tags.byID); n > 2*faults.MaxTags {
			t.Fatalf("%d tags are kept, want at most %d", n, 2*faults.MaxTags)
		}
	}
}
