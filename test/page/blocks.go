package page

import "strings"

const fence = "```"

// A Block is a fenced block of a page.
type Block struct {
	// Heading is the nearest heading before the block, and Kind what is behind the opening fence.
	Heading, Kind string
	// From and To are the lines between the fences, counted from 0; To is behind the last one. Indent is
	// before the opening fence.
	From, To int
	Indent   string
}

// Text returns the lines of a block, which is of this page, as they are there.
func (b *Block) Text(page []string) string {
	if b.From == b.To {
		return ""
	}
	return strings.Join(page[b.From:b.To], "\n") + "\n"
}

// Blocks returns the fenced blocks of the lines of a page, in their order. One that is not closed ends
// with the page.
func Blocks(page []string) []Block {
	var all []Block
	heading, inside := "", false
	for i, line := range page {
		text := strings.TrimLeft(line, " ")
		kind, isFence := strings.CutPrefix(text, fence)
		switch {
		case isFence && inside:
			all[len(all)-1].To = i
			inside = false
		case isFence:
			all = append(all, Block{Heading: heading, Kind: strings.TrimSpace(kind), From: i + 1, To: len(page), Indent: line[:len(line)-len(text)]})
			inside = true
		case !inside && strings.HasPrefix(line, "#"):
			heading = strings.TrimSpace(strings.TrimLeft(line, "#"))
		}
	}
	return all
}
