package topology

import (
	"strings"

	"vzones/internal/quote"
)

// mostNamed is how many objects, tags or vCenters a text names at most: all of a usual
// path, so that it says where a tag was looked for.
const mostNamed = 10

// mostLookedAt is how many of the objects without a tag a text names: what to do is said before.
const mostLookedAt = 5

func quoted(names []string) string { return joined(names, ", ") }

func joined(names []string, separator string) string {
	q := make([]string, len(names))
	for i, n := range names {
		q[i] = quote.Value(n)
	}
	if len(q) > mostNamed {
		return quote.Some(q, mostNamed)
	}
	return strings.Join(q, separator)
}
