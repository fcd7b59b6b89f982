// libcurl's setters are variadic, which Swift cannot call: one typed shim for each kind of value.
#pragma once

#include <curl/curl.h>

typedef size_t (*credd_curl_data_callback)(char *data, size_t size, size_t count, void *context);
typedef int (*credd_curl_socket_callback)(CURL *easy, curl_socket_t socket, int what,
                                          void *context, void *socket_context);
typedef int (*credd_curl_timer_callback)(CURLM *multi, long milliseconds, void *context);

CURLcode credd_curl_set_long(CURL *easy, CURLoption option, long value);
CURLcode credd_curl_set_offset(CURL *easy, CURLoption option, curl_off_t value);
CURLcode credd_curl_set_text(CURL *easy, CURLoption option, const char *value);
CURLcode credd_curl_set_pointer(CURL *easy, CURLoption option, const void *value);
CURLcode credd_curl_set_writer(CURL *easy, credd_curl_data_callback callback, void *context);
CURLcode credd_curl_set_header_reader(CURL *easy, credd_curl_data_callback callback, void *context);
CURLcode credd_curl_status(CURL *easy, long *status);
CURLcode credd_curl_verification(CURL *easy, long *result);
void *credd_curl_context(CURL *easy);

CURLMcode credd_curl_multi_set_long(CURLM *multi, CURLMoption option, long value);
CURLMcode credd_curl_multi_set_sockets(CURLM *multi, credd_curl_socket_callback callback,
                                       void *context);
CURLMcode credd_curl_multi_set_timer(CURLM *multi, credd_curl_timer_callback callback,
                                     void *context);
// One cache of TLS sessions for all transfers, so that a new connection resumes.
CURLSH *credd_curl_share_tls_sessions(void);
// The transfer and its result if `message` says that one is done, else NULL.
CURL *credd_curl_message_done(const CURLMsg *message, CURLcode *result);
