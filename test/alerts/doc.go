// Package alerts plays each alert of the Prometheus rules with the built daemon, simulated
// vCenters, a real API server and a real Prometheus that scrapes the daemon's port. It also
// checks that rules, runbooks and dashboard name nothing that there is not.
//
// What needs Prometheus runs with `make alerts`.
package alerts
