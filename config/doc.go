// Package config owns the values of the configuration: what is in force, validated and with
// every default filled in. It links no parser: config/parse reads the formats.
//
// The package never prints a secret, never connects to anything, and neither reads nor
// writes a file.
package config
