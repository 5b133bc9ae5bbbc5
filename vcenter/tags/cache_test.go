package tags

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vzones/topology"
	"vzones/vcenter/rest"
	"vzones/vcenter/session"
)

// fake is a tagging service according to the API reference.
type fake struct {
	mu       sync.Mutex
	attached map[Ref][]string
	tags     map[string]Tag
	names    map[string]string
	// unreadable are objects without System.Read, or whose lists fail with the status code if that is
	// not 0. broken are errors by call name or ID.
	unreadable map[Ref]bool
	code       int
	broken     map[string]error
	// maxTags is the number of tags in the largest accepted answer; 0 means no limit.
	maxTags int

	lists, gets int
}

func status(code int) error { return &rest.StatusError{Call: "a request", Code: code, Type: "X"} }

func (f *fake) Attached(_ context.Context, refs []Ref) (map[Ref][]string, error) {
	f.lists++
	total := 0
	attached := map[Ref][]string{}
	for _, ref := range refs {
		if f.unreadable[ref] {
			return nil, status(cmp.Or(f.code, http.StatusForbidden))
		}
		if ids := f.attached[ref]; len(ids) > 0 {
			attached[ref] = slices.Clone(ids)
		}
		if total += len(f.attached[ref]); f.maxTags > 0 && total > f.maxTags {
			return nil, session.LargeAnswer
		}
	}
	return attached, f.broken["list"]
}

func (f *fake) Tag(_ context.Context, id string) (Tag, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gets++
	t, ok := f.tags[id]
	if err := f.broken[id]; err != nil || ok {
		return t, err
	}
	return Tag{}, status(http.StatusNotFound)
}

func (f *fake) Category(_ context.Context, id string) (Category, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gets++
	c, ok := f.names[id]
	if err := f.broken[id]; err != nil || ok {
		return Category{Name: c}, err
	}
	return Category{}, status(http.StatusNotFound)
}

func (f *fake) Categories(context.Context) ([]string, error) {
	return slices.Sorted(maps.Keys(f.names)), f.broken["categories"]
}

func ref(kind string, n int) Ref { return Ref{Type: kind, Value: fmt.Sprintf("%s-%04d", kind, n)} }

// inventory returns a service with tagged clusters and hosts, in a fixed order.
func inventory(clusters, hosts int) (*fake, []Ref) {
	f := &fake{
		attached: map[Ref][]string{}, unreadable: map[Ref]bool{}, broken: map[string]error{},
		tags: map[string]Tag{"a": {"zone-a", "z"}, "b": {"zone-b", "z"}}, names: map[string]string{"z": "zone"},
	}
	var refs []Ref
	for i := range clusters {
		refs = append(refs, ref("Cluster", i))
		f.attached[ref("Cluster", i)] = []string{"a"}
	}
	for i := range hosts {
		refs = append(refs, ref("Host", i))
	}
	return f, refs
}

