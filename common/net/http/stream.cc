#include "common/net/http/stream.h"

#include <linux/sockios.h>
#include <openssl/ssl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>

#include "common/os/log.h"

namespace longshore::http {

std::shared_ptr<boost::asio::ssl::context> TlsContexts::Current(const tls::Identities& identities) {
  const std::lock_guard lock(mutex_);
  const auto now = identities.current();
  if (now == identity_) return context_;
  const auto made = tls::MakeServerContext(*now, protocol_);
  if (!made) {
    spdlog::error("cannot use the new TLS identity, the old one stays in use: {}", made.error().message);
    return context_;
  }
  SSL_CTX_up_ref(made->get());
  context_ = std::make_shared<boost::asio::ssl::context>(made->get());
  identity_ = now;
  return context_;
}

size_t Stream::TrySend(const std::array<boost::asio::const_buffer, 2>& buffers) {
  if (tls_) return 0;
  std::array<iovec, 2> pieces;
  std::transform(buffers.begin(), buffers.end(), pieces.begin(), [](const boost::asio::const_buffer& buffer) {
    return iovec{const_cast<void*>(buffer.data()), buffer.size()};
  });
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  return static_cast<size_t>(
      std::max<ssize_t>(0, sendmsg(socket_.native_handle(), &message, MSG_DONTWAIT | MSG_NOSIGNAL)));
}

size_t Stream::UnacknowledgedBytes() {
  int bytes = 0;
  if (ioctl(socket_.native_handle(), SIOCOUTQ, &bytes) != 0) return 0;
  return static_cast<size_t>(std::max(0, bytes));
}

// Bytes that Asio has read from the socket are in the BIO or in OpenSSL.
bool Stream::HasReceived() { return SSL_has_pending(tls()) != 0 || BIO_ctrl_pending(SSL_get_rbio(tls())) > 0; }

}  // namespace longshore::http
