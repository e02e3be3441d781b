#include "common/net/download/post.h"

#include <algorithm>
#include <array>

#include "common/net/download/curl.h"
#include "common/net/download/download.h"

namespace longshore::download {
namespace {

struct Exchange {
  const std::function<bool()>& is_cancelled;
  size_t bytes_max;
  std::string body;
  bool is_too_long = false;
};

size_t OnAnswerPiece(char* bytes, size_t size, size_t count, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  exchange.is_too_long = size * count > exchange.bytes_max - exchange.body.size();
  if (exchange.is_too_long) return 0;
  exchange.body.append(bytes, size * count);
  return size * count;
}

int OnPostProgress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<Exchange*>(user)->is_cancelled() ? 1 : 0;
}

bool IsOneLine(const std::string& text) { return text.find_first_of(std::string_view("\r\n\0", 3)) == text.npos; }

}  // namespace

struct Poster::State {
  PostOptions options;
  std::unique_ptr<CURL, void (*)(CURL*)> curl{nullptr, curl_easy_cleanup};
  std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers{nullptr, curl_slist_free_all};

  void AddHeader(const std::string& name, const std::string& value) {
    const std::string line = value.empty() ? name + ";" : name + ": " + value;
    curl_slist* longer = curl_slist_append(headers.get(), line.c_str());
    CHECK(longer != nullptr);
    static_cast<void>(headers.release());
    headers.reset(longer);
  }
  void SetOptions() const {
    SetCommon(
        {.url = options.url, .ca_file = options.ca_file, .connect_max = options.connect_max, .protocols = "http,https"},
        curl.get());
    curl_easy_setopt(curl.get(), CURLOPT_POST, 1L);
    curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers.get());
    curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT_MS, static_cast<long>(options.time_max.count()));
    curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, OnAnswerPiece);
    curl_easy_setopt(curl.get(), CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl.get(), CURLOPT_XFERINFOFUNCTION, OnPostProgress);
  }
};

Poster::Poster(std::unique_ptr<State> state) : state_(std::move(state)) {}
Poster::Poster(Poster&&) noexcept = default;
Poster& Poster::operator=(Poster&&) noexcept = default;
Poster::~Poster() = default;

Result<Poster> Poster::Make(PostOptions options) {
  if (!options.url.starts_with("http://") && !options.url.starts_with("https://"))
    return FailedPrecondition("{}: the URL is not http:// or https://", ShownUrl(options.url));
  auto state = std::make_unique<State>();
  for (const auto& [name, value] : options.headers) {
    if (name.empty() || !IsOneLine(name) || !IsOneLine(value) || name.find_first_of(": \t") != name.npos)
      return FailedPrecondition("a header has a character that HTTP does not allow there");
    state->AddHeader(name, value);
  }
  state->options = std::move(options);
  state->curl = MakeHandle();
  if (!state->curl) return ResourceExhausted("{}: not enough memory for transfers", ShownUrl(state->options.url));
  state->SetOptions();
  return Poster(std::move(state));
}

Result<Answer> Poster::Post(const std::string& body, const std::function<bool()>& is_cancelled) {
  CURL* const curl = state_->curl.get();
  Exchange exchange{.is_cancelled = is_cancelled, .bytes_max = state_->options.answer_bytes_max, .body = {}};
  std::array<char, CURL_ERROR_SIZE> details{};
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, details.data());
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.data());
  curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &exchange);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &exchange);
  const CURLcode code = curl_easy_perform(curl);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, nullptr);
  const std::string url = ShownUrl(state_->options.url);
  if (exchange.is_too_long) return ResourceExhausted("{}: the answer has more than {} bytes", url, exchange.bytes_max);
  if (code != CURLE_OK)
    return Fail(CodeOf(code), "{}: {}", url, details[0] != '\0' ? details.data() : curl_easy_strerror(code));
  long status = 0;
  curl_off_t retry_after = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &retry_after);
  return Answer{.status = static_cast<int>(status),
                .body = std::move(exchange.body),
                .retry_after = std::chrono::seconds(std::max<curl_off_t>(0, retry_after))};
}

}  // namespace longshore::download
