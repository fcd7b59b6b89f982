// client: the yardstick for credctl. Connects, sends one request line, prints the reply line.
//
//   client SOCKET REQUEST
#include "yardstick.h"

#include <unistd.h>

enum { MAX_REPLY = 64 * 1024 };

static void write_all(int fd, const char *bytes, size_t length) {
  while (length > 0) {
    ssize_t n = write(fd, bytes, length);
    if (n <= 0)
      FAIL(EXIT_UNAVAILABLE, "write");
    bytes += n;
    length -= (size_t)n;
  }
}

int main(int count, char **arguments) {
  if (count != 3) {
    fprintf(stderr, "usage: client SOCKET REQUEST\n");
    return EXIT_USAGE;
  }
  struct sockaddr_un address = unix_address(arguments[1]);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
    FAIL(EXIT_UNAVAILABLE, arguments[1]);
  write_all(fd, arguments[2], strlen(arguments[2]));
  write_all(fd, "\n", 1);

  static char reply[MAX_REPLY];
  size_t held = 0;
  while (held == 0 || reply[held - 1] != '\n') {
    ssize_t n = read(fd, reply + held, sizeof reply - held);
    if (n <= 0) {
      fprintf(stderr, "%s: no whole reply\n", arguments[1]);
      return EXIT_UNAVAILABLE;
    }
    held += (size_t)n;
  }
  write_all(STDOUT_FILENO, reply, held);
  return 0;
}
