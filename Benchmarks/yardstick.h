// Shared by the benchmark programs: a clock, a Unix socket address, and an exit with an error.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

// sysexits(3), as credctl uses them.
enum { EXIT_USAGE = 64, EXIT_UNAVAILABLE = 69, EXIT_SYSTEM = 71, EXIT_TRY_AGAIN = 75 };

/// Prints `what: errno's text` and ends the program.
#define FAIL(code, what)                                                                           \
  do {                                                                                             \
    perror(what);                                                                                  \
    exit(code);                                                                                    \
  } while (0)

static inline uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline struct sockaddr_un unix_address(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) {
    fprintf(stderr, "%s: longer than a Unix socket address may be\n", path);
    exit(EXIT_USAGE);
  }
  strcpy(address.sun_path, path);
  return address;
}
