#define _GNU_SOURCE
#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <limits.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "CSandboxHTTP.h"

// Memory of one connection, for the header fields of a request and of its reply.
enum { CONNECTION_MEMORY = 128 * 1024 };

struct csandbox_listener {
  struct MHD_Daemon *daemon;
  struct csandbox_owner owner;
  struct csandbox_limits limits;
  bool wants_client_certificate;
  // Receives libmicrohttpd's messages while it starts.
  char *reason;
  size_t reason_size;
};

enum progress {
  NEW,       // the head has not arrived yet
  READING,   // the body is arriving
  HELD,      // the reply comes later
  ANSWERED,  // there is a reply, or none, which ends the connection
};

struct csandbox_call {
  struct MHD_Connection *connection;
  char *target;
  const char *method;
  enum progress progress;
  bool is_too_long;
  char *body;
  size_t length;
  size_t capacity;
  struct MHD_Response *response;
  unsigned status;
};

// Connections.

static enum MHD_Result accept_policy(void *context, const struct sockaddr *address,
                                     socklen_t size) {
  (void)address;
  (void)size;
  const struct csandbox_listener *listener = context;
  return listener->owner.has_room(listener->owner.context) ? MHD_YES : MHD_NO;
}

// Refuses a client without a valid certificate. libmicrohttpd only asks for one, and accepts any or
// none.
static int check_client(gnutls_session_t session) {
  gnutls_typed_vdata_st purpose = {GNUTLS_DT_KEY_PURPOSE_OID,
                                   (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT, 0};
  unsigned status;
  int result = gnutls_certificate_verify_peers(session, &purpose, 1, &status);
  if (result >= 0 && status == 0) return 0;
  gnutls_alert_send(session, GNUTLS_AL_FATAL,
                    result == GNUTLS_E_NO_CERTIFICATE_FOUND ? GNUTLS_A_CERTIFICATE_REQUIRED
                                                            : GNUTLS_A_BAD_CERTIFICATE);
  return -1;
}

static void connection_changed(void *context, struct MHD_Connection *connection,
                               void **connection_context,
                               enum MHD_ConnectionNotificationCode code) {
  (void)connection_context;
  const struct csandbox_listener *listener = context;
  if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
    listener->owner.connection_closed(listener->owner.context);
    return;
  }
  if (listener->wants_client_certificate) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (info) gnutls_session_set_verify_function(info->tls_session, check_client);
  }
  listener->owner.connection_opened(listener->owner.context);
}

// Requests.

// Called with the target before it is decoded; libmicrohttpd keeps the result with the request.
static void *request_began(void *context, const char *target, struct MHD_Connection *connection) {
  (void)context;
  struct csandbox_call *call = calloc(1, sizeof *call);
  if (!call) return NULL;
  call->connection = connection;
  call->target = strdup(target);
  if (call->target) return call;
  free(call);
  return NULL;
}

static void request_ended(void *context, struct MHD_Connection *connection, void **request,
                          enum MHD_RequestTerminationCode code) {
  (void)context;
  (void)connection;
  (void)code;
  struct csandbox_call *call = *request;
  *request = NULL;
  if (!call) return;
  if (call->response) MHD_destroy_response(call->response);
  free(call->body);
  free(call->target);
  free(call);
}

static bool announces_too_much(const struct csandbox_call *call, size_t limit) {
  const char *length = MHD_lookup_connection_value(call->connection, MHD_HEADER_KIND,
                                                   MHD_HTTP_HEADER_CONTENT_LENGTH);
  return length && strtoull(length, NULL, 10) > limit;
}

static bool collect(struct csandbox_call *call, const char *data, size_t size, size_t limit) {
  if (call->is_too_long) return true;
  if (size > limit - call->length) {
    // Read and discard the rest: libmicrohttpd can reply only before or after a body.
    call->is_too_long = true;
    return true;
  }
  if (call->length + size > call->capacity) {
    size_t capacity = call->capacity ? call->capacity * 2 : 4096;
    while (capacity < call->length + size) capacity *= 2;
    char *body = realloc(call->body, capacity);
    if (!body) return false;
    call->body = body;
    call->capacity = capacity;
  }
  memcpy(call->body + call->length, data, size);
  call->length += size;
  return true;
}

