#include "controller/cli/ca.h"

#include <thread>
#include <utility>

#include "common/base/base64.h"
#include "common/json/json.h"
#include "common/net/tls/authority.h"
#include "controller/api/format.h"

namespace longshore::cli {
namespace {

constexpr const char* kCertificate = "tls.crt";
constexpr const char* kKey = "tls.key";
constexpr std::chrono::hours kLifetime{24 * 365 * 10};
constexpr std::chrono::milliseconds kPause{500};

// The decoded value of `key` in the Secret's data; "" if it is missing.
Result<std::string> TextIn(const Json& secret, const char* key) {
  const Json data = secret.value("data", Json());
  const auto found = data.is_object() ? data.find(key) : data.end();
  if (!data.is_object() || found == data.end() || !found->is_string()) return std::string();
  auto text = FromBase64(found->get<std::string>());
  if (!text) return DataLoss("{} is not valid base64", key);
  return std::move(*text);
}

// Reads the Secret once and writes it at most once. Returns Aborted if the Secret was changed in between.
Result<std::string> Ensure(kube::Api& api, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string answer, api.Send({.target = path}));
  ASSIGN_OR_RETURN(const Json secret, ParseJson(answer));
  tls::KeyPair pair;
  ASSIGN_OR_RETURN(pair.certificate, TextIn(secret, kCertificate));
  ASSIGN_OR_RETURN(pair.key, TextIn(secret, kKey));
  if (!pair.certificate.empty() || !pair.key.empty()) {
    const auto validity = tls::ValidityOf(pair);
    if (validity) {
      return fmt::format("it has a certificate authority, valid until {}", api::FormatTime(validity->until));
    }
    return FailedPrecondition("its content is not a certificate authority and is not overwritten: {}",
                              validity.error().message);
  }
  ASSIGN_OR_RETURN(pair, tls::MakeAuthority("longshore", kLifetime));
  const Json patch = {{"metadata", {{"resourceVersion", secret.at("metadata").at("resourceVersion")}}},
                      {"data", {{kCertificate, ToBase64(pair.certificate)}, {kKey, ToBase64(pair.key)}}},
                      {"immutable", true}};
  RETURN_IF_ERROR(
      api.Send({.method = "PATCH", .target = path, .body = patch.dump(), .content_type = kube::kMergePatch}));
  return std::string("a certificate authority was created");
}

}  // namespace

Result<std::string> EnsureCa(kube::Api& api, const std::string& namespace_, const std::string& secret,
                             std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  const std::string path = fmt::format("/api/v1/namespaces/{}/secrets/{}", namespace_, secret);
  for (;;) {
    auto ensured = Ensure(api, path);
    const bool may_change =
        !ensured && (ensured.error().code == Code::kAborted || ensured.error().code == Code::kUnavailable ||
                     ensured.error().code == Code::kResourceExhausted);
    if (ensured) return fmt::format("Secret {}/{}: {}", namespace_, secret, *ensured);
    if (!may_change || std::chrono::steady_clock::now() + kPause >= until)
      return Prefixed(ensured.error(), fmt::format("Secret {}/{}", namespace_, secret));
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace longshore::cli
