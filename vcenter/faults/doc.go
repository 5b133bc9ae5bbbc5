// Package faults classifies the errors of a vCenter, makes errors and log lines safe to print, and
// converts panics into errors of the vCenter whose answer caused them.
package faults
