#include "CCurl.h"

CURLcode credd_curl_set_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}

CURLcode credd_curl_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(easy, option, value);
}

CURLcode credd_curl_set_text(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}

CURLcode credd_curl_set_pointer(CURL *easy, CURLoption option, const void *value) {
  return curl_easy_setopt(easy, option, value);
}

CURLcode credd_curl_set_writer(CURL *easy, credd_curl_data_callback callback, void *context) {
  CURLcode result = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, callback);
  return result != CURLE_OK ? result : curl_easy_setopt(easy, CURLOPT_WRITEDATA, context);
}

CURLcode credd_curl_set_header_reader(CURL *easy, credd_curl_data_callback callback,
                                      void *context) {
  CURLcode result = curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, callback);
  return result != CURLE_OK ? result : curl_easy_setopt(easy, CURLOPT_HEADERDATA, context);
}

CURLcode credd_curl_status(CURL *easy, long *status) {
  return curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, status);
}

CURLcode credd_curl_verification(CURL *easy, long *result) {
  return curl_easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, result);
}

void *credd_curl_context(CURL *easy) {
  char *context = NULL;
  curl_easy_getinfo(easy, CURLINFO_PRIVATE, &context);
  return context;
}

CURLMcode credd_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

CURLMcode credd_curl_multi_set_sockets(CURLM *multi, credd_curl_socket_callback callback,
                                       void *context) {
  CURLMcode result = curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, callback);
  return result != CURLM_OK ? result : curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
}

CURLMcode credd_curl_multi_set_timer(CURLM *multi, credd_curl_timer_callback callback,
                                     void *context) {
  CURLMcode result = curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, callback);
  return result != CURLM_OK ? result : curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
}

CURLSH *credd_curl_share_tls_sessions(void) {
  CURLSH *share = curl_share_init();
  // One thread: no lock functions are needed.
  if (share) curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
  return share;
}

CURL *credd_curl_message_done(const CURLMsg *message, CURLcode *result) {
  if (message->msg != CURLMSG_DONE) return NULL;
  *result = message->data.result;
  return message->easy_handle;
}
