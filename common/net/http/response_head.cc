#include "common/net/http/response_head.h"

#include <fmt/format.h>

#include <boost/beast/http/status.hpp>
#include <iterator>
#include <string_view>

namespace longshore::http {

std::string ResponseHead(const Response& response, bool keep_alive) {
  namespace http = boost::beast::http;
  const auto reason = http::obsolete_reason(http::int_to_status(static_cast<unsigned>(response.status)));
  std::string head;
  const auto out = std::back_inserter(head);
  fmt::format_to(out, "HTTP/1.1 {} {}\r\nContent-Type: {}\r\n", response.status,
                 std::string_view(reason.data(), reason.size()), response.content_type);
  for (const auto& [name, value] : response.headers) fmt::format_to(out, "{}: {}\r\n", name, value);
  fmt::format_to(out, "{}Content-Length: {}\r\n\r\n", keep_alive ? "" : "Connection: close\r\n", response.body.size());
  return head;
}

}  // namespace longshore::http
