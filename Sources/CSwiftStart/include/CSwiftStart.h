// Keeps Swift's runtime from reading /proc and its own environment variables when the program starts.
//
// The runtime looks for its crash reporter, which a static program does not have. For that it wants
// /proc/self/exe, and ends the program where there is none, as in a container without /proc. For
// CommandLine.arguments it searches /proc/self/maps, which takes a twelfth of the time of a `get`. Of
// SWIFT_BACKTRACE and SWIFT_DEBUG_… it prints warnings on standard error, where a caller of
// credential_process takes them for an error.
#pragma once

// Gives the program its environment back, once the runtime has started: the first call of main.
void credd_swift_started(void);
