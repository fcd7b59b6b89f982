// look_up: the processor time in which the kernel says who is at the other end of a connection over
// loopback. Both questions are credd's own (Sources/CLinux/attest.c): about the other end, and then about
// the own one. There are as many other connections as it has at work.
//
//   look_up COUNT OTHERS        prints the mean, in microseconds
#define _GNU_SOURCE
#include "CLinux.h"
#include "yardstick.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

static int listen_on_loopback(struct sockaddr_in *address) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  socklen_t length = sizeof *address;
  *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (fd < 0 || bind(fd, (struct sockaddr *)address, length) < 0 || listen(fd, SOMAXCONN) < 0 ||
      getsockname(fd, (struct sockaddr *)address, &length) < 0)
    FAIL(EXIT_SYSTEM, "listen");
  return fd;
}

/// Connects and accepts; both ends stay open. Returns the end of the server.
static int connection(int listener, const struct sockaddr_in *address) {
  int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (client < 0 || connect(client, (const struct sockaddr *)address, sizeof *address) < 0)
    FAIL(EXIT_SYSTEM, "connect");
  int server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
  if (server < 0)
    FAIL(EXIT_SYSTEM, "accept4");
  return server;
}

static uint64_t processor_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int main(int count, char **arguments) {
  long questions = count == 3 ? strtol(arguments[1], NULL, 10) : 0;
  long others = count == 3 ? strtol(arguments[2], NULL, 10) : -1;
  if (questions < 1 || others < 0) {
    fprintf(stderr, "usage: look_up COUNT OTHERS\n");
    return EXIT_USAGE;
  }
  struct sockaddr_in address;
  int listener = listen_on_loopback(&address);
  while (others-- > 0)
    connection(listener, &address);
  int asked = connection(listener, &address), netlink = credd_diag_socket();
  if (netlink < 0) {
    fprintf(stderr, "sock_diag: %s\n", strerror(-netlink));
    return EXIT_UNAVAILABLE;
  }
  uint64_t began = processor_ns();
  for (long i = 0; i < questions; i++) {
    struct credd_socket_report report;
    int result = credd_ask_other_end(netlink, (uint32_t)i, asked, &report);
    if (result == 0 && credd_tcp_state(asked) != TCP_ESTABLISHED) result = -ENOTCONN;
    if (result < 0 || !report.is_of_other_end || report.uid != geteuid()) {
      fprintf(stderr, "question %ld: %s\n", i, result < 0 ? strerror(-result) : "another's socket");
      return EXIT_UNAVAILABLE;
    }
  }
  printf("%.3f\n", (double)(processor_ns() - began) / 1000 / (double)questions);
  return 0;
}
