package page

import "strings"

const fence = "```"

// A Block is a fenced block of a page.
type Block struct {
	// Heading is the nearest heading before the block, and Kind what is behind the opening fence.
	Heading, Kind string
	// Text has the lines between the fences, as they are there.
	Text string
	// From and To are the numbers of these lines, counted from 0; To is that of the closing fence. Indent
	// is before the opening one.
	From, To int
	Indent   string
}

// Blocks returns the fenced blocks of the text of a page, in their order. One that is not closed ends
// with the page.
func Blocks(text string) []Block {
	var all []Block
	heading, inside, number := "", false, 0
	for line := range strings.Lines(text) {
		unindented := strings.TrimLeft(line, " ")
		kind, isFence := strings.CutPrefix(unindented, fence)
		number++
		switch {
		case isFence && inside:
			inside = false
		case isFence:
			all = append(all, Block{Heading: heading, Kind: strings.TrimSpace(kind), From: number, To: number, Indent: line[:len(line)-len(unindented)]})
			inside = true
		case inside:
			b := &all[len(all)-1]
			b.Text, b.To = b.Text+line, number
		case strings.HasPrefix(line, "#"):
			heading = strings.TrimSpace(strings.TrimLeft(line, "#"))
		}
	}
	return all
}
