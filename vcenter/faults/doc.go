// Package faults classifies the errors of a vCenter: a missing object, a missing privilege, a lost
// session. It also makes errors and log lines safe to print, and converts panics of libraries into
// errors of the vCenter whose answer caused them.
package faults
