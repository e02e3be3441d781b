// The flags of TLS for clients: TensorFlow Serving's --ssl_config_file, or Longshore's PEM files.
#pragma once

#include <memory>

#include "common/base/error.h"
#include "common/base/path.h"
#include "common/net/tls/identity.h"

namespace CLI {
class App;
}

namespace longshore::app::flags {

struct TlsFlags {
  Path ssl_config_file;       // Text-proto SSLConfig; for gRPC only, as in TensorFlow Serving.
  bool rest_api_tls = false;  // Use ssl_config_file for REST too.
  // Flags of Longshore, for both ports.
  Path cert_file;
  Path key_file;
  Path client_ca_file;  // If set, clients must present a certificate that this authority signed.

  void AddTo(CLI::App& app);
  Status Check() const;

  bool grpc() const { return !ssl_config_file.empty() || !cert_file.empty(); }
  bool rest() const { return !cert_file.empty() || rest_api_tls; }

  // Reads the certificate and the key; returns null without TLS. Errors name the flag and the file. The files are read
  // again about once per second; a certificate that does not match the key, or an incomplete file, changes nothing.
  // Whether clients are verified cannot change at run time.
  Result<std::shared_ptr<tls::Identities>> Open() const;
};

}  // namespace longshore::app::flags
