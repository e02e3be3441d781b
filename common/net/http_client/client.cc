#include "common/net/http_client/client.h"

#include <cpprest/http_client.h>
#include <pplx/threadpool.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <list>
#include <mutex>

#include "common/base/lower_case.h"

namespace longshore::http_client {
namespace {

namespace client = web::http::client;
using concurrency::streams::container_buffer;

constexpr int kCancelledCode = 125;                    // ECANCELED: the code in exceptions of cancelled requests.
constexpr int kTimeoutCode = 110;                      // ETIMEDOUT.
constexpr size_t kPieceBytes = size_t{64} << 10;       // Maximum per read of a body.
constexpr size_t kUnreadBytesMax = size_t{256} << 20;  // A limit of our own, because the library buffers without one.

web::http::http_request ToLibrary(const Request& request) {
  web::http::http_request out(request.method);
  out.set_request_uri(request.target);
  for (const auto& [name, value] : request.headers) {
    if (name != "Content-Type") out.headers().add(name, value);
  }
  if (request.body.empty()) return out;
  const auto type = request.headers.find("Content-Type");
  out.set_body(request.body, type == request.headers.end() ? "application/json" : type->second);
  return out;
}

Response HeadOf(const web::http::http_response& response) {
  Response head{.status = response.status_code()};
  for (const auto& [name, value] : response.headers()) head.headers[LowerCase(name)] = value;
  return head;
}

// Returns the next received piece of the body, or "" at the end of the body. Throws if the connection ends before the
// body does.
std::string NextPiece(concurrency::streams::streambuf<uint8_t> body) {
  const int first = body.bumpc().get();  // Waits for one byte only: reading n bytes would wait for all n.
  if (first == concurrency::streams::char_traits<uint8_t>::eof()) return "";
  std::string piece(1, static_cast<char>(first));
  const size_t more = std::min(body.in_avail(), kPieceBytes);
  if (more == 0) return piece;
  piece.resize(1 + more);
  piece.resize(1 + body.getn(reinterpret_cast<uint8_t*>(piece.data() + 1), more).get());
  return piece;
}

bool IsSecure(const web::uri& uri) { return uri.scheme() == "https"; }

Status CheckUrl(const web::uri& uri, const std::string& url) {
  if ((uri.scheme() == "http" || IsSecure(uri)) && !uri.host().empty()) return {};
  return InvalidArgument("\"{}\" is not http://host:port or https://host:port", url);
}

class LibraryClient final : public Client {
 public:
  LibraryClient(const Options& options, const client::http_client_config& config)
      : options_(options), client_(options.base_url, config) {}

  // Passed to the TLS contexts of the client's connections.
  const tls::OnVerifyFailure* on_verify_failure() const { return &on_verify_failure_; }

  Result<Response> Send(const Request& request) override {
    return Guarded([&] { return SendOrThrow(request); });
  }
  Result<Response> Stream(const Request& request, const Receiver& receiver) override {
    return Guarded([&] { return StreamOrThrow(request, receiver); });
  }
  void Cancel() override {
    cancel_.cancel();
    const std::lock_guard lock(mutex_);
    for (const auto& stream : streams_) stream.cancel();
  }

  // Stores the error of the last handshake, because the library reports only that the handshake has failed.
  void SetTlsError(std::string error) {
    const std::lock_guard lock(mutex_);
    tls_error_ = std::move(error);
  }

 private:
  using CancelSource = pplx::cancellation_token_source;

  // During its lifetime, Cancel can cancel the request. Its destructor cancels the request if the body is not complete:
  // otherwise the library would download the rest of the body.
  class RequestScope {
   public:
    explicit RequestScope(LibraryClient& owner) : owner_(owner) {
      const std::lock_guard lock(owner_.mutex_);
      at_ = owner_.streams_.emplace(owner_.streams_.end());
      if (owner_.cancel_.get_token().is_canceled()) at_->cancel();
    }
    ~RequestScope() {
      if (!complete_) at_->cancel();
      const std::lock_guard lock(owner_.mutex_);
      owner_.streams_.erase(at_);
    }
    pplx::cancellation_token token() const { return at_->get_token(); }
    // Must be called when the body is complete. The connection can then be reused.
    void Complete() { complete_ = true; }

   private:
    bool complete_ = false;
    LibraryClient& owner_;
    std::list<CancelSource>::iterator at_;
  };

  // Calls the library and converts its exceptions to errors.
  template <typename Call>
  Result<Response> Guarded(Call call) {
    try {
      return call();
    } catch (const pplx::task_canceled&) {
      return Cancelled("{}: cancelled", options_.base_url);
    } catch (const web::http::http_exception& error) {
      const int code = error.error_code().value();
      if (code == kCancelledCode || cancel_.get_token().is_canceled())
        return Cancelled("{}: cancelled", options_.base_url);
      if (code == kTimeoutCode) {
        return Unavailable("{}: no answer for {} s", options_.base_url,
                           std::chrono::duration<double>(options_.idle_max).count());
      }
      return Unavailable("{}: {}{}", options_.base_url, error.what(), TlsError());
    } catch (const std::exception& error) {  // For example, if a certificate is malformed.
      return Unavailable("{}: {}{}", options_.base_url, error.what(), TlsError());
    }
  }

