package docs_test

// commandsPlayed are the command lines of the pages, and what runs them. The lines in blocks of kind
// console are not here: scripts in cmd/vzones/testdata/pages run them.
var commandsPlayed = []played{
	{"*.md", `^make `, "docs TestLinks"},
}