func reading(t *testing.T, r *cache, f *fake, refs []Ref, wanted ...string) Attachments {
	t.Helper()
	a, err := r.read(t.Context(), f, Query{Objects: refs, Categories: wanted})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func zoneOf(a Attachments, ref Ref) string {
	tags, err := a.TagsOf(ref)
	if err != nil {
		return err.Error()
	}
	var all []string
	for _, tag := range tags {
		all = append(all, tag.Category+"="+tag.Name)
	}
	return strings.Join(all, " ")
}

const refresh = 30 * time.Second

// TestRejectedObjects checks that each unreadable or failing object is found with a bounded number of
// requests, hides no other tags, costs nothing at rest, and is requested again from time to time.
func TestRejectedObjects(t *testing.T) {
	for name, c := range map[string]struct{ hosts, rejected, readings, code int }{
		"one":               {10, 1, 1, 0},
		"all hosts":         {20, 20, 1, 0},
		"one of many":       {1900, 1, 1, 0},
		"some of many":      {1900, 16, 8, 0},
		"all of many hosts": {300, 300, 12, 0},
		"one of many, 400":  {1900, 1, 1, http.StatusBadRequest},
		"one of many, 500":  {1900, 1, 1, http.StatusInternalServerError},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, refs := inventory(50, c.hosts)
				f.code = c.code
				rejected := func(a Attachments) (n int) {
					t.Helper()
					for _, object := range refs {
						_, err := a.TagsOf(object)
						if rest.HasStatus(err, c.code) || c.code == 0 && errors.Is(err, topology.ErrNotPermitted) {
							n++
						}
					}
					if permitted := len(a.NotPermitted()) == 0; permitted != (n == 0 || c.code != 0) {
						t.Fatalf("not permitted: %v", a.NotPermitted())
					}
					return n
				}
				for i := range c.rejected {
					f.unreadable[ref("Host", i*c.hosts/c.rejected)] = true
				}
				r := newCache(refresh, 4)
				var a Attachments
				for n := 1; ; n++ {
					f.lists = 0
					a = reading(t, r, f, refs)
					if f.lists > requestsPerReading+recheckedSingly+1 {
						t.Fatalf("%d listings in one reading", f.lists)
					}
					if got := zoneOf(a, ref("Cluster", 7)); got != "zone=zone-a" {
						t.Fatalf("reading %d: a cluster has %s", n, got)
					}
					if !a.Incomplete {
						break
					}
					if n == c.readings {
						t.Fatalf("not found in %d readings: %d", n, rejected(a))
					}
					time.Sleep(5 * time.Second)
				}
				if got := rejected(a); got != c.rejected {
					t.Fatalf("%d are refused, want %d", got, c.rejected)
				}
				// At rest for an hour, with refreshes of the names.
				f.lists = 0
				for range 120 {
					time.Sleep(refresh)
					a = reading(t, r, f, refs)
				}
				if f.lists > 120+10*(recheckedSingly+1) {
					t.Errorf("%d listings in 120 readings", f.lists)
				}
				// First one object becomes readable, then all.
				f.unreadable[ref("Host", 0)] = false
				for range 20 * (1 + c.rejected/recheckedSingly) {
					time.Sleep(refresh)
					a = reading(t, r, f, refs)
				}
				if got := rejected(a); got != c.rejected-1 {
					t.Errorf("%d are refused after one was allowed, want %d", got, c.rejected-1)
				}
				f.unreadable = nil
				for range recheckMax + 1 {
					time.Sleep(refresh)
					a = reading(t, r, f, refs)
				}
				if got := rejected(a); got != 0 {
					t.Errorf("%d are refused after all were allowed", got)
				}
			})
		})
	}
}

// TestAServiceThatHasNoOperations covers a starting vAPI, which proves nothing about objects and tags.
func TestAServiceThatHasNoOperations(t *testing.T) {
	starts := &rest.StatusError{Call: "a request", Code: http.StatusNotFound, Type: "OPERATION_NOT_FOUND"}
	synctest.Test(t, func(t *testing.T) {
		f, refs := inventory(1, 0)
		r := newCache(refresh, 4)
		for _, call := range []string{"list", "a", "z"} {
			f.broken[call], f.lists = starts, 0
			if _, err := r.read(t.Context(), f, Query{Objects: refs}); !errors.Is(err, starts) || f.lists != 1 {
				t.Errorf("%s: %v, %d listings", call, err, f.lists)
			}
			delete(f.broken, call)
		}
		if got := zoneOf(reading(t, r, f, refs), refs[0]); got != "zone=zone-a" {
			t.Error(got)
		}
		f.broken["a"], f.broken["z"] = starts, starts
		time.Sleep(NameLifetime)
		if a := reading(t, r, f, refs); zoneOf(a, refs[0]) != "zone=zone-a" || !errors.Is(a.RefreshErr, starts) {
			t.Errorf("%s, kept for %v", zoneOf(a, refs[0]), a.RefreshErr)
		}
	})
}

// TestAccountThatMayListNothing checks that this differs from unreadable objects and costs two requests
// per read, as does a service that always fails.
func TestAccountThatMayListNothing(t *testing.T) {
	for _, c := range []struct{ hosts, code int }{{0, 403}, {3, 403}, {1900, 403}, {1900, 500}} {
		hosts := c.hosts
		f, refs := inventory(1, hosts)
		f.code = c.code
		for _, ref := range refs {
			f.unreadable[ref] = true
		}
		r := newCache(refresh, 4)
		for n := range 5 {
			f.lists = 0
			_, err := r.read(t.Context(), f, Query{Objects: refs})
			if !rest.HasStatus(err, c.code) || errors.Is(err, topology.ErrNotPermitted) {
				t.Fatalf("reading objects that are all refused: error %v, want status %d and not ErrNotPermitted", err, c.code)
			}
			if most := map[bool]int{true: requestsWithoutAnswer, false: 2}[n == 0]; f.lists > most {
				t.Errorf("%d listings of %d objects in reading %d", f.lists, len(refs), n)
			}
		}
		f.unreadable = nil
		if got := zoneOf(reading(t, r, f, refs), refs[0]); got != "zone=zone-a" {
			t.Errorf("allowed again: %s", got)
		}
	}
}

