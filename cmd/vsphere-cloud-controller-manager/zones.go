package main

// The image has no time zones, and TZ names the one that the log's times are in.
import _ "time/tzdata"
