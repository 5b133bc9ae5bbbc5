package main

import (
	"bytes"
	"strings"
	"testing"
)

// No error of a configuration, wherever it is, prints a password or a part of it.
func TestErrorsShowNoPassword(t *testing.T) {
	const (
		block  = "vcenter:\n  east:\n    server: 10.0.0.1\n    user: user\n%s\n    port: 443\n"
		braces = "vcenter: {east: {server: 10.0.0.1, user: user, %s, port: 443}}\n"
		inINI  = "[VirtualCenter \"10.0.0.1\"]\nuser = user\n%s\nport = 443\n"
		global = "[Global]\n%s\nuser = user\n[VirtualCenter \"10.0.0.1\"]\n"
	)
	var shapes []string
	for _, key := range []string{"password", "pasword", "pwd", "user", "secretName", "secret-name", "thumbprint", "caFile"} {
		for _, sep := range []string{": ", ":", " ", "=", " = ", ":\t", ": - ", ":\n      - ", ":\n      x: ", "\n"} {
			shapes = append(shapes, key+sep)
		}
	}
	shapes = append(shapes, "password", "Password", "- ", "# ", "user password ")
	shown := func(shape, file string, out, stderr *bytes.Buffer) {
		if strings.Contains(out.String()+stderr.String(), "S3cret") {
			t.Errorf("%q: shown by %q:\n%s%s", shape, file, out, stderr)
		}
	}
	count, sample, n := 0, 1, 0
	if testing.Short() {
		sample = 5
	}
	for _, file := range []string{block, braces, inINI, global} {
		for _, shape := range shapes {
			for _, value := range []string{
				"S3cretA", "S3cretA: x", "S3cretA,S3cretB", `"S3cretA`, `S3cretA"`, `"S3cretA"S3cretB`, "'S3cretA", "*S3cretA", "&S3cretA", "!S3cretA", "@S3cretA",
				"%S3cretA", "{S3cretA", "S3cretA}", "[S3cretA, S3cretB]", "S3cretA]", `S3cretA\`, `"S3cretA\q"`, "S3cretA #S3cretB", "S3cretA;S3cretB", "|S3cretA", "? S3cretA", "- S3cretA",
				"S3cretA\x00", "S3cretA\xff", "{S3cretA: S3cretB}", "S3cretA:443", "S3cretA@vc.example.com", "<<: S3cretA",
			} {
				if n++; n%sample > 0 {
					continue
				}
				line := shape + value
				if file == block {
					line = "    " + line
				}
				text := strings.Replace(file, "%s", line, 1)
				for i, command := range []string{"check --offline -", "convert --effective -", "convert -"} {
					var out, stderr bytes.Buffer
					status := run(strings.Fields(command), strings.NewReader(text), &out, &stderr)
					if i == 0 && status != findings {
						break // A valid value of another field is printed.
					}
					if status != findings {
						t.Fatalf("%q: %s has status %d", line, command, status)
					}
					shown(line, command, &out, &stderr)
					if i == 0 {
						count++
					}
					if count%50 > 0 {
						break // The other commands print the same errors.
					}
				}
			}
		}
	}
	if count < 1000/sample {
		t.Errorf("only %d errors", count)
	}
}
