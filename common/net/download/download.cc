#include "common/net/download/download.h"

#include <array>

#include "common/net/download/curl.h"

namespace longshore::download {
namespace {

constexpr long kOk = 200;
constexpr long kPartialContent = 206;

// The state that the callbacks of one transfer share.
struct Transfer {
  const Request& request;
  const Receiver& receiver;
  CURL* curl;
  bool begun = false;
  int64_t received = 0;  // Bytes of the whole body, including those before Request::from.
  Status status{};       // The error of a callback that ended the transfer.

  long code() const {
    long code = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &code);
    return code;
  }
};

tl::unexpected<Error> TooLarge(const Request& request) {
  return ResourceExhausted("{} exceeds the limit of {} bytes", ShownUrl(request.url), request.bytes_max);
}

Status Begin(Transfer& transfer) {
  transfer.begun = true;
  transfer.received = transfer.code() == kPartialContent ? transfer.request.from : 0;
  curl_off_t left = -1;
  curl_easy_getinfo(transfer.curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &left);
  std::optional<int64_t> total;
  if (left >= 0) total = transfer.received + left;
  if (total.value_or(0) > transfer.request.bytes_max) return TooLarge(transfer.request);
  return transfer.receiver.on_begin(transfer.received, total);
}

Status Take(Transfer& transfer, std::string_view piece) {
  if (!transfer.begun) RETURN_IF_ERROR(Begin(transfer));
  transfer.received += static_cast<int64_t>(piece.size());
  if (transfer.received > transfer.request.bytes_max) return TooLarge(transfer.request);
  return transfer.receiver.on_piece(piece);
}

size_t OnPiece(char* bytes, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const long code = transfer.code();
  if (code != kOk && code != kPartialContent) return 0;  // Ignore the body of an error response.
  transfer.status = Take(transfer, {bytes, size * count});
  return transfer.status ? size * count : 0;
}

int OnProgress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const auto& transfer = *static_cast<Transfer*>(user);
  return transfer.receiver.is_cancelled && transfer.receiver.is_cancelled() ? 1 : 0;
}

Code CodeOfStatus(long http) {
  switch (http) {
    case 401:
    case 403: return Code::kPermissionDenied;
    case 404:
    case 410: return Code::kNotFound;
    case 416: return Code::kOutOfRange;
    default: return Code::kUnavailable;
  }
}

Status Outcome(Transfer& transfer, CURLcode code, const char* details) {
  if (!transfer.status) return transfer.status;
  const std::string url = ShownUrl(transfer.request.url);
  const long http = transfer.code();
  const bool answered = code == CURLE_OK || code == CURLE_WRITE_ERROR;
  if (answered && http != kOk && http != kPartialContent)
    return Fail(CodeOfStatus(http), "{}: the host answers {}", url, http);
  if (code != CURLE_OK) return Fail(CodeOf(code), "{}: {}", url, *details != '\0' ? details : curl_easy_strerror(code));
  return transfer.begun ? Status() : Begin(transfer);  // An empty body: OnPiece was not called.
}

void SetOptions(const Request& request, CURL* curl) {
  SetCommon({.url = request.url, .ca_file = request.ca_file, .connect_max = request.connect_max, .protocols = "https"},
            curl);
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "https");
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, static_cast<long>(request.redirects_max));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, static_cast<long>(request.bytes_per_second_min));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, static_cast<long>(request.slow_max.count()));
  if (request.from > 0) curl_easy_setopt(curl, CURLOPT_RANGE, fmt::format("{}-", request.from).c_str());
}

}  // namespace

Status Get(const Request& request, const Receiver& receiver) {
  const auto curl = MakeHandle();
  if (!curl) return ResourceExhausted("{}: not enough memory for a transfer", ShownUrl(request.url));
  Transfer transfer{request, receiver, curl.get()};
  std::array<char, CURL_ERROR_SIZE> details{};
  SetOptions(request, curl.get());
  curl_easy_setopt(curl.get(), CURLOPT_ERRORBUFFER, details.data());
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, OnPiece);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl.get(), CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl.get(), CURLOPT_XFERINFOFUNCTION, OnProgress);
  curl_easy_setopt(curl.get(), CURLOPT_XFERINFODATA, &transfer);
  const CURLcode code = curl_easy_perform(curl.get());
  return Outcome(transfer, code, details.data());
}

std::string ShownUrl(std::string_view url) {
  url = url.substr(0, url.find_first_of("?#"));
  const size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return std::string(url);
  const std::string_view rest = url.substr(scheme + 3);
  const size_t user = rest.substr(0, rest.find('/')).rfind('@');
  return std::string(url.substr(0, scheme + 3)) +
         std::string(user == std::string_view::npos ? rest : rest.substr(user + 1));
}

}  // namespace longshore::download
