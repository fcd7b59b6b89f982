// spawn: times whole processes, from before the start until the process has been reaped.
//
//   spawn [--count N] [--stdin FILE] [--deadline SECONDS] -- COMMAND… [-- COMMAND…]…
//
// Commands in which `--` stands are separated by `---`, in place of `--` everywhere.
//
// The commands take turns, so that other work of the machine affects all of them alike. Prints a
// JSON array with one object for each command, in order. If a command fails, spawn ends: times of a
// command that fails mean nothing.
#define _GNU_SOURCE
#include "yardstick.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
  MAX_COMMANDS = 16,
  MAX_COUNT = 100000,
  WARM_UP = 5, // uncounted runs, to fill the page cache
};

extern char **environ;

struct command {
  char **arguments;
  uint64_t *wall_ns;
  uint64_t cpu_us; // all counted runs together
};

static volatile pid_t running;

static void deadline_passed(int signal_number) {
  (void)signal_number;
  static const char message[] = "spawn: the deadline passed\n";
  if (running > 0)
    kill(running, SIGKILL);
  if (write(STDERR_FILENO, message, sizeof message - 1) < 0)
    _exit(EXIT_SYSTEM);
  _exit(EXIT_TRY_AGAIN);
}

static uint64_t microseconds(struct timeval t) {
  return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_usec;
}

/// Runs a command once; returns its wall time in nanoseconds.
static uint64_t run(struct command *command, const posix_spawn_file_actions_t *actions,
                    struct rusage *usage) {
  int status;
  pid_t pid;
  uint64_t start = now_ns();
  int error = posix_spawnp(&pid, command->arguments[0], actions, NULL, command->arguments, environ);
  if (error != 0) {
    fprintf(stderr, "%s: %s\n", command->arguments[0], strerror(error));
    exit(EXIT_UNAVAILABLE);
  }
  running = pid;
  if (wait4(pid, &status, 0, usage) < 0)
    FAIL(EXIT_SYSTEM, "wait4");
  running = 0;
  uint64_t wall = now_ns() - start;
  if (status != 0) {
    fprintf(stderr, "%s: %s %d\n", command->arguments[0],
            WIFEXITED(status) ? "exited with" : "was ended by signal",
            WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    exit(EXIT_UNAVAILABLE);
  }
  return wall;
}

static int ascending(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static void print(struct command *command, size_t count, const char *separator) {
  qsort(command->wall_ns, count, sizeof *command->wall_ns, ascending);
  double p[] = {0.1, 0.5, 0.9};
  for (size_t i = 0; i < 3; i++)
    p[i] = (double)command->wall_ns[(size_t)(p[i] * (double)(count - 1) + 0.5)] / 1000;
  printf("%s{\"runs\":%zu,\"wall_us\":{\"p10\":%.1f,\"median\":%.1f,\"p90\":%.1f},"
         "\"cpu_us\":%.1f}",
         separator, count, p[0], p[1], p[2], (double)command->cpu_us / (double)count);
}

/// Splits the arguments after the options at each `--`; returns the number of commands.
static int is_separator(const char *word) {
  return strcmp(word, "--") == 0 || strcmp(word, "---") == 0;
}

static size_t split(const char *separator, char **arguments, struct command *commands) {
  size_t found = 0;
  while (*arguments) {
    if (found == MAX_COMMANDS || strcmp(*arguments, separator) == 0)
      return 0;
    commands[found++].arguments = arguments;
    while (*arguments && strcmp(*arguments, separator) != 0)
      arguments++;
    if (*arguments)
      *arguments++ = NULL;
  }
  return found;
}

int main(int argument_count, char **arguments) {
  (void)argument_count;
  long count = 200, deadline = 120;
  const char *input = "/dev/null";
  char **at = arguments + 1;
  for (; at[0] && at[1] && !is_separator(at[0]); at += 2) {
    if (strcmp(at[0], "--count") == 0)
      count = strtol(at[1], NULL, 10);
    else if (strcmp(at[0], "--deadline") == 0)
      deadline = strtol(at[1], NULL, 10);
    else if (strcmp(at[0], "--stdin") == 0)
      input = at[1];
    else
      break;
  }
  static struct command commands[MAX_COMMANDS];
  size_t command_count = at[0] && is_separator(at[0]) ? split(at[0], at + 1, commands) : 0;
  if (command_count == 0 || count < 1 || count > MAX_COUNT || deadline < 1 || deadline > 3600) {
    fprintf(stderr, "usage: spawn [--count N] [--stdin FILE] [--deadline SECONDS] "
                    "-- COMMAND... [-- COMMAND...]...\n");
    return EXIT_USAGE;
  }

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input, O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  signal(SIGALRM, deadline_passed);
  alarm((unsigned)deadline);

  for (size_t c = 0; c < command_count; c++)
    if (!(commands[c].wall_ns = calloc((size_t)count, sizeof(uint64_t))))
      FAIL(EXIT_SYSTEM, "calloc");
  for (long i = -WARM_UP; i < count; i++)
    for (size_t c = 0; c < command_count; c++) {
      struct rusage usage;
      uint64_t wall = run(&commands[c], &actions, &usage);
      if (i < 0)
        continue;
      commands[c].wall_ns[i] = wall;
      commands[c].cpu_us += microseconds(usage.ru_utime) + microseconds(usage.ru_stime);
    }
  for (size_t c = 0; c < command_count; c++)
    print(&commands[c], (size_t)count, c == 0 ? "[" : ",");
  puts("]");
  posix_spawn_file_actions_destroy(&actions);
  for (size_t c = 0; c < command_count; c++)
    free(commands[c].wall_ns);
  return 0;
}
