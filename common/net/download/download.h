// Downloads one large body over https, piece by piece. Only this folder uses libcurl.
//
//   const Status got = download::Get({.url = "https://host/models.tar", .bytes_max = 1 << 30}, receiver);
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/base/path.h"

namespace longshore::download {

struct Request {
  std::string url;   // Must be https, also after redirects.
  Path ca_file{};    // PEM: the only CAs that may sign the host's certificate; empty: the system's CAs.
  int64_t from = 0;  // The number of bytes that the caller has already; only the rest is requested.
  int64_t bytes_max = int64_t{1} << 40;  // Limit of the whole body.
  int redirects_max = 5;
  std::chrono::milliseconds connect_max{15'000};
  // The download fails if it is slower than bytes_per_second_min for longer than slow_max.
  std::chrono::seconds slow_max{30};
  int64_t bytes_per_second_min = 1024;
};

// The callbacks of Get. All are called on the thread that called Get.
struct Receiver {
  // Called before the first piece. `from` is the offset of the first byte: 0 if the host sends the whole body again.
  // `total` is the size of the whole body, if the host reports it.
  std::function<Status(int64_t from, std::optional<int64_t> total)> on_begin;
  std::function<Status(std::string_view piece)> on_piece;  // May block: the host cannot send more until it returns.
  std::function<bool()> is_cancelled;                      // Called at least about once a second.
};

// Blocks until the end of the body. Uses the proxies of the environment (https_proxy, no_proxy). Errors contain
// ShownUrl(url):
//   NotFound             the host answers 404 or 410
//   PermissionDenied     the host answers 401 or 403
//   OutOfRange           the host has no bytes from `from` on
//   Unavailable          any other answer, unknown host, no connection, too slow, connection lost
//   Unauthenticated      TLS: wrong signer of the certificate, wrong host name and so on
//   ResourceExhausted    the body has more than bytes_max bytes
//   InvalidArgument      the URL is not valid
//   FailedPrecondition   not https, also after a redirect; too many redirects; unusable CA file
//   Cancelled            is_cancelled returned true
// An error of on_begin or on_piece is returned as it is.
Status Get(const Request& request, const Receiver& receiver);

// Returns the URL in a form for messages: without user, password, query and fragment, which may be secrets.
std::string ShownUrl(std::string_view url);

}  // namespace longshore::download