static enum MHD_Result conclude(struct csandbox_call *call) {
  if (!call->response) return MHD_NO;
  return MHD_queue_response(call->connection, call->status, call->response);
}

static enum MHD_Result submit(struct csandbox_listener *listener, struct csandbox_call *call) {
  call->progress = ANSWERED;
  listener->owner.received(listener->owner.context, listener, call);
  return call->progress == HELD ? MHD_YES : conclude(call);
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *size, void **request) {
  (void)connection;
  (void)url;
  (void)version;
  struct csandbox_listener *listener = context;
  struct csandbox_call *call = *request;
  if (!call) return MHD_NO;
  switch (call->progress) {
    case NEW:
      call->progress = READING;
      call->method = method;
      call->is_too_long = announces_too_much(call, listener->limits.body);
      return call->is_too_long ? submit(listener, call) : MHD_YES;
    case READING:
      if (*size == 0) return submit(listener, call);
      if (!collect(call, data, *size, listener->limits.body)) return MHD_NO;
      *size = 0;
      return MHD_YES;
    case HELD:
      return MHD_YES;
    case ANSWERED:
      return conclude(call);
  }
  return MHD_NO;
}

const char *csandbox_method(struct csandbox_call *call) { return call->method; }

const char *csandbox_target(struct csandbox_call *call) { return call->target; }

const void *csandbox_body(struct csandbox_call *call, size_t *length) {
  *length = call->length;
  return call->body;
}

bool csandbox_is_too_long(struct csandbox_call *call) { return call->is_too_long; }

struct field_reader {
  void *context;
  void (*each)(void *context, const char *name, const char *value);
};

static enum MHD_Result read_field(void *context, enum MHD_ValueKind kind, const char *name,
                                  const char *value) {
  (void)kind;
  const struct field_reader *reader = context;
  reader->each(reader->context, name, value ? value : "");
  return MHD_YES;
}

void csandbox_each_field(struct csandbox_call *call, void *context,
                         void (*each)(void *context, const char *name, const char *value)) {
  struct field_reader reader = {context, each};
  MHD_get_connection_values(call->connection, MHD_HEADER_KIND, read_field, &reader);
}

// Replies.

struct partial_body {
  size_t sent;
  char bytes[];
};

static ssize_t read_partial(void *context, uint64_t position, char *buffer, size_t capacity) {
  const struct partial_body *body = context;
  if (position >= body->sent) return MHD_CONTENT_READER_END_WITH_ERROR;
  size_t size = body->sent - (size_t)position;
  if (size > capacity) size = capacity;
  memcpy(buffer, body->bytes + position, size);
  return (ssize_t)size;
}

static struct MHD_Response *partial_response(const void *bytes, size_t length, size_t sent) {
  struct partial_body *body = malloc(sizeof *body + sent);
  if (!body) return NULL;
  body->sent = sent;
  if (sent > 0) memcpy(body->bytes, bytes, sent);
  struct MHD_Response *response =
      MHD_create_response_from_callback(length, 16 * 1024, read_partial, body, free);
  if (!response) free(body);
  return response;
}

void csandbox_reply(struct csandbox_call *call, unsigned status, const void *body, size_t length,
                    size_t sent) {
  call->status = status;
  // libmicrohttpd copies the bytes and does not change them.
  call->response = sent < length ? partial_response(body, length, sent)
                                 : MHD_create_response_from_buffer(length, (void *)body,
                                                                   MHD_RESPMEM_MUST_COPY);
}

void csandbox_reply_field(struct csandbox_call *call, const char *name, const char *value) {
  if (call->response) MHD_add_response_header(call->response, name, value);
}

