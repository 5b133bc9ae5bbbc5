// Package words is told of
// by nobody.
package words

type complaintOf struct{ hearsay string }

// patient is a word of texts, where it is not banned. retagged and doubtful are other words.
func redo() string {
	doubt := "anew"
	return doubt
}
