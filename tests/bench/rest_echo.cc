#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <thread>

#include "tests/bench/echo.h"

namespace longshore::bench {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;

class Connection final : public std::enable_shared_from_this<Connection> {
 public:
  explicit Connection(tcp::socket socket) : socket_(std::move(socket)) {}

  void Read() {
    request_ = {};
    http::async_read(socket_, buffer_, request_, [self = shared_from_this()](beast::error_code error, size_t) {
      if (!error) self->Write();
    });
  }

 private:
  void Write() {
    response_ = {http::status::ok, request_.version()};
    response_.set(http::field::content_type, "application/json");
    response_.body() = std::move(request_.body());
    response_.keep_alive(request_.keep_alive());
    response_.prepare_payload();
    http::async_write(socket_, response_, [self = shared_from_this()](beast::error_code error, size_t) {
      if (!error && self->response_.keep_alive()) self->Read();
    });
  }

  tcp::socket socket_;
  beast::flat_buffer buffer_;
  http::request<http::string_body> request_;
  http::response<http::string_body> response_;
};

class RestEcho final : public Echo {
 public:
  RestEcho() : acceptor_(context_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {
    Accept();
    thread_ = std::thread([this] { context_.run(); });
  }
  ~RestEcho() override {
    context_.stop();
    thread_.join();
  }
  int port() const override { return acceptor_.local_endpoint().port(); }

 private:
  void Accept() {
    acceptor_.async_accept([this](beast::error_code error, tcp::socket socket) {
      if (error) return;
      beast::error_code ignored;
      socket.set_option(tcp::no_delay(true), ignored);
      std::make_shared<Connection>(std::move(socket))->Read();
      Accept();
    });
  }

  asio::io_context context_{1};
  tcp::acceptor acceptor_;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Echo>> StartRestEcho() {
  try {
    return std::make_unique<RestEcho>();
  } catch (const boost::system::system_error& error) {
    return Unavailable("cannot listen on 127.0.0.1: {}", error.what());
  }
}

}  // namespace longshore::bench
