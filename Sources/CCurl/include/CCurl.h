// libcurl, loaded before the first request. Its setters are variadic, and Swift cannot call
// variadic functions, so there is one typed shim for each kind of value.
#pragma once

#include <curl/curl.h>

// Loads libcurl once for the whole process. Any thread may call this. It takes some 10 ms, because
// libcurl needs 30 libraries. Call it before any function below.
//
// 0, or -1 with the dynamic linker's message in `reason`.
int credd_curl_load(char *reason, size_t size);

typedef size_t (*credd_curl_data_callback)(char *data, size_t size, size_t count, void *context);
typedef int (*credd_curl_socket_callback)(CURL *easy, curl_socket_t socket, int what,
                                          void *context, void *socket_context);
typedef int (*credd_curl_timer_callback)(CURLM *multi, long milliseconds, void *context);

CURL *credd_curl_easy(void);
void credd_curl_easy_end(CURL *easy);
CURLcode credd_curl_set_long(CURL *easy, CURLoption option, long value);
CURLcode credd_curl_set_offset(CURL *easy, CURLoption option, curl_off_t value);
CURLcode credd_curl_set_text(CURL *easy, CURLoption option, const char *value);
CURLcode credd_curl_set_pointer(CURL *easy, CURLoption option, const void *value);
CURLcode credd_curl_set_writer(CURL *easy, credd_curl_data_callback callback, void *context);
CURLcode credd_curl_set_header_reader(CURL *easy, credd_curl_data_callback callback, void *context);
CURLcode credd_curl_status(CURL *easy, long *status);
// The numeric address and the port of the server of a transfer that has ended; 0 if there is none.
int credd_curl_peer(CURL *easy, const char **address, long *port);
// Refuses every scheme but http and https.
CURLcode credd_curl_allow_only_http(CURL *easy);
// If a name server does not answer, libcurl would otherwise wait at the deadline for its resolver
// thread, and the loop would block. Before 7.87 libcurl cannot do without: the loop then blocks for
// as long as the host's resolver waits.
CURLcode credd_curl_leave_resolver(CURL *easy);
// A field of the certificate that the server showed, such as "Subject", if CURLOPT_CERTINFO was set
// and the certificate is trusted; else NULL. It lives as long as the handle.
const char *credd_curl_certificate(CURL *easy, const char *field);
// Makes libcurl report what it does, including headers and bodies, which the callback must drop.
CURLcode credd_curl_set_narrator(CURL *easy, curl_debug_callback callback, void *context);
// `begins` is called for each socket before it connects. `ends` is called when the connection is
// established, including TLS, or when a kept connection is used; before libcurl 7.80 never.
CURLcode credd_curl_set_connect_callbacks(CURL *easy, curl_sockopt_callback begins,
                                          curl_prereq_callback ends, void *context);
// A number that a transfer has: 0 if there is none, or if this libcurl does not know it.
long credd_curl_number(CURL *easy, CURLINFO info);
// Whether the transfer knew the address of the server, or of its proxy, and got no connection.
int credd_curl_lacks_connection(CURL *easy);
// libcurl's text for a result, which is the same for all transfers.
const char *credd_curl_words(CURLcode result);
// Sets the memory for libcurl's error text: CURL_ERROR_SIZE bytes that must outlive the handle.
CURLcode credd_curl_set_error_text(CURL *easy, char *text);

struct curl_slist *credd_curl_list_append(struct curl_slist *list, const char *line);
void credd_curl_list_free(struct curl_slist *list);

CURLM *credd_curl_multi(void);
void credd_curl_multi_end(CURLM *multi);
CURLMcode credd_curl_multi_add(CURLM *multi, CURL *easy);
void credd_curl_multi_remove(CURLM *multi, CURL *easy);
void credd_curl_multi_act(CURLM *multi, curl_socket_t socket, int action);
// Lets all transfers go on, whatever they wait for. When a transfer has given up an address, it
// opens the socket of the next one only when it is called once more. But it does not ask for such a
// call before its deadline (https://github.com/curl/curl/issues/11920): curl_multi_socket_action()
// skips such a transfer.
void credd_curl_multi_act_on_all(CURLM *multi);
// For a thread that does nothing else, without callbacks: lets all transfers go on; waits until one of
// them can go on, for that time or until the third function is called; any thread may call that one.
void credd_curl_multi_perform(CURLM *multi);
void credd_curl_multi_wait(CURLM *multi, int milliseconds);
void credd_curl_multi_wake(CURLM *multi);
CURLMcode credd_curl_multi_set_long(CURLM *multi, CURLMoption option, long value);
CURLMcode credd_curl_multi_set_sockets(CURLM *multi, credd_curl_socket_callback callback,
                                       void *context);
CURLMcode credd_curl_multi_set_timer(CURLM *multi, credd_curl_timer_callback callback,
                                     void *context);
// The next finished transfer with its result, or NULL.
CURL *credd_curl_multi_done(CURLM *multi, CURLcode *result);

// One cache of TLS sessions for all transfers, so that a new connection resumes a session.
CURLSH *credd_curl_share_tls_sessions(void);
void credd_curl_share_end(CURLSH *share);
