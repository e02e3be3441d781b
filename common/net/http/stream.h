// A connection's socket, plaintext or TLS, as an asynchronous stream for Asio and Beast.
#pragma once

#include <array>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/strand.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "common/net/tls/identity.h"

namespace longshore::http {

// The TLS context of the current identity, created once per identity. Thread-safe.
class TlsContexts {
 public:
  explicit TlsContexts(tls::Protocol protocol = tls::Protocol::kHttp1) : protocol_(protocol) {}

  // Returns the previous context if the new one cannot be created; null if there is no previous one.
  std::shared_ptr<boost::asio::ssl::context> Current(const tls::Identities& identities);

 private:
  const tls::Protocol protocol_;
  std::mutex mutex_;
  std::shared_ptr<const tls::Identity> identity_;
  std::shared_ptr<boost::asio::ssl::context> context_;
};

// All functions must be called on the strand of the stream's connection.
class Stream {
 public:
  using Protocol = boost::asio::generic::stream_protocol;
  // Used instead of Asio's default, the polymorphic executor, whose cost would be noticeable in a short request.
  using executor_type = boost::asio::strand<boost::asio::io_context::executor_type>;
  using Socket = boost::asio::basic_stream_socket<Protocol, executor_type>;

  Stream(const executor_type& executor, const Protocol& protocol, int fd) : socket_(executor, protocol, fd) {}

  executor_type get_executor() { return socket_.get_executor(); }
  Socket& socket() { return socket_; }
  bool encrypted() const { return tls_.has_value(); }
  SSL* tls() { return tls_->native_handle(); }  // Requires: encrypted().

  // Begins TLS: all later data is encrypted. Calls handler(error) when the handshake has ended.
  template <typename Handler>
  void Handshake(boost::asio::ssl::context& context, Handler handler) {
    tls_.emplace(socket_, context);
    tls_->async_handshake(boost::asio::ssl::stream_base::server, std::move(handler));
  }
  // Sends the client the end of the TLS stream. Requires: encrypted().
  template <typename Handler>
  void EndTls(Handler handler) {
    tls_->async_shutdown(std::move(handler));
  }

  // Writes as much as the socket accepts without waiting. Returns the number of written bytes: 0 under TLS, and 0 after
  // an error, which the next write reports.
  size_t TrySend(const std::array<boost::asio::const_buffer, 2>& buffers);

  // Returns the number of written bytes that the client's machine has not acknowledged yet; under TLS, encrypted bytes
  // are counted. Returns 0 if the system does not report the number.
  size_t UnacknowledgedBytes();

  // Whether bytes have arrived that no read has returned yet. They may be only a part of the record that the next read
  // needs. Requires: encrypted().
  bool HasReceived();

  template <typename Buffers, typename Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    if (tls_) return tls_->async_read_some(buffers, std::forward<Handler>(handler));
    socket_.async_read_some(buffers, std::forward<Handler>(handler));
  }
  template <typename Buffers, typename Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    if (tls_) return tls_->async_write_some(buffers, std::forward<Handler>(handler));
    socket_.async_write_some(buffers, std::forward<Handler>(handler));
  }

 private:
  Socket socket_;
  std::optional<boost::asio::ssl::stream<Socket&>> tls_;
};

}  // namespace longshore::http
