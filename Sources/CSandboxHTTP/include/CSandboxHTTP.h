// The HTTP server of the sandbox, by libmicrohttpd, with its sockets and its epoll set. Swift
// cannot call the variadic functions that set libmicrohttpd up, and its Glibc module lacks epoll
// and signalfd.
//
// Nothing here starts a thread: csandbox_run makes all callbacks.
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

// Sockets. Both return a listening descriptor, or -errno.

// Listens on 127.0.0.1; port 0 takes a free port. `port` receives the port.
int csandbox_listen_tcp(uint16_t *port);
// Replaces a socket file that an earlier program left, but no other file.
int csandbox_listen_unix(const char *path);

// Waiting.

// An epoll set, or -errno.
int csandbox_poller(void);
// csandbox_wait then reports that the descriptor is readable, or without `readable` only that the
// other side has stopped sending or has closed. 0, or -errno.
int csandbox_watch(int poller, int descriptor, bool readable, uint64_t token);
void csandbox_unwatch(int poller, int descriptor);
// The tokens of ready descriptors. -1 milliseconds: no limit. Returns their number, or -errno.
int csandbox_wait(int poller, int milliseconds, uint64_t *tokens, int capacity);
// A descriptor that is readable when one of these blocked signals has arrived, or -errno.
int csandbox_signals(const sigset_t *signals);

// Serving.

// A listening socket with its connections.
struct csandbox_listener;
// A request, and the reply to it.
struct csandbox_call;

struct csandbox_owner {
  void *context;
  // Whether to accept a further connection; if not, it is closed at once.
  bool (*has_room)(void *context);
  void (*connection_opened)(void *context);
  void (*connection_closed)(void *context);
  // Called when a request is complete, or is too long. The callee replies to it, resets it or holds
  // it before it returns; otherwise the connection is closed.
  void (*received)(void *context, struct csandbox_listener *listener, struct csandbox_call *call);
};

struct csandbox_limits {
  unsigned connections;
  unsigned idle_seconds;
  size_t body;
};

// PEM texts that end with NUL.
struct csandbox_tls {
  const char *certificate;
  const char *key;
  // If given, a client must show a certificate of one of these authorities.
  const char *_Nullable client_authorities;
};

// Serves on a socket, which then belongs to the listener. NULL on failure, with the problem in
// `reason`.
struct csandbox_listener *_Nullable csandbox_start(int socket, const struct csandbox_owner *owner,
                                                   const struct csandbox_limits *limits,
                                                   const struct csandbox_tls *_Nullable tls,
                                                   char *reason, size_t size);
// A descriptor that is readable when the listener has work.
int csandbox_descriptor(struct csandbox_listener *listener);
// Does the work of the listener.
//
// Returns the number of milliseconds after which it must run again at the latest; -1: only when its
// descriptor is readable.
int csandbox_run(struct csandbox_listener *listener);
// Closes all connections. There must be no held call.
void csandbox_stop(struct csandbox_listener *listener);

// The parts of a request. All pointers are valid until the call is replied to, reset, held or
// released.
const char *csandbox_method(struct csandbox_call *call);
// The target as it was sent, percent-encoded.
const char *csandbox_target(struct csandbox_call *call);
const void *_Nullable csandbox_body(struct csandbox_call *call, size_t *length);
// The body is longer than the limit; its bytes were discarded.
bool csandbox_is_too_long(struct csandbox_call *call);
void csandbox_each_field(struct csandbox_call *call, void *context,
                         void (*each)(void *context, const char *name, const char *value));

// Replies with a copy of the body. If `sent` is smaller than `length`, only `sent` bytes are sent,
// and then the connection ends.
void csandbox_reply(struct csandbox_call *call, unsigned status, const void *_Nullable body,
                    size_t length, size_t sent);
// After csandbox_reply. "Connection: close" ends the connection after the reply.
void csandbox_reply_field(struct csandbox_call *call, const char *name, const char *value);

// Resets the connection instead of ending it. A Unix socket has no reset: there the connection
// ends.
void csandbox_reset(struct csandbox_call *call);

// Holds a call for a later reply; call this from within `received`. Other connections continue.
// Returns the descriptor of the connection, so that the caller can watch whether the client closes
// it.
int csandbox_hold(struct csandbox_call *call);
// Continues a held call: sends its reply, or closes the connection if there is none. Afterwards the
// call no longer exists, and its listener must run.
void csandbox_release(struct csandbox_call *call);

#pragma clang assume_nonnull end