  std::string TlsError() {
    const std::lock_guard lock(mutex_);
    return tls_error_.empty() ? "" : ": " + tls_error_;
  }

  Result<Response> SendOrThrow(const Request& request) {
    RequestScope scope(*this);
    const auto response = client_.request(ToLibrary(request), scope.token()).get();
    Response out = HeadOf(response);
    RETURN_IF_ERROR(Collect(response, &out));
    scope.Complete();
    return out;
  }

  Status Collect(const web::http::http_response& response, Response* out) const {
    const auto body = response.body().streambuf();
    for (;;) {
      const std::string piece = NextPiece(body);
      if (piece.empty()) return {};
      out->body += piece;
      if (out->body.size() > options_.body_bytes_max) {
        return ResourceExhausted("{}: the answer is longer than {} bytes", options_.base_url, options_.body_bytes_max);
      }
    }
  }

  Result<Response> StreamOrThrow(const Request& request, const Receiver& receiver) {
    RequestScope scope(*this);
    const auto response = client_.request(ToLibrary(request), scope.token()).get();
    Response head = HeadOf(response);
    if (!receiver.on_head(head)) {
      RETURN_IF_ERROR(Collect(response, &head));
      scope.Complete();
      return head;
    }
    const auto body = response.body().streambuf();
    for (;;) {
      if (body.in_avail() > kUnreadBytesMax) {
        return ResourceExhausted("{}: {} received bytes of the answer were not consumed", options_.base_url,
                                 body.in_avail());
      }
      const std::string piece = NextPiece(body);
      if (piece.empty()) {
        scope.Complete();
        return head;
      }
      RETURN_IF_ERROR(receiver.on_piece(piece));
    }
  }

  const Options options_;
  const CancelSource cancel_;
  std::mutex mutex_;
  std::string tls_error_;  // Guarded by the mutex.
  const tls::OnVerifyFailure on_verify_failure_ = [this](const std::string& why) { SetTlsError(why); };
  std::list<CancelSource> streams_{};  // Guarded by the mutex.
  client::http_client client_;         // Last, so that it is destroyed first: its connections use the other members.
};

}  // namespace

void Init() {
  tls::Init();
  constexpr size_t kThreads = 4;  // The library's default is 40.
  crossplat::threadpool::initialize_with_threads(kThreads);
  // Without these settings, every connection would load all CAs of the system, although it needs none of them.
  setenv("SSL_CERT_FILE", "/dev/null", 1);
  setenv("SSL_CERT_DIR", "/nonexistent", 1);
}

Result<std::unique_ptr<Client>> Client::Make(const Options& options) try {
  tls::Init();  // Must precede the creation of the library's threads; needed here if the program has not called Init.
  const web::uri uri(options.base_url);
  RETURN_IF_ERROR(CheckUrl(uri, options.base_url));
  if (IsSecure(uri) && !options.tls) return InvalidArgument("\"{}\" needs a CA to verify the server", options.base_url);
  client::http_client_config config;
  config.set_timeout(options.idle_max);
  config.set_max_redirects(0);
  // `*made` is set below. The client outlives its connections, and therefore this callback.
  auto made = std::make_shared<LibraryClient*>(nullptr);
  config.set_ssl_context_callback([read = options.tls, made](boost::asio::ssl::context& context) {
    const auto identity = read();
    const Status used = identity ? tls::UseAsClient(*identity, context.native_handle(), (*made)->on_verify_failure())
                                 : Status(tl::make_unexpected(identity.error()));
    (*made)->SetTlsError(used ? "" : used.error().message);
    if (!used) throw std::runtime_error(used.error().message);
  });
  auto client = std::make_unique<LibraryClient>(options, config);
  *made = client.get();
  return std::unique_ptr<Client>(std::move(client));
} catch (const std::exception& error) {
  return InvalidArgument("\"{}\" is not a valid URL: {}", options.base_url, error.what());
}

Result<std::string> OriginOf(const std::string& url) try {
  const web::uri uri(url);
  RETURN_IF_ERROR(CheckUrl(uri, url));
  const int port = uri.port() > 0 ? uri.port() : IsSecure(uri) ? 443 : 80;
  return fmt::format("{}://{}:{}", uri.scheme(), LowerCase(uri.host()), port);
} catch (const std::exception& error) {
  return InvalidArgument("\"{}\" is not a valid URL: {}", url, error.what());
}

std::string Encode(std::string_view text) { return web::uri::encode_data_string(std::string(text)); }

}  // namespace longshore::http_client
