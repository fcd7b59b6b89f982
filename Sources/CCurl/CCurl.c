// libcurl calls curl_multi_socket_all() deprecated, because it takes long if there are many
// transfers. But only this function lets a transfer go on that waits for neither a time nor a
// socket: see credd_curl_multi_act_on_all(). CURLOPT_PROTOCOLS is the other one.
#define CURL_DISABLE_DEPRECATION
#include "CCurl.h"

#include <string.h>

#include "CLoad.h"

#define FUNCTIONS(X)                                                                              \
  X(global_init)                                                                                  \
  X(easy_init) X(easy_cleanup) X(easy_setopt) X(easy_getinfo) X(easy_strerror)                    \
  X(slist_append) X(slist_free_all)                                                               \
  X(multi_init) X(multi_cleanup) X(multi_setopt) X(multi_add_handle) X(multi_remove_handle)       \
  X(multi_socket_action) X(multi_socket_all) X(multi_info_read)                                   \
  X(multi_perform) X(multi_poll) X(multi_wakeup)                                                  \
  X(share_init) X(share_setopt) X(share_cleanup)

#define SONAME "libcurl.so.4"
CREDD_DLOPEN_NOTE("http", "Calls to token backends, Cognito and STS", "required", SONAME);

static struct {
#define X(name) __typeof__(curl_##name) *name;
  FUNCTIONS(X)
#undef X
} curl;

static const char *load(void) {
#define X(name) {"curl_" #name, &curl.name},
  static const struct credd_symbol symbols[] = {FUNCTIONS(X)};
#undef X
  const char *problem = credd_load(SONAME, symbols, sizeof symbols / sizeof *symbols);
  if (!problem && curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) problem = "it does not start";
  return problem;
}

int credd_curl_load(char *reason, size_t size) {
  static struct credd_once once = CREDD_ONCE;
  return credd_load_once(&once, load, reason, size);
}

CURL *credd_curl_easy(void) { return curl.easy_init(); }

void credd_curl_easy_end(CURL *easy) { curl.easy_cleanup(easy); }

CURLcode credd_curl_set_long(CURL *easy, CURLoption option, long value) {
  return curl.easy_setopt(easy, option, value);
}

CURLcode credd_curl_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
  return curl.easy_setopt(easy, option, value);
}

CURLcode credd_curl_set_text(CURL *easy, CURLoption option, const char *value) {
  return curl.easy_setopt(easy, option, value);
}

CURLcode credd_curl_set_pointer(CURL *easy, CURLoption option, const void *value) {
  return curl.easy_setopt(easy, option, value);
}

CURLcode credd_curl_set_writer(CURL *easy, credd_curl_data_callback callback, void *context) {
  CURLcode result = curl.easy_setopt(easy, CURLOPT_WRITEFUNCTION, callback);
  return result != CURLE_OK ? result : curl.easy_setopt(easy, CURLOPT_WRITEDATA, context);
}

CURLcode credd_curl_set_header_reader(CURL *easy, credd_curl_data_callback callback,
                                      void *context) {
  CURLcode result = curl.easy_setopt(easy, CURLOPT_HEADERFUNCTION, callback);
  return result != CURLE_OK ? result : curl.easy_setopt(easy, CURLOPT_HEADERDATA, context);
}

// What an older libcurl does not know, it has to do without.
static CURLcode if_known(CURLcode result) {
  return result == CURLE_UNKNOWN_OPTION ? CURLE_OK : result;
}

// Not CURLOPT_PROTOCOLS_STR, which RHEL 9's libcurl 7.76 does not know.
CURLcode credd_curl_allow_only_http(CURL *easy) {
  return curl.easy_setopt(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
}

CURLcode credd_curl_leave_resolver(CURL *easy) {
  return if_known(curl.easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L));
}

CURLcode credd_curl_status(CURL *easy, long *status) {
  return curl.easy_getinfo(easy, CURLINFO_RESPONSE_CODE, status);
}

int credd_curl_peer(CURL *easy, const char **address, long *port) {
  return curl.easy_getinfo(easy, CURLINFO_PRIMARY_IP, address) == CURLE_OK &&
         curl.easy_getinfo(easy, CURLINFO_PRIMARY_PORT, port) == CURLE_OK && *address && **address;
}

const char *credd_curl_certificate(CURL *easy, const char *field) {
  struct curl_certinfo *info = NULL;
  if (curl.easy_getinfo(easy, CURLINFO_CERTINFO, &info) != CURLE_OK) return NULL;
  if (!info || info->num_of_certs < 1) return NULL;
  size_t length = strlen(field);
  for (struct curl_slist *line = info->certinfo[0]; line; line = line->next)
    if (!strncmp(line->data, field, length) && line->data[length] == ':')
      return line->data + length + 1;
  return NULL;
}

