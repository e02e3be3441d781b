#include "common/net/http/response_head.h"

#include <boost/beast/http/status.hpp>
#include <initializer_list>
#include <string_view>

namespace longshore::http {
namespace {

void Append(std::initializer_list<std::string_view> parts, std::string* text) {
  for (const std::string_view part : parts) text->append(part);
}

}  // namespace

// Every answer needs a head, and fmt would take several times as long.
std::string ResponseHead(const Response& response, bool keep_alive) {
  namespace http = boost::beast::http;
  constexpr size_t kUsualBytesMax = 256;
  const auto reason = http::obsolete_reason(http::int_to_status(static_cast<unsigned>(response.status)));
  std::string head;
  head.reserve(kUsualBytesMax);
  Append({"HTTP/1.1 ",
          std::to_string(response.status),
          " ",
          {reason.data(), reason.size()},
          "\r\nContent-Type: ",
          response.content_type,
          "\r\n"},
         &head);
  for (const auto& [name, value] : response.headers) Append({name, ": ", value, "\r\n"}, &head);
  if (!keep_alive) head += "Connection: close\r\n";
  // In a 304, it would be the length of the text that the client has already (RFC 9110, section 8.6).
  if (response.status != 304) Append({"Content-Length: ", std::to_string(response.body.size()), "\r\n"}, &head);
  head += "\r\n";
  return head;
}

}  // namespace longshore::http