// TestNamesAreReadAgain checks that a change is noticed after five minutes, and that names survive
// failures for an hour.
func TestNamesAreReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, refs := inventory(3, 0)
		r := newCache(refresh, 4)
		want := func(zone string) Attachments {
			t.Helper()
			a := reading(t, r, f, refs)
			if got := zoneOf(a, refs[0]); got != zone {
				t.Fatalf("%s, want %s", got, zone)
			}
			return a
		}
		want("zone=zone-a")
		for range 9 {
			time.Sleep(refresh)
			want("zone=zone-a")
		}
		if f.gets != 2 {
			t.Errorf("%d reads of one tag and its category", f.gets)
		}
		f.tags["a"] = Tag{"zone-x", "z"}
		f.broken["a"] = status(http.StatusServiceUnavailable)
		time.Sleep(refresh)
		if a := want("zone=zone-a"); rest.ClassOf(a.RefreshErr) != rest.Busy {
			t.Errorf("kept for %v", a.RefreshErr)
		}
		delete(f.broken, "a")
		time.Sleep(refresh)
		if a := want("zone=zone-x"); a.RefreshErr != nil {
			t.Errorf("kept for %v", a.RefreshErr)
		}
		f.broken["a"] = errors.New("connection refused")
		time.Sleep(maxNameLifetime - time.Second)
		want("zone=zone-x")
		time.Sleep(time.Second)
		if _, err := r.read(t.Context(), f, Query{Objects: refs}); err == nil {
			t.Error("a name of an hour ago serves")
		}
		f.broken["a"] = status(http.StatusForbidden)
		if got := zoneOf(reading(t, r, f, refs), refs[0]); !strings.Contains(got, "cannot read the attached tag") {
			t.Errorf("a tag that may not be read: %s", got)
		}
	})
}

// TestTagsThatGo checks that a detached or deleted tag is gone, and that a tag that became unreadable
// makes the object's tags unknown.
func TestTagsThatGo(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*fake)
		want   string
	}{
		"detached":  {func(*fake) {}, ""},
		"deleted":   {func(f *fake) { delete(f.tags, "a") }, ""},
		"forbidden": {func(f *fake) { f.broken["a"] = status(http.StatusForbidden) }, "can no longer read the tag \"zone-a\""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, refs := inventory(2, 0)
				r := newCache(refresh, 4)
				reading(t, r, f, refs)
				f.attached[refs[0]] = nil
				c.change(f)
				f.broken["z"] = nil
				for range 30 {
					time.Sleep(refresh)
					a := reading(t, r, f, refs)
					if got := zoneOf(a, refs[0]); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
						t.Fatalf("the zone of the object after the change: %q, want one with %q", got, c.want)
					}
				}
				f.broken["a"], f.tags["a"], f.attached[refs[0]] = nil, Tag{"zone-a", "z"}, []string{"a"}
				time.Sleep(unreadableRefreshes * refresh)
				if got := zoneOf(reading(t, r, f, refs), refs[0]); got != "zone=zone-a" {
					t.Errorf("back: %q", got)
				}
			})
		})
	}
	f, refs := inventory(2, 0)
	r := newCache(refresh, 4)
	reading(t, r, f, refs)
	f.attached[refs[0]], f.broken["a"] = nil, errors.New("no answer")
	for range 2 {
		if _, err := r.read(t.Context(), f, Query{Objects: refs}); err == nil {
			t.Error("a tag of which nobody can say whether it was detached counts as detached")
		}
	}
}

