// bare_http: the yardstick of the endpoint. libmicrohttpd on one thread, which gives the same bytes to
// anybody: it asks the kernel nothing, and looks at no token and no path.
//
//   bare_http PORT-FILE REPLY-FILE        writes its port; ends on SIGTERM
#define _GNU_SOURCE
#include "yardstick.h"

#include <microhttpd.h>
#include <netinet/in.h>
#include <unistd.h>

enum { MAX_REPLY = 64 * 1024 };

static char reply[MAX_REPLY];
static struct MHD_Response *response;

static enum MHD_Result answer(void *state, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *body,
                              size_t *body_length, void **request) {
  (void)state, (void)path, (void)method, (void)version, (void)body, (void)body_length;
  // An answer in the first call would close the connection.
  if (!*request) {
    *request = &response;
    return MHD_YES;
  }
  return MHD_queue_response(connection, MHD_HTTP_OK, response);
}

static int listen_on_loopback(uint16_t *port) {
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) < 0 || listen(fd, SOMAXCONN) < 0 ||
      getsockname(fd, (struct sockaddr *)&address, &length) < 0)
    FAIL(EXIT_UNAVAILABLE, "listen");
  *port = ntohs(address.sin_port);
  return fd;
}

int main(int count, char **arguments) {
  if (count != 3) {
    fprintf(stderr, "usage: bare_http PORT-FILE REPLY-FILE\n");
    return EXIT_USAGE;
  }
  FILE *file = fopen(arguments[2], "rb");
  if (!file)
    FAIL(EXIT_USAGE, arguments[2]);
  size_t length = fread(reply, 1, sizeof reply, file);
  fclose(file);
  response = MHD_create_response_from_buffer(length, reply, MHD_RESPMEM_PERSISTENT);
  if (!response || MHD_add_response_header(response, "Content-Type", "application/json") != MHD_YES ||
      MHD_add_response_header(response, "Cache-Control", "no-store") != MHD_YES)
    FAIL(EXIT_SYSTEM, "MHD_create_response");

  uint16_t port;
  int listener = listen_on_loopback(&port);
  // A good server in C takes what the library has for speed: MHD_USE_TURBO reads and writes without
  // waiting for epoll's word.
  if (!MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_TURBO, port, NULL, NULL, answer,
                        NULL, MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_CONNECTION_LIMIT, 4096u,
                        MHD_OPTION_CONNECTION_TIMEOUT, 15u, MHD_OPTION_END))
    FAIL(EXIT_UNAVAILABLE, "MHD_start_daemon");
  if (!(file = fopen(arguments[1], "w")))
    FAIL(EXIT_USAGE, arguments[1]);
  fprintf(file, "%u\n", (unsigned)port);
  fclose(file);
  for (;;)
    pause();
}
