package search

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func namesToFind(n int) map[Key]bool {
	all := map[Key]bool{}
	for i := range n {
		all[Key{Name: fmt.Sprintf("node-%04d", i)}] = true
	}
	return all
}

// played has a schedule play for a time, with searches that take none, and returns
// when each was done, and how many at once at most.
func played(s *Schedule, found map[Key]bool, from time.Time, d time.Duration) (at map[Key][]time.Duration, most int) {
	at = map[Key][]time.Duration{}
	now := from
	for now.Before(from.Add(d)) {
		s.Follow(found, now)
		round, wait := s.Next(now)
		if len(round) == 0 {
			now = now.Add(max(wait, time.Millisecond))
			continue
		}
		most = max(most, len(round))
		for _, key := range round {
			at[key] = append(at[key], now.Sub(from))
		}
		s.Done(round, now)
	}
	return at, most
}

// TestFirstSearchesAreAtOnce, in rounds, with those that are found elsewhere.
func TestFirstSearchesAreAtOnce(t *testing.T) {
	all := namesToFind(250)
	at, most := played(NewSchedule(10*time.Minute), all, time.Now(), time.Millisecond)
	if len(at) != 250 || most != firstRound {
		t.Errorf("%d searched for, at most %d in a round", len(at), most)
	}
}

// TestWhatIsFoundIsSearchedForEvenly: each once in the interval, one at a time, with
// the same time between any two.
func TestWhatIsFoundIsSearchedForEvenly(t *testing.T) {
	const n, interval = 300, 10 * time.Minute
	at, _ := played(NewSchedule(interval), namesToFind(n), time.Now(), time.Millisecond+2*interval)
	var times []time.Duration
	for key, each := range at {
		if len(each) < 2 || len(each) > 3 {
			t.Errorf("%v: searched for at %v", key, each)
		}
		for i := 2; i < len(each); i++ {
			if gap := each[i] - each[i-1]; gap < interval || gap > interval+time.Second {
				t.Errorf("%v: searched for again after %v", key, gap)
			}
		}
		times = append(times, each[1:]...)
	}
	slices.Sort(times)
	for i := 1; i < len(times); i++ {
		if gap := times[i] - times[i-1]; gap != interval/n {
			t.Fatalf("%v between two searches, not %v", gap, interval/n)
		}
	}
}

// TestWhatIsNotFoundIsSearchedForAgain with a growing delay, and at most so many a
// second.
func TestWhatIsNotFoundIsSearchedForAgain(t *testing.T) {
	one := map[Key]bool{{Name: "lost"}: false}
	at, _ := played(NewSchedule(10*time.Minute), one, time.Now(), 2*time.Minute)
	want := []time.Duration{0, 1, 3, 7, 15, 31, 61, 91}
	for i := range want {
		want[i] *= time.Second
	}
	if got := at[Key{Name: "lost"}]; !slices.Equal(got, want) {
		t.Errorf("searched for at %v, want %v", got, want)
	}

	many := namesToFind(5000)
	for key := range many {
		many[key] = false
	}
	searches := 0
	at, _ = played(NewSchedule(10*time.Minute), many, time.Now(), 10*time.Minute)
	for key, each := range at {
		if len(each) < 2 {
			t.Errorf("%v is never searched for again", key)
		}
		searches += len(each)
	}
	if most := 5000 + missRound*int(10*time.Minute/missPause); searches > most {
		t.Errorf("%d searches in 10 minutes, at most %d are allowed", searches, most)
	}
}

// TestWhatHasLeftIsSearchedForAtOnce, and what is not followed any more is forgotten.
func TestWhatHasLeftIsSearchedForAtOnce(t *testing.T) {
	key, now := Key{Name: "moves"}, time.Now()
	s := NewSchedule(10 * time.Minute)
	played(s, map[Key]bool{key: true}, now, time.Minute)
	now = now.Add(time.Minute)
	at, _ := played(s, map[Key]bool{key: false}, now, 2*time.Second)
	if got := at[key]; !slices.Equal(got, []time.Duration{0, time.Second}) {
		t.Errorf("searched for at %v", got)
	}
	s.Follow(nil, now)
	if round, wait := s.Next(now); len(round) > 0 || wait != 10*time.Minute || len(s.entries) > 0 {
		t.Errorf("%v is due, asked again after %v", round, wait)
	}
}
