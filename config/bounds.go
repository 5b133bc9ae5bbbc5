package config

import "fmt"

// Bounds on what a configuration may cost: whoever writes one by mistake gets an error,
// and not a daemon that is busy for minutes.
const (
	// MaxFile is how many bytes a file may have, which is what a ConfigMap or Secret
	// holds.
	MaxFile = 1 << 20
	// maxProblems is how many mistakes are looked for, and warnings are kept.
	maxProblems = 1000
	maxVCenters = 1000
	maxLevels   = 100
	maxNetworks = 1000
	// maxCAFiles is how many CA files are named, each of which is watched, and maxCABytes
	// how much is kept of them.
	maxCAFiles = 1000
	maxCABytes = 64 << 20
)

// stopped is what ends the reading of a file that is not worth going on with.
type stopped struct{}

// stop reports a last mistake and ends the reading.
func (p *problems) stop(at position, format string, args ...any) {
	p.errors = append(p.errors, p.problem(at, format, args))
	if p.stops {
		panic(stopped{})
	}
}

// recovered takes what stop has thrown.
func recovered(thrown any) {
	if _, ok := thrown.(stopped); thrown != nil && !ok {
		panic(thrown)
	}
}

// bounded counts what is taken of a list whose elements all take time, and stops the
// reading at one too many.
func (p *problems) bounded(at position, number, most int, what string) {
	if number > most {
		p.stop(at, "there are more than %d %s: write fewer", most, what)
	}
}

// visit counts a key or an element. Without aliases there are never as many as bytes.
func (d *decoder) visit() {
	const beside = 100_000
	if d.visits++; d.visits > d.size+beside {
		d.stop(position{}, "the aliases (*) and merges (<<) make the file stand for more than %d values: "+
			"write out fewer of them", d.size+beside)
	}
}

func tooLarge(size int64) string {
	return fmt.Sprintf("has %d bytes: at most %d can be read, which is what a ConfigMap holds", size, MaxFile)
}
