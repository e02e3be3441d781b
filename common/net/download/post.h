// Sends bodies to one address by POST, over http or https.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/base/path.h"

namespace longshore::download {

struct PostOptions {
  std::string url;  // http or https. Redirects are not followed.
  std::vector<std::pair<std::string, std::string>> headers{};
  Path ca_file{};  // PEM: the only CAs that may sign the host's certificate; empty: the system's CAs.
  std::chrono::milliseconds connect_max{5'000};
  std::chrono::milliseconds time_max{10'000};  // For one transfer, from the connection to the end of the answer.
  size_t answer_bytes_max = size_t{64} << 10;
};

struct Answer {
  int status = 0;
  std::string body{};
  std::chrono::seconds retry_after{0};  // From the header Retry-After; 0 if the answer has no such header.
};

// Keeps its connection for the next body. Not thread-safe.
class Poster {
 public:
  // FailedPrecondition if the URL is not http or https, or if a header has a line break, which would add a second
  // header.
  static Result<Poster> Make(PostOptions options);
  Poster(Poster&&) noexcept;
  Poster& operator=(Poster&&) noexcept;
  ~Poster();

  // Blocks until the answer is complete, and returns it whatever its status is. Uses the proxies of the environment.
  // The message of an error contains the result of ShownUrl, but no header and no body. Returns Unavailable if the host
  // does not answer, Unauthenticated if TLS fails, ResourceExhausted if the answer is too long, and Cancelled if
  // `is_cancelled` returned true, which is called about once a second.
  Result<Answer> Post(const std::string& body, const std::function<bool()>& is_cancelled);

 private:
  struct State;
  explicit Poster(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace longshore::download
