#include "tests/load/rest_client.h"

#include <sys/socket.h>

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <charconv>
#include <deque>
#include <future>
#include <thread>
#include <vector>

namespace longshore::load {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;

struct Connection {
  explicit Connection(asio::io_context& io) : stream(io) {}
  beast::tcp_stream stream;
  beast::flat_buffer buffer;
  int requests = 0;
};
using ConnectionPtr = std::shared_ptr<Connection>;

// One request in flight on a connection.
struct Exchange {
  http::request<http::string_body> request;
  http::response_parser<http::string_body> parser;
  ConnectionPtr connection;
  std::chrono::steady_clock::time_point deadline;
  ReplyDone done;
};
using ExchangePtr = std::shared_ptr<Exchange>;

int64_t ParseNumber(std::string_view text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string_view Field(const http::response<http::string_body>& response, const char* name) {
  const auto value = response[name];
  return {value.data(), value.size()};
}

Code CodeOf(http::status status) {
  switch (static_cast<int>(status)) {
    case 200: return Code::kOk;
    case 400: return Code::kInvalidArgument;
    case 404: return Code::kNotFound;
    case 429: return Code::kResourceExhausted;
    case 501: return Code::kUnimplemented;
    case 503: return Code::kUnavailable;
    case 504: return Code::kDeadlineExceeded;
    default: return Code::kUnknown;
  }
}

Reply MakeReply(const http::response<http::string_body>& response) {
  Reply reply;
  reply.code = CodeOf(response.result());
  reply.node = Field(response, "x-longshore-node");
  if (reply.code != Code::kOk) {
    reply.message = "HTTP " + std::to_string(response.result_int()) + " " + response.body();
    return reply;
  }
  reply.version = ParseNumber(Field(response, "x-longshore-version"));
  const std::string& body = response.body();
  reply.non_finite = body.find("NaN") != std::string::npos || body.find("Infinity") != std::string::npos;
  return reply;
}

Reply MakeFailure(const beast::error_code& error, const char* doing) {
  Reply reply;
  const bool late = error == beast::error::timeout;
  reply.code = late ? Code::kDeadlineExceeded : Code::kUnavailable;
  reply.connection_died = !late;
  reply.message = std::string(doing) + ": " + error.message();
  return reply;
}

// Whether the server has closed this idle kept-alive connection.
bool IsClosed(Connection& connection) {
  char byte;
  const int handle = connection.stream.socket().native_handle();
  const auto got = ::recv(handle, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
}

Result<std::string> ResolveBySystem(const std::string& host) {
  boost::system::error_code error;
  asio::io_context resolving;
  const auto found = tcp::resolver(resolving).resolve(tcp::v4(), host, "", error);
  if (error) return Unavailable("{}", error.message());
  return found.begin()->endpoint().address().to_string();
}

Result<tcp::endpoint> Resolve(const RestOptions& options) {
  ASSIGN_OR_RETURN(const std::string text, options.resolve(options.host));
  boost::system::error_code error;
  const asio::ip::address address = asio::ip::make_address(text, error);
  if (error) return InvalidArgument("{}", error.message());
  return tcp::endpoint(address, options.port);
}

// All state belongs to the one thread that runs io_.
class RestClient final : public Client {
 public:
  // Requires: options.resolve is set, and has returned `server`.
  RestClient(const RestOptions& options, tcp::endpoint server, const Samples& samples)
      : options_(options), server_(std::move(server)), samples_(samples), thread_([this] { io_.run(); }) {}

  ~RestClient() override {
    std::promise<void> idle;
    asio::post(io_, [&] { WhenIdle([&] { idle.set_value(); }); });
    idle.get_future().wait();
    asio::post(io_, [this] { idle_connections_.clear(); });
    resolver_.join();
    work_.reset();
    thread_.join();
  }

  void Send(const Ask& ask, ReplyDone done) override {
    auto exchange = std::make_shared<Exchange>();
    exchange->request = {http::verb::post, samples_.rest_path, 11, samples_.rest_bodies[ask.sample]};
    exchange->request.set(http::field::host, options_.host);
    exchange->request.set(http::field::content_type, "application/json");
    if (ask.key) exchange->request.set("x-user-id", KeyName(*ask.key));
    exchange->request.prepare_payload();
    exchange->parser.body_limit(kRestBodyBytesMax);
    exchange->deadline = std::chrono::steady_clock::now() + options_.deadline;
    exchange->done = std::move(done);
    asio::post(io_, [this, exchange] {
      waiting_.push_back(exchange);
      StartWaiting();
    });
  }

 private:
  void StartWaiting() {
    while (!waiting_.empty() && under_way_ < options_.connections_max) {
      const ExchangePtr exchange = waiting_.front();
      waiting_.pop_front();
      under_way_ += 1;
      exchange->connection = TakeIdle();
      if (exchange->connection) {
        Write(exchange);
      } else {
        Connect(exchange);
      }
    }
  }

  ConnectionPtr TakeIdle() {
    while (!idle_connections_.empty()) {
      const ConnectionPtr connection = idle_connections_.back();
      idle_connections_.pop_back();
      if (!IsClosed(*connection)) return connection;
    }
    return nullptr;
  }

  void Connect(const ExchangePtr& exchange) {
    exchange->connection = std::make_shared<Connection>(io_);
    exchange->connection->stream.expires_at(exchange->deadline);
    exchange->connection->stream.async_connect(server_, [this, exchange](beast::error_code error) {
      if (error) {
        ResolveAgain();
        return Finish(exchange, MakeFailure(error, "connect"), false);
      }
      exchange->connection->stream.socket().set_option(tcp::no_delay(true), error);
      Write(exchange);
    });
  }

  // The next connections use the new address. One question at a time: an answer may take seconds.
  void ResolveAgain() {
    if (is_resolving_) return;
    is_resolving_ = true;
    asio::post(resolver_, [this] {
      asio::post(io_, [this, found = Resolve(options_)] {
        is_resolving_ = false;
        if (found) server_ = *found;
      });
    });
  }

  void Write(const ExchangePtr& exchange) {
    exchange->connection->requests += 1;
    const bool last = exchange->connection->requests >= options_.requests_per_connection_max;
    exchange->request.keep_alive(!last);
    exchange->connection->stream.expires_at(exchange->deadline);
    http::async_write(exchange->connection->stream, exchange->request,
                      [this, exchange](beast::error_code error, size_t) {
                        if (error) return Finish(exchange, MakeFailure(error, "write"), false);
                        Read(exchange);
                      });
  }

  void Read(const ExchangePtr& exchange) {
    http::async_read(exchange->connection->stream, exchange->connection->buffer, exchange->parser,
                     [this, exchange](beast::error_code error, size_t) {
                       if (error) return Finish(exchange, MakeFailure(error, "read"), false);
                       const auto& response = exchange->parser.get();
                       Finish(exchange, MakeReply(response), response.keep_alive() && exchange->request.keep_alive());
                     });
  }

  void Finish(const ExchangePtr& exchange, const Reply& reply, bool reusable) {
    exchange->connection->stream.expires_never();
    if (reusable) idle_connections_.push_back(exchange->connection);
    under_way_ -= 1;
    exchange->done(reply);
    StartWaiting();
    if (when_idle_ && under_way_ == 0 && waiting_.empty()) when_idle_();
  }

  void WhenIdle(std::function<void()> call) {
    if (under_way_ == 0 && waiting_.empty()) return call();
    when_idle_ = std::move(call);
  }

  const RestOptions options_;
  tcp::endpoint server_;
  const Samples& samples_;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_ = asio::make_work_guard(io_);
  std::deque<ExchangePtr> waiting_;
  std::vector<ConnectionPtr> idle_connections_;
  size_t under_way_ = 0;
  std::function<void()> when_idle_;
  bool is_resolving_ = false;
  asio::thread_pool resolver_{1};
  std::thread thread_;
};

}  // namespace

Result<RestOptions> ParseRestTarget(const std::string& target) {
  const size_t colon = target.rfind(':');
  RestOptions options;
  if (colon != std::string::npos) {
    options.host = target.substr(0, colon);
    const char* end = target.data() + target.size();
    const auto parsed = std::from_chars(target.data() + colon + 1, end, options.port);
    if (parsed.ec == std::errc() && parsed.ptr == end && options.port != 0) return options;
  }
  return InvalidArgument("\"{}\" is not host:port", target);
}

Result<std::unique_ptr<Client>> MakeRestClient(const RestOptions& options, const Samples& samples) {
  RestOptions complete = options;
  if (!complete.resolve) complete.resolve = ResolveBySystem;
  const auto server = Resolve(complete);
  if (!server) return InvalidArgument("\"{}\" is not a valid address: {}", options.host, server.error().message);
  return std::make_unique<RestClient>(complete, *server, samples);
}

}  // namespace longshore::load
