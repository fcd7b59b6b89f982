// Signals that end credctl while it waits for its user. They are only noted, so that credctl can
// restore the terminal and cancel the sign-in before it ends by the signal.
#define _GNU_SOURCE
#include "CLinux.h"

#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
#define NUMBERS (sizeof numbers / sizeof *numbers)

static volatile sig_atomic_t noted;
static bool is_noting;

static void note(int number) { noted = number; }

bool credd_note_ends(void) {
  if (is_noting) return false;
  is_noting = true;
  for (unsigned index = 0; index < NUMBERS; index++) {
    struct sigaction present;
    // A signal that the caller ignores, as under nohup, stays ignored.
    if (sigaction(numbers[index], NULL, &present) < 0 || present.sa_handler != SIG_DFL) continue;
    // Without SA_RESTART, so that the signal interrupts a wait.
    struct sigaction action = {.sa_handler = note};
    sigemptyset(&action.sa_mask);
    sigaction(numbers[index], &action, NULL);
  }
  return true;
}

void credd_let_ends_through(void) {
  is_noting = false;
  for (unsigned index = 0; index < NUMBERS; index++) {
    struct sigaction present;
    if (sigaction(numbers[index], NULL, &present) == 0 && present.sa_handler == note)
      signal(numbers[index], SIG_DFL);
  }
  int number = credd_take_noted_end();
  if (number != 0) credd_end_by(number);
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

static void *wait_and_end(void *descriptor) {
  struct pollfd input = {.fd = (int)(intptr_t)descriptor, .events = POLLIN};
  while (poll(&input, 1, -1) < 0) {
  }
  _exit(0);
}

int credd_end_when_readable(int descriptor) {
  return -credd_start_thread(wait_and_end, (void *)(intptr_t)descriptor, 64 * 1024);
}