func TestListedTagThatDoesNotExist(t *testing.T) {
	f, refs := inventory(2, 0)
	delete(f.tags, "a")
	r := newCache(refresh, 4)
	if got := zoneOf(reading(t, r, f, refs), refs[0]); !strings.Contains(got, "404") {
		t.Errorf("still listed: %q", got)
	}
	f.attached = nil
	if got := zoneOf(reading(t, r, f, refs), refs[0]); got != "" {
		t.Errorf("no longer listed: %q", got)
	}
}

// TestCategoryThatGoes checks that a category is absent in the read in which its last tag disappears.
func TestCategoryThatGoes(t *testing.T) {
	for _, code := range []int{http.StatusForbidden, http.StatusNotFound} {
		f, refs := inventory(2, 0)
		f.names["r"], f.tags["r1"] = "rack", Tag{"r1", "r"}
		f.attached[refs[0]] = []string{"a", "r1"}
		r := newCache(refresh, 4)
		if a := reading(t, r, f, refs, "zone", "rack"); len(a.Absent) != 0 || zoneOf(a, refs[0]) != "rack=r1 zone=zone-a" {
			t.Fatalf("the first reading: absent categories %v, tags %s, want none absent, rack=r1 and zone-a", a.Absent, zoneOf(a, refs[0]))
		}
		f.attached[refs[0]] = []string{"a"}
		f.broken["r"], f.broken["r1"] = status(http.StatusServiceUnavailable), status(code)
		if _, err := r.read(t.Context(), f, Query{Objects: refs, Categories: []string{"zone", "rack"}}); err == nil {
			t.Error("it is not known whether the category may be seen")
		}
		f.broken["r"] = status(code)
		if a := reading(t, r, f, refs, "zone", "rack"); !slices.Equal(a.Absent, []string{"rack"}) {
			t.Errorf("%d: absent are %q", code, a.Absent)
		}
	}
}

// TestCategoriesMayNotBeListed checks that attached tags are known, and other categories are absent.
func TestCategoriesMayNotBeListed(t *testing.T) {
	f, refs := inventory(1, 0)
	f.broken["categories"] = status(http.StatusForbidden)
	if a := reading(t, newCache(refresh, 4), f, refs, "zone", "rack"); !slices.Equal(a.Absent, []string{"rack"}) || zoneOf(a, refs[0]) != "zone=zone-a" {
		t.Errorf("absent are %q, the cluster has %s", a.Absent, zoneOf(a, refs[0]))
	}
}

// TestOldNames checks that only relevant names older than the requested age are read, and that NamesRead is
// the oldest of them.
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
			a, err := r.read(t.Context(), f, Query{Objects: refs, Categories: []string{"zone"}, MaxNameAge: age})
			if err != nil {
				t.Fatal(err)
			}
			if f.gets != gets || !a.NamesRead.Equal(named) {
				t.Errorf("%d names were read, want %d; the oldest is of %v, want %v", f.gets, gets, a.NamesRead, named)
			}
			return a
		}
		began := time.Now()
		read(0, 101+11, began)
		time.Sleep(refresh)
		read(0, 0, began)
		f.tags["a"] = Tag{"zone-x", "z"}
		if a := read(refresh/2, 2, time.Now()); !strings.Contains(zoneOf(a, refs[0]), "zone=zone-x") {
			t.Errorf("the tags after a tag was renamed: %s, want zone=zone-x", zoneOf(a, refs[0]))
		}
		// After a rename of the category all used categories are read.
		time.Sleep(refresh)
		f.names["z"], f.names["c3"] = "before", "zone"
		if got := zoneOf(read(refresh/2, 1+10+10, time.Now()), refs[0]); !strings.Contains(got, "zone=t3 ") || strings.Contains(got, "zone=zone-x") {
			t.Errorf("the tags after two categories were renamed: %s, want zone=t3 and not zone-x", got)
		}
		// An unreadable name keeps its age.
		f.broken["t3"] = status(http.StatusServiceUnavailable)
		before := time.Now()
		time.Sleep(refresh)
		f.gets = 0
		if a, err := r.read(t.Context(), f, Query{Objects: refs, Categories: []string{"zone"}, MaxNameAge: refresh / 2}); err != nil || !a.NamesRead.Equal(before) || a.RefreshErr == nil {
			t.Errorf("%v, read at %v, kept for %v", err, a.NamesRead, a.RefreshErr)
		}
	})
}