CURLcode credd_curl_set_narrator(CURL *easy, curl_debug_callback callback, void *context) {
  CURLcode result = curl.easy_setopt(easy, CURLOPT_DEBUGFUNCTION, callback);
  if (result == CURLE_OK) result = curl.easy_setopt(easy, CURLOPT_DEBUGDATA, context);
  return result != CURLE_OK ? result : curl.easy_setopt(easy, CURLOPT_VERBOSE, 1L);
}

CURLcode credd_curl_set_connect_callbacks(CURL *easy, curl_sockopt_callback begins,
                                          curl_prereq_callback ends, void *context) {
  CURLcode result = curl.easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, begins);
  if (result == CURLE_OK) result = curl.easy_setopt(easy, CURLOPT_SOCKOPTDATA, context);
  if (result == CURLE_OK) result = if_known(curl.easy_setopt(easy, CURLOPT_PREREQFUNCTION, ends));
  return result != CURLE_OK ? result
                            : if_known(curl.easy_setopt(easy, CURLOPT_PREREQDATA, context));
}

long credd_curl_number(CURL *easy, CURLINFO info) {
  long number = 0;
  return curl.easy_getinfo(easy, info, &number) == CURLE_OK ? number : 0;
}

int credd_curl_lacks_connection(CURL *easy) {
  double found = 0, connected = 0;
  return curl.easy_getinfo(easy, CURLINFO_NAMELOOKUP_TIME, &found) == CURLE_OK && found > 0 &&
         curl.easy_getinfo(easy, CURLINFO_CONNECT_TIME, &connected) == CURLE_OK && connected == 0;
}

const char *credd_curl_words(CURLcode result) { return curl.easy_strerror(result); }

CURLcode credd_curl_set_error_text(CURL *easy, char *text) {
  return curl.easy_setopt(easy, CURLOPT_ERRORBUFFER, text);
}

struct curl_slist *credd_curl_list_append(struct curl_slist *list, const char *line) {
  return curl.slist_append(list, line);
}

void credd_curl_list_free(struct curl_slist *list) { curl.slist_free_all(list); }

CURLM *credd_curl_multi(void) { return curl.multi_init(); }

void credd_curl_multi_end(CURLM *multi) { curl.multi_cleanup(multi); }

CURLMcode credd_curl_multi_add(CURLM *multi, CURL *easy) {
  return curl.multi_add_handle(multi, easy);
}

void credd_curl_multi_remove(CURLM *multi, CURL *easy) { curl.multi_remove_handle(multi, easy); }

void credd_curl_multi_act(CURLM *multi, curl_socket_t socket, int action) {
  int running;
  curl.multi_socket_action(multi, socket, action, &running);
}

void credd_curl_multi_act_on_all(CURLM *multi) {
  int running;
  curl.multi_socket_all(multi, &running);
}

void credd_curl_multi_perform(CURLM *multi) {
  int running;
  curl.multi_perform(multi, &running);
}

void credd_curl_multi_wait(CURLM *multi, int milliseconds) {
  curl.multi_poll(multi, NULL, 0, milliseconds, NULL);
}

void credd_curl_multi_wake(CURLM *multi) { curl.multi_wakeup(multi); }

CURLMcode credd_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl.multi_setopt(multi, option, value);
}

CURLMcode credd_curl_multi_set_sockets(CURLM *multi, credd_curl_socket_callback callback,
                                       void *context) {
  CURLMcode result = curl.multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, callback);
  return result != CURLM_OK ? result : curl.multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
}

CURLMcode credd_curl_multi_set_timer(CURLM *multi, credd_curl_timer_callback callback,
                                     void *context) {
  CURLMcode result = curl.multi_setopt(multi, CURLMOPT_TIMERFUNCTION, callback);
  return result != CURLM_OK ? result : curl.multi_setopt(multi, CURLMOPT_TIMERDATA, context);
}

CURL *credd_curl_multi_done(CURLM *multi, CURLcode *result) {
  int left;
  for (CURLMsg *message; (message = curl.multi_info_read(multi, &left));) {
    if (message->msg != CURLMSG_DONE) continue;
    *result = message->data.result;
    return message->easy_handle;
  }
  return NULL;
}

CURLSH *credd_curl_share_tls_sessions(void) {
  CURLSH *share = curl.share_init();
  // Only one thread uses it, so it needs no lock functions.
  if (share) curl.share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
  return share;
}

void credd_curl_share_end(CURLSH *share) { curl.share_cleanup(share); }
