#include "common/http_client/client.h"

#include <cpprest/http_client.h>
#include <pplx/threadpool.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <list>
#include <mutex>

namespace longshore::http_client {
namespace {

namespace client = web::http::client;
using concurrency::streams::container_buffer;

constexpr int kCancelledCode = 125;                    // Of the exceptions of a request that was cancelled (ECANCELED).
constexpr int kTimeoutCode = 110;                      // ETIMEDOUT.
constexpr size_t kPieceBytes = size_t{64} << 10;       // Of a body, at once.
constexpr size_t kUnreadBytesMax = size_t{256} << 20;  // The library reads on whether or not its reader does.

std::string LowerCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

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

// The body of an answer, in pieces as they come; "" at its end. The library throws where the connection ends before.
std::string NextPiece(concurrency::streams::streambuf<uint8_t> body) {
  const int first = body.bumpc().get();  // Waits for one byte; more would wait for all of them.
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

  // For the contexts of its connections.
  const tls::OnDistrust* on_distrust() const { return &on_distrust_; }

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

  // Of the last handshake, which the library only says has failed.
  void NoteTlsTrouble(std::string trouble) {
    const std::lock_guard lock(mutex_);
    tls_trouble_ = std::move(trouble);
  }

 private:
  using CancelSource = pplx::cancellation_token_source;

  // A request that ends by itself, or with all; and when we leave before its end: a body that nobody reads would go on
  // to come.
  class StreamEnd {
   public:
    explicit StreamEnd(LibraryClient& owner) : owner_(owner) {
      const std::lock_guard lock(owner_.mutex_);
      at_ = owner_.streams_.emplace(owner_.streams_.end());
      if (owner_.cancel_.get_token().is_canceled()) at_->cancel();
    }
    ~StreamEnd() {
      if (!complete_) at_->cancel();
      const std::lock_guard lock(owner_.mutex_);
      owner_.streams_.erase(at_);
    }
    pplx::cancellation_token token() const { return at_->get_token(); }
    // The body came to its end: its connection may serve the next request.
    void Complete() { complete_ = true; }

   private:
    bool complete_ = false;
    LibraryClient& owner_;
    std::list<CancelSource>::iterator at_;
  };

  // cpprestsdk throws; here it ends.
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
                           std::chrono::duration<double>(options_.silence_max).count());
      }
      return Unavailable("{}: {}{}", options_.base_url, error.what(), TlsTrouble());
    } catch (const std::exception& error) {  // For example of a certificate that is none.
      return Unavailable("{}: {}{}", options_.base_url, error.what(), TlsTrouble());
    }
  }

  std::string TlsTrouble() {
    const std::lock_guard lock(mutex_);
    return tls_trouble_.empty() ? "" : ": " + tls_trouble_;
  }

  Result<Response> SendOrThrow(const Request& request) {
    StreamEnd end(*this);
    const auto response = client_.request(ToLibrary(request), end.token()).get();
    Response out = HeadOf(response);
    RETURN_IF_ERROR(Collect(response, &out));
    end.Complete();
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
    StreamEnd end(*this);
    const auto response = client_.request(ToLibrary(request), end.token()).get();
    Response head = HeadOf(response);
    if (!receiver.on_head(head)) {
      RETURN_IF_ERROR(Collect(response, &head));
      end.Complete();
      return head;
    }
    const auto body = response.body().streambuf();
    for (;;) {
      if (body.in_avail() > kUnreadBytesMax) {
        return ResourceExhausted("{}: {} bytes of the answer are unread", options_.base_url, body.in_avail());
      }
      const std::string piece = NextPiece(body);
      if (piece.empty()) {
        end.Complete();
        return head;
      }
      RETURN_IF_ERROR(receiver.on_piece(piece));
    }
  }

  const Options options_;
  const CancelSource cancel_;
  std::mutex mutex_;
  std::string tls_trouble_;  // Guarded by the mutex.
  const tls::OnDistrust on_distrust_ = [this](const std::string& why) { NoteTlsTrouble(why); };
  std::list<CancelSource> streams_{};  // Guarded by the mutex.
  client::http_client client_;         // Last: its connections use the rest.
};

}  // namespace

void Init() {
  tls::Init();
  constexpr size_t kThreads = 4;  // Instead of 40.
  crossplat::threadpool::initialize_with_threads(kThreads);
  // Otherwise every connection reads the system's whole list of certificates, although none is needed.
  setenv("SSL_CERT_FILE", "/dev/null", 1);
  setenv("SSL_CERT_DIR", "/nonexistent", 1);
}

Result<std::unique_ptr<Client>> Client::Make(const Options& options) try {
  tls::Init();  // Before the library's threads, where nobody called our Init.
  const web::uri uri(options.base_url);
  RETURN_IF_ERROR(CheckUrl(uri, options.base_url));
  if (IsSecure(uri) && !options.tls) return InvalidArgument("\"{}\" needs to know whom to trust", options.base_url);
  client::http_client_config config;
  config.set_timeout(options.silence_max);
  config.set_max_redirects(0);
  // The client is there as long as its connections are made.
  auto made = std::make_shared<LibraryClient*>(nullptr);
  config.set_ssl_context_callback([read = options.tls, made](boost::asio::ssl::context& context) {
    const auto identity = read();
    const Status used = identity ? tls::UseAsClient(*identity, context.native_handle(), (*made)->on_distrust())
                                 : Status(tl::make_unexpected(identity.error()));
    (*made)->NoteTlsTrouble(used ? "" : used.error().message);
    if (!used) throw std::runtime_error(used.error().message);
  });
  auto client = std::make_unique<LibraryClient>(options, config);
  *made = client.get();
  return std::unique_ptr<Client>(std::move(client));
} catch (const std::exception& error) {
  return InvalidArgument("\"{}\" is no URL: {}", options.base_url, error.what());
}

Result<std::string> OriginOf(const std::string& url) try {
  const web::uri uri(url);
  RETURN_IF_ERROR(CheckUrl(uri, url));
  const int port = uri.port() > 0 ? uri.port() : IsSecure(uri) ? 443 : 80;
  return fmt::format("{}://{}:{}", uri.scheme(), LowerCase(uri.host()), port);
} catch (const std::exception& error) {
  return InvalidArgument("\"{}\" is no URL: {}", url, error.what());
}

std::string Encode(std::string_view text) { return web::uri::encode_data_string(std::string(text)); }

}  // namespace longshore::http_client
