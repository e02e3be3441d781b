#include "serving-node/app/flags/tls_flags.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <optional>

#include "common/os/file.h"
#include "common/text_proto/text_proto.h"
#include "tensorflow_serving/config.pb.h"

namespace longshore::app::flags {
namespace {

constexpr size_t kPemBytesMax = size_t{1} << 20;
constexpr auto kPollInterval = std::chrono::seconds(1);

Result<std::string> ReadPem(const char* flag, const Path& file) {
  auto text = ReadFile(file, kPemBytesMax);
  if (!text) return Prefixed(text.error(), flag);
  return text;
}

Result<tls::Identity> ReadFiles(const TlsFlags& flags) {
  tls::Identity identity;
  ASSIGN_OR_RETURN(identity.certificate, ReadPem("--tls_cert_file", flags.cert_file));
  ASSIGN_OR_RETURN(identity.key, ReadPem("--tls_key_file", flags.key_file));
  if (flags.client_ca_file.empty()) return identity;
  ASSIGN_OR_RETURN(identity.client_ca, ReadPem("--tls_client_ca_file", flags.client_ca_file));
  identity.verify_client = true;
  return identity;
}

Result<tls::Identity> ReadConfig(const Path& file) {
  tensorflow::serving::SSLConfig config;
  if (auto read = ReadTextProto(file, &config); !read) return Prefixed(read.error(), "--ssl_config_file");
  return tls::Identity{.certificate = config.server_cert(),
                       .key = config.server_key(),
                       .client_ca = config.custom_ca(),
                       .verify_client = config.client_verify()};
}

Result<tls::Identity> ReadUsable(const TlsFlags& flags) {
  const bool config = !flags.ssl_config_file.empty();
  ASSIGN_OR_RETURN(tls::Identity identity, config ? ReadConfig(flags.ssl_config_file) : ReadFiles(flags));
  if (const auto usable = tls::MakeServerContext(identity); !usable) {
    const Path& file = config ? flags.ssl_config_file : flags.cert_file;
    return Prefixed(usable.error(),
                    fmt::format("{}: {}", config ? "--ssl_config_file" : "--tls_cert_file", file.string()));
  }
  return identity;
}

}  // namespace

void TlsFlags::AddTo(CLI::App& app) {
  const std::string group = "TLS";
  app.add_option("--ssl_config_file", ssl_config_file,
                 "text-proto SSLConfig with PEM texts: gRPC over TLS, as in TensorFlow Serving")
      ->group(group);
  app.add_flag("--rest_api_tls", rest_api_tls,
               "use TLS for REST too, with the certificate of --ssl_config_file [false]")
      ->group(group);
  app.add_option("--tls_cert_file", cert_file,
                 "PEM certificate chain for gRPC and REST over TLS; it is read again when it changes, as are "
                 "--tls_key_file and "
                 "--tls_client_ca_file")
      ->group(group);
  app.add_option("--tls_key_file", key_file, "PEM key of the certificate in --tls_cert_file, without a password")
      ->group(group);
  app.add_option("--tls_client_ca_file", client_ca_file,
                 "PEM certificates of the CA that must have signed the clients' certificates")
      ->group(group);
}

Status TlsFlags::Check() const {
  if (cert_file.empty() != key_file.empty())
    return InvalidArgument("--tls_cert_file and --tls_key_file must be given together");
  if (!client_ca_file.empty() && cert_file.empty())
    return InvalidArgument("--tls_client_ca_file needs --tls_cert_file");
  if (!ssl_config_file.empty() && !cert_file.empty()) {
    return InvalidArgument(
        "--ssl_config_file and --tls_cert_file exclude each other: both define the server's certificate");
  }
  if (rest_api_tls && !grpc()) return InvalidArgument("--rest_api_tls needs --ssl_config_file");
  return {};
}

Result<std::shared_ptr<tls::Identities>> TlsFlags::Open() const {
  if (!grpc()) return std::shared_ptr<tls::Identities>();
  const auto read = [flags = *this, verify = std::optional<bool>()]() mutable -> Result<tls::Identity> {
    ASSIGN_OR_RETURN(tls::Identity identity, ReadUsable(flags));
    if (verify.value_or(identity.verify_client) != identity.verify_client) {
      return FailedPrecondition("--ssl_config_file: client_verify cannot change without a restart");
    }
    verify = identity.verify_client;
    return identity;
  };
  return tls::Identities::Start("the TLS identity", read, kPollInterval);
}

}  // namespace longshore::app::flags
