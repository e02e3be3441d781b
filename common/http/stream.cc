#include "common/http/stream.h"

#include <openssl/ssl.h>

#include "common/log.h"

namespace longshore::http {

std::shared_ptr<boost::asio::ssl::context> TlsContexts::Current(const tls::Identities& identities) {
  const std::lock_guard lock(mutex_);
  const auto now = identities.current();
  if (now == identity_) return context_;
  const auto made = tls::MakeServerContext(*now);
  if (!made) {
    spdlog::error("the TLS identity cannot be used, the old one stays: {}", made.error().message);
    return context_;
  }
  SSL_CTX_up_ref(made->get());
  context_ = std::make_shared<boost::asio::ssl::context>(made->get());
  identity_ = now;
  return context_;
}

}  // namespace longshore::http