static int descriptor(const struct csandbox_call *call) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(call->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}

void csandbox_reset(struct csandbox_call *call) {
  // Makes Linux send a reset at once. SO_LINGER would send it only at close(), and libmicrohttpd
  // ends the connection in the orderly way before that.
  const struct sockaddr nobody = {.sa_family = AF_UNSPEC};
  connect(descriptor(call), &nobody, sizeof nobody);
}

int csandbox_hold(struct csandbox_call *call) {
  call->progress = HELD;
  MHD_suspend_connection(call->connection);
  return descriptor(call);
}

void csandbox_release(struct csandbox_call *call) {
  call->progress = ANSWERED;
  MHD_resume_connection(call->connection);
}

// The listener.

static void note(void *context, const char *format, va_list arguments) {
  struct csandbox_listener *listener = context;
  if (listener->reason) {
    vsnprintf(listener->reason, listener->reason_size, format, arguments);
    listener->reason[strcspn(listener->reason, "\n")] = 0;
  }
}

struct csandbox_listener *csandbox_start(int socket, const struct csandbox_owner *owner,
                                         const struct csandbox_limits *limits,
                                         const struct csandbox_tls *tls, char *reason,
                                         size_t size) {
  struct csandbox_listener *listener = calloc(1, sizeof *listener);
  if (!listener) return NULL;
  listener->owner = *owner;
  listener->limits = *limits;
  listener->wants_client_certificate = tls && tls->client_authorities;
  listener->reason = reason;
  listener->reason_size = size;
  struct MHD_OptionItem options[4] = {{MHD_OPTION_END, 0, NULL}};
  unsigned count = 0;
  if (tls) {
    options[count++] =
        (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)tls->certificate};
    options[count++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)tls->key};
    if (tls->client_authorities) {
      options[count++] =
          (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_TRUST, 0, (void *)tls->client_authorities};
    }
  }
  options[count] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
  // The caller gives the date. None of these flags starts a thread.
  unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_SUPPRESS_DATE_NO_CLOCK |
                   MHD_USE_ERROR_LOG | (tls ? MHD_USE_TLS : 0);
  listener->daemon = MHD_start_daemon(
      flags, 0, accept_policy, listener, handle, listener,
      MHD_OPTION_EXTERNAL_LOGGER, note, listener,
      MHD_OPTION_LISTEN_SOCKET, (MHD_socket)socket,
      // One more than the limit, so that the policy refuses a connection instead of leaving it
      // waiting.
      MHD_OPTION_CONNECTION_LIMIT, limits->connections + 1,
      MHD_OPTION_CONNECTION_TIMEOUT, limits->idle_seconds,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
      MHD_OPTION_NOTIFY_CONNECTION, connection_changed, listener,
      MHD_OPTION_URI_LOG_CALLBACK, request_began, listener,
      MHD_OPTION_NOTIFY_COMPLETED, request_ended, listener,
      // The services decide how to answer a request without Host.
      MHD_OPTION_STRICT_FOR_CLIENT, -1,
      MHD_OPTION_ARRAY, options, MHD_OPTION_END);
  listener->reason = NULL;
  if (listener->daemon) return listener;
  free(listener);
  return NULL;
}

int csandbox_descriptor(struct csandbox_listener *listener) {
  const union MHD_DaemonInfo *info =
      MHD_get_daemon_info(listener->daemon, MHD_DAEMON_INFO_EPOLL_FD);
  return info ? info->epoll_fd : -1;
}

int csandbox_run(struct csandbox_listener *listener) {
  MHD_run(listener->daemon);
  MHD_UNSIGNED_LONG_LONG milliseconds;
  if (MHD_get_timeout(listener->daemon, &milliseconds) != MHD_YES) return -1;
  return milliseconds < INT_MAX ? (int)milliseconds : INT_MAX;
}

void csandbox_stop(struct csandbox_listener *listener) {
  MHD_stop_daemon(listener->daemon);
  free(listener);
}
