// refresher: the yardstick for renewing many sessions. It does the least that a libcurl program can
// do: for each user a token callback, then GetCredentialsForIdentity with the reply. It serves
// AT-A-TIME users at once, on one multi handle that keeps its connections.
//
//   refresher URL POOL PROVIDER FIRST-UID USERS AT-A-TIME
//
// Prints a JSON object; any unexpected reply ends the program.
#define _GNU_SOURCE
#include "yardstick.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <sys/resource.h>

enum { MAX_AT_A_TIME = 1024, MAX_BODY = 16 * 1024, POLL_MS = 1000 };

enum step { TOKEN_CALLBACK, CREDENTIALS };

struct session {
  CURL *handle;
  enum step step;
  size_t held;
  char url[256], request[MAX_BODY], reply[MAX_BODY];
};

static const char *base_url, *pool, *provider;
static long next_user, last_user, renewed;
static CURLM *multi;
static struct curl_slist *callback_headers, *cognito_headers;

static void give_up(const char *what, const char *why) {
  fprintf(stderr, "refresher: %s: %s\n", what, why);
  exit(EXIT_UNAVAILABLE);
}

static size_t keep(char *bytes, size_t size, size_t count, void *context) {
  struct session *session = context;
  size_t length = size * count;
  if (session->held + length >= sizeof session->reply)
    return 0;
  memcpy(session->reply + session->held, bytes, length);
  session->held += length;
  session->reply[session->held] = '\0';
  return length;
}

/// The value of a string member that occurs once; here it has no escapes.
static bool find(const char *json, const char *name, char *value, size_t size) {
  char key[64];
  snprintf(key, sizeof key, "\"%s\":\"", name);
  const char *begin = strstr(json, key), *end;
  if (!begin)
    return false;
  begin += strlen(key);
  if (!(end = strchr(begin, '"')) || (size_t)(end - begin) >= size)
    return false;
  memcpy(value, begin, (size_t)(end - begin));
  value[end - begin] = '\0';
  return true;
}

static void send_request(struct session *session, const char *path, struct curl_slist *headers) {
  snprintf(session->url, sizeof session->url, "%s%s", base_url, path);
  session->held = 0;
  curl_easy_setopt(session->handle, CURLOPT_URL, session->url);
  curl_easy_setopt(session->handle, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(session->handle, CURLOPT_POSTFIELDS, session->request);
  curl_easy_setopt(session->handle, CURLOPT_POSTFIELDSIZE, (long)strlen(session->request));
  if (curl_multi_add_handle(multi, session->handle) != CURLM_OK)
    give_up("curl_multi_add_handle", session->url);
}

static bool begin(struct session *session) {
  if (next_user == last_user)
    return false;
  session->step = TOKEN_CALLBACK;
  snprintf(session->request, sizeof session->request,
           "{\"IdentityPoolId\":\"%s\",\"DeveloperProviderName\":\"%s\","
           "\"DeveloperUserIdentifier\":\"%ld\"}",
           pool, provider, next_user++);
  send_request(session, "/token", callback_headers);
  return true;
}

static void ask_for_credentials(struct session *session) {
  char identity[256], token[MAX_BODY / 2];
  if (!find(session->reply, "IdentityId", identity, sizeof identity) ||
      !find(session->reply, "Token", token, sizeof token))
    give_up("token callback", session->reply);
  session->step = CREDENTIALS;
  snprintf(session->request, sizeof session->request,
           "{\"IdentityId\":\"%s\",\"Logins\":{\"cognito-identity.amazonaws.com\":\"%s\"}}",
           identity, token);
  send_request(session, "/", cognito_headers);
}

/// Handles a reply and starts the next call. False: this place has no user left.
static bool go_on(struct session *session, CURLcode result) {
  long status = 0;
  curl_easy_getinfo(session->handle, CURLINFO_RESPONSE_CODE, &status);
  if (result != CURLE_OK || status != 200)
    give_up(session->url, result == CURLE_OK ? session->reply : curl_easy_strerror(result));
  curl_multi_remove_handle(multi, session->handle);
  if (session->step == TOKEN_CALLBACK) {
    ask_for_credentials(session);
    return true;
  }
  char secret[256];
  if (!find(session->reply, "SecretKey", secret, sizeof secret))
    give_up("GetCredentialsForIdentity", session->reply);
  renewed++;
  return begin(session);
}

static void run(struct session *sessions, long at_a_time) {
  long open = 0;
  for (long i = 0; i < at_a_time; i++) {
    CURL *handle = sessions[i].handle = curl_easy_init();
    curl_easy_setopt(handle, CURLOPT_PRIVATE, &sessions[i]);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, keep);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &sessions[i]);
    open += begin(&sessions[i]);
  }
  for (int running; open > 0;) {
    if (curl_multi_perform(multi, &running) != CURLM_OK)
      give_up("curl_multi_perform", base_url);
    int left;
    bool some = false;
    for (CURLMsg *message; (message = curl_multi_info_read(multi, &left)) != NULL;) {
      struct session *session;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&session);
      open -= !go_on(session, message->data.result);
      some = true;
    }
    if (!some && curl_multi_poll(multi, NULL, 0, POLL_MS, NULL) != CURLM_OK)
      give_up("curl_multi_poll", base_url);
  }
}

static double processor_seconds(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

int main(int count, char **words) {
  long users = count == 7 ? strtol(words[5], NULL, 10) : 0;
  long at_a_time = count == 7 ? strtol(words[6], NULL, 10) : 0;
  if (users < 1 || at_a_time < 1 || at_a_time > MAX_AT_A_TIME) {
    fprintf(stderr, "usage: refresher URL POOL PROVIDER FIRST-UID USERS AT-A-TIME\n");
    return EXIT_USAGE;
  }
  base_url = words[1], pool = words[2], provider = words[3];
  next_user = strtol(words[4], NULL, 10);
  last_user = next_user + users;
  curl_global_init(CURL_GLOBAL_DEFAULT);
  multi = curl_multi_init();
  callback_headers = curl_slist_append(NULL, "Content-Type: application/json");
  cognito_headers = curl_slist_append(NULL, "Content-Type: application/x-amz-json-1.1");
  cognito_headers = curl_slist_append(
      cognito_headers, "X-Amz-Target: AWSCognitoIdentityService.GetCredentialsForIdentity");
  struct session *sessions = calloc((size_t)at_a_time, sizeof *sessions);
  if (!multi || !cognito_headers || !sessions)
    FAIL(EXIT_SYSTEM, "malloc");
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, at_a_time);

  uint64_t start = now_ns();
  run(sessions, at_a_time);
  double seconds = (double)(now_ns() - start) / 1e9;
  printf("{\"requests\":%ld,\"seconds\":%.3f,\"requests_per_second\":%.1f,\"cpu_seconds\":%.3f}\n",
         renewed, seconds, (double)renewed / seconds, processor_seconds());
  for (long i = 0; i < at_a_time; i++)
    curl_easy_cleanup(sessions[i].handle);
  curl_multi_cleanup(multi);
  curl_slist_free_all(callback_headers);
  curl_slist_free_all(cognito_headers);
  free(sessions);
  return 0;
}
