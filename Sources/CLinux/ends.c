// Signals that end credctl while it waits for its user. They are only noted, so that credctl can
// restore the terminal and cancel the sign-in before it ends by the signal.
#define _GNU_SOURCE
#include "CLinux.h"

#include <signal.h>

static volatile sig_atomic_t noted;

static void note(int number) { noted = number; }

void credd_note_ends(void) {
  const int numbers[] = {SIGHUP, SIGINT, SIGTERM};
  for (unsigned index = 0; index < sizeof numbers / sizeof *numbers; index++) {
    struct sigaction present;
    // A signal that the caller ignores, as under nohup, stays ignored.
    if (sigaction(numbers[index], NULL, &present) < 0 || present.sa_handler != SIG_DFL) continue;
    // Without SA_RESTART, so that the signal interrupts a wait.
    struct sigaction action = {.sa_handler = note};
    sigemptyset(&action.sa_mask);
    sigaction(numbers[index], &action, NULL);
  }
}

int credd_noted_end(void) { return noted; }

int credd_take_noted_end(void) {
  int number = noted;
  noted = 0;
  return number;
}

void credd_end_by(int number) {
  signal(number, SIG_DFL);
  raise(number);
}
