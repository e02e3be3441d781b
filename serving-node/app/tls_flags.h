// TLS at the doors: TensorFlow Serving's --ssl_config_file, and files of ours that are read again when they change.
#pragma once

#include <memory>

#include "common/error.h"
#include "common/file.h"
#include "common/tls/identity.h"

namespace CLI {
class App;
}

namespace longshore::app {

struct TlsFlags {
  Path ssl_config_file;       // Text-proto SSLConfig, for gRPC as in TensorFlow Serving.
  bool rest_api_tls = false;  // For REST too.
  // Ours, for both ports.
  Path cert_file;
  Path key_file;
  Path client_ca_file;  // Clients must show a certificate of it.

  void AddTo(CLI::App& app);
  Status Check() const;

  bool grpc() const { return !ssl_config_file.empty() || !cert_file.empty(); }
  bool rest() const { return !cert_file.empty() || rest_api_tls; }

  // Null without TLS. Errors name the flag and the file. The files are read again about once a second: a pair that does
  // not fit, or half a file, changes nothing. Whether clients are verified stays as it was at the start.
  Result<std::shared_ptr<tls::Identities>> Open() const;
};

}  // namespace longshore::app
