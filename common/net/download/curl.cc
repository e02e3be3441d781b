#include "common/net/download/curl.h"

#include <fcntl.h>

#include "common/net/tls/identity.h"

namespace longshore::download {
namespace {

void Init() {
  static const bool done = [] {
    tls::Init();
    return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  }();
  CHECK(done);
}

// Processes that the program starts during a transfer must not inherit its sockets.
int OnSocket(void*, curl_socket_t socket, curlsocktype) {
  fcntl(socket, F_SETFD, FD_CLOEXEC);
  return CURL_SOCKOPT_OK;
}

bool IsTls(CURLcode code) {
  switch (code) {
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS: return true;
    default: return false;
  }
}

}  // namespace

std::unique_ptr<CURL, void (*)(CURL*)> MakeHandle() {
  Init();
  return {curl_easy_init(), curl_easy_cleanup};
}

void SetCommon(const Common& common, CURL* curl) {
  curl_easy_setopt(curl, CURLOPT_URL, common.url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, common.protocols);
  curl_easy_setopt(curl, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(common.connect_max.count()));
  curl_easy_setopt(curl, CURLOPT_SOCKOPTFUNCTION, OnSocket);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "longshore-node");
  if (common.ca_file.empty()) return;
  curl_easy_setopt(curl, CURLOPT_CAINFO, common.ca_file.c_str());
  curl_easy_setopt(curl, CURLOPT_CAPATH, nullptr);
}

Code CodeOf(CURLcode code) {
  if (IsTls(code)) return Code::kUnauthenticated;
  switch (code) {
    case CURLE_URL_MALFORMAT: return Code::kInvalidArgument;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_TOO_MANY_REDIRECTS:
    case CURLE_SSL_CACERT_BADFILE: return Code::kFailedPrecondition;
    case CURLE_ABORTED_BY_CALLBACK: return Code::kCancelled;
    default: return Code::kUnavailable;
  }
}

}  // namespace longshore::download
