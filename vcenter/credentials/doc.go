// Package credentials finds and validates the credentials for a vCenter in a Kubernetes Secret or a
// directory. The keys and their precedence are the vSphere CPI's. The package makes no requests and
// prints no secrets.
package credentials
