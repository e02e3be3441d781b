// A connection's socket, in plain or under TLS: an asynchronous stream as Asio and Beast take it.
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

#include "common/tls/identity.h"

namespace longshore::http {

// The context of the current identity, made once for each. Thread-safe.
class TlsContexts {
 public:
  // Null when it cannot be made.
  std::shared_ptr<boost::asio::ssl::context> Current(const tls::Identities& identities);

 private:
  std::mutex mutex_;
  std::shared_ptr<const tls::Identity> identity_;
  std::shared_ptr<boost::asio::ssl::context> context_;
};

// Belongs to its connection's strand.
class Stream {
 public:
  using Protocol = boost::asio::generic::stream_protocol;
  // Not the general executor that the library takes by default: it costs a good part of a short request.
  using executor_type = boost::asio::strand<boost::asio::io_context::executor_type>;
  using Socket = boost::asio::basic_stream_socket<Protocol, executor_type>;

  Stream(const executor_type& executor, const Protocol& protocol, int fd) : socket_(executor, protocol, fd) {}

  executor_type get_executor() { return socket_.get_executor(); }
  Socket& socket() { return socket_; }
  bool encrypted() const { return tls_.has_value(); }

  // Everything is encrypted from now on. Calls handler(error).
  template <typename Handler>
  void Handshake(boost::asio::ssl::context& context, Handler handler) {
    tls_.emplace(socket_, context);
    tls_->async_handshake(boost::asio::ssl::stream_base::server, std::move(handler));
  }
  // Tells the client that nothing follows. Requires: encrypted().
  template <typename Handler>
  void EndTls(Handler handler) {
    tls_->async_shutdown(std::move(handler));
  }

  // Writes what the socket takes without waiting. Returns how many bytes: none under TLS, and none after an error,
  // which the next write tells of.
  size_t TrySend(const std::array<boost::asio::const_buffer, 2>& buffers);

  // How many of the written bytes the client's system has not acknowledged yet; under TLS, of the encrypted ones. 0
  // when the system does not say.
  size_t UnacknowledgedBytes();

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
