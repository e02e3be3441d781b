// One large body over https, piece by piece. The only folder that sees libcurl.
//
//   const Status got = download::Get({.url = "https://host/models.tar", .bytes_max = 1 << 30}, receiver);
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "common/error.h"
#include "common/file.h"

namespace longshore::download {

struct Request {
  std::string url;   // https only; so is whatever it redirects to.
  Path ca_file{};    // PEM of who signs the host's certificate, and nobody else; empty: those of the system.
  int64_t from = 0;  // Bytes that are there already: asks for the rest.
  int64_t bytes_max = int64_t{1} << 40;  // Of the whole body.
  int redirects_max = 5;
  std::chrono::milliseconds connect_max{15'000};
  // Fails when fewer than speed_min bytes per second came for so long.
  std::chrono::seconds silence_max{30};
  int64_t speed_min = 1024;
};

// All called on the thread that called Get.
struct Receiver {
  // The body begins. `from`: its place in the whole, 0 when the host sends all of it again; `total`: bytes of the
  // whole, where the host says so.
  std::function<Status(int64_t from, std::optional<int64_t> total)> on_begin;
  std::function<Status(std::string_view piece)> on_piece;  // Waits as long as it likes: so does the host.
  std::function<bool()> is_cancelled;                      // Asked now and then, about once a second at least.
};

// Waits for the end of the body. Proxies are those of the environment (https_proxy, no_proxy). Errors name the URL
// (ShownUrl):
//   NotFound, PermissionDenied       the host answers 404 or 410, 401 or 403
//   Unavailable                      any other answer, no connection, no such host, too slow, the connection was cut
//   Unauthenticated                  TLS: the certificate is not signed by whom it should be, is of another host, ...
//   OutOfRange                       the host has no bytes from `from` on
//   ResourceExhausted                more than bytes_max
//   InvalidArgument                  no URL
//   FailedPrecondition               not https, also after a redirect; too many redirects; a CA file that is none
//   Cancelled; or what on_begin or on_piece returned.
Status Get(const Request& request, const Receiver& receiver);

// For messages: without user, password, query and fragment, which may be secrets.
std::string ShownUrl(std::string_view url);

}  // namespace longshore::download
