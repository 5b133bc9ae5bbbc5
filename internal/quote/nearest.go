package quote

import "strings"

// Nearest returns the known key that is closest to an unknown key, or "" if none is near. An abbreviation is as close as
// a key with one typo; of two equally close keys, the one with fewer edits is returned.
func Nearest(unknown string, known []string) string {
	want := Folded(unknown)
	best := ""
	bestDistance := len(want)
	bestEdits := len(want)
	for _, key := range known {
		have := Folded(key)
		edits := editDistance(want, have)
		distance := edits
		if abbreviates(want, have) {
			distance = min(distance, 1)
		}
		isCloser := distance < bestDistance || distance == bestDistance && edits < bestEdits
		if distance <= tolerance(have) && isCloser {
			best = key
			bestDistance = distance
			bestEdits = edits
		}
	}
	return best
}

func tolerance(key string) int { return min(max(1, len(key)/3), 3) }

func abbreviates(a, b string) bool {
	return min(len(a), len(b)) >= 4 && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a))
}

// Folded returns a key in lower case, without hyphens, underscores and blanks.
func Folded(key string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(key))
}

// editDistance is the number of bytes to insert, delete, replace or swap with their neighbor.
func editDistance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return max(len(a), len(b))
	}
	before := make([]int, len(b)+1)
	previous := make([]int, len(b)+1)
	current := make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := 1; i <= len(a); i++ {
		current[0] = i
		for j := 1; j <= len(b); j++ {
			replace := previous[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			current[j] = min(replace, previous[j]+1, current[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				current[j] = min(current[j], before[j-2]+1)
			}
		}
		unused := before
		before = previous
		previous = current
		current = unused
	}
	return previous[len(b)]
}
