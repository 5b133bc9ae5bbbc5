// Package credentials owns what logs in to a vCenter: the three ways to do so,
// and how they are written in a Kubernetes Secret or a directory. The keys and
// their precedence are those of the vSphere CPI. It contacts nothing, and nothing
// of it prints a secret.
package credentials
