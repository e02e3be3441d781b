#include "controller/kube/cluster.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <utility>

#include "common/base/base64.h"
#include "common/base/clock.h"
#include "common/json/path.h"
#include "common/os/file.h"
#include "controller/api/document.h"
#include "controller/kube/credential_plugin.h"

namespace longshore::kube {
namespace {

// PEM text or a token: either the text itself, or a file that is read at each use.
class TextSource {
 public:
  TextSource() = default;
  static TextSource Text(std::string text) { return TextSource(std::move(text), {}); }
  static TextSource File(Path file) { return TextSource({}, std::move(file)); }

  bool empty() const { return text_.empty() && file_.empty(); }
  Result<std::string> Read() const {
    if (file_.empty()) return text_;
    constexpr size_t kBytesMax = size_t{1} << 20;
    return ReadFile(file_, kBytesMax);
  }

 private:
  TextSource(std::string text, Path file) : text_(std::move(text)), file_(std::move(file)) {}

  std::string text_;
  Path file_;
};

std::string Trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  return text;
}

class TextCredentials final : public Credentials {
 public:
  TextCredentials(TextSource ca, TextSource token, TextSource certificate, TextSource key)
      : ca_(std::move(ca)), token_(std::move(token)), certificate_(std::move(certificate)), key_(std::move(key)) {}

  Result<std::string> Token(bool) override {
    ASSIGN_OR_RETURN(std::string token, token_.Read());
    return Trimmed(std::move(token));
  }
  Result<tls::ClientIdentity> Identity() override {
    tls::ClientIdentity identity;
    ASSIGN_OR_RETURN(identity.server_ca, ca_.Read());
    ASSIGN_OR_RETURN(identity.certificate, certificate_.Read());
    ASSIGN_OR_RETURN(identity.key, key_.Read());
    return identity;
  }

 private:
  const TextSource ca_;
  const TextSource token_;
  const TextSource certificate_;
  const TextSource key_;
};

class PluginCredentials final : public Credentials {
 public:
  PluginCredentials(TextSource ca, CredentialPlugin plugin) : ca_(std::move(ca)), plugin_(std::move(plugin)) {}

  Result<std::string> Token(bool was_rejected) override {
    const std::lock_guard lock(mutex_);
    ASSIGN_OR_RETURN(const auto* credential, Current(was_rejected));
    return credential->token;
  }
  Result<tls::ClientIdentity> Identity() override {
    const std::lock_guard lock(mutex_);
    ASSIGN_OR_RETURN(const auto* credential, Current(false));
    ASSIGN_OR_RETURN(const std::string ca, ca_.Read());
    return tls::ClientIdentity{ca, credential->certificate, credential->key};
  }

 private:
  Result<const PluginCredential*> Current(bool was_rejected) {
    if (!current_ || was_rejected || SystemClock().Now() >= current_->expires) {
      ASSIGN_OR_RETURN(current_, RunPlugin(plugin_));
    }
    return &*current_;
  }

  const TextSource ca_;
  const CredentialPlugin plugin_;
  std::mutex mutex_;
  std::optional<PluginCredential> current_;
};

// ---------------------------------------------------------------------------------------------------- kubeconfig

// https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
class Kubeconfig {
 public:
  Kubeconfig(Path file, Json root) : file_(std::move(file)), root_(std::move(root)) {}

  Result<Cluster> Read(const std::string& wanted) const {
    const std::string name = wanted.empty() ? TextAt(root_, {"current-context"}) : wanted;
    if (name.empty()) return InvalidArgument("{}: no current-context is set; name a context", file_.string());
    ASSIGN_OR_RETURN(const Json context, Entry("contexts", "context", name));
    ASSIGN_OR_RETURN(const Json cluster, Entry("clusters", "cluster", TextAt(context, {"cluster"})));
    ASSIGN_OR_RETURN(const Json user, Entry("users", "user", TextAt(context, {"user"})));
    RETURN_IF_ERROR(
        RejectUnsupported("cluster", cluster, {"insecure-skip-tls-verify", "proxy-url", "tls-server-name"}));
    RETURN_IF_ERROR(RejectUnsupported("user", user, {"username", "password", "auth-provider", "as"}));
    Cluster out;
    out.server = TextAt(cluster, {"server"});
    if (out.server.empty())
      return InvalidArgument("{}: the cluster of context \"{}\" has no server", file_.string(), name);
    out.namespace_ = TextAt(context, {"namespace"});
    if (out.namespace_.empty()) out.namespace_ = "default";
    ASSIGN_OR_RETURN(out.credentials, CredentialsOf(cluster, user));
    return out;
  }

 private:
  Result<Json> Entry(const char* list, const char* kind, const std::string& name) const {
    const auto entries = root_.find(list);
    if (entries != root_.end() && entries->is_array()) {
      for (const Json& entry : *entries) {
        if (entry.is_object() && TextAt(entry, {"name"}) == name && entry.contains(kind) && entry[kind].is_object())
          return entry[kind];
      }
    }
    return NotFound("{}: {} \"{}\" does not exist", file_.string(), kind, name);
  }

  Status RejectUnsupported(const char* kind, const Json& entry, const std::vector<const char*>& keys) const {
    for (const char* key : keys) {
      const auto found = entry.find(key);
      if (found == entry.end() || found->is_null() || *found == false || *found == "") continue;
      return InvalidArgument("{}: a {} with the field \"{}\" is not supported", file_.string(), kind, key);
    }
    return {};
  }

  // Field `key` names a file; field `key`-data holds the PEM in base64.
  Result<TextSource> PemOf(const Json& entry, const std::string& key) const {
    if (const std::string data = TextAt(entry, {(key + "-data")}); !data.empty()) {
      auto pem = FromBase64(data);
      if (!pem) return InvalidArgument("{}: {}-data is not valid base64", file_.string(), key);
      return TextSource::Text(std::move(*pem));
    }
    const std::string file = TextAt(entry, {key});
    return file.empty() ? TextSource() : TextSource::File(file_.parent_path() / file);
  }

  Result<std::shared_ptr<Credentials>> CredentialsOf(const Json& cluster, const Json& user) const {
    ASSIGN_OR_RETURN(TextSource ca, PemOf(cluster, "certificate-authority"));
    if (user.contains("exec")) {
      auto plugin = ReadPlugin(user["exec"], file_.parent_path());
      if (!plugin) return Prefixed(plugin.error(), file_.string());
      return std::make_shared<PluginCredentials>(std::move(ca), std::move(*plugin));
    }
    ASSIGN_OR_RETURN(TextSource certificate, PemOf(user, "client-certificate"));
    ASSIGN_OR_RETURN(TextSource key, PemOf(user, "client-key"));
    if (certificate.empty() != key.empty())
      return InvalidArgument("{}: client-certificate and client-key must be used together", file_.string());
    const std::string token_file = TextAt(user, {"tokenFile"});
    TextSource token = token_file.empty() ? TextSource::Text(TextAt(user, {"token"}))
                                          : TextSource::File(file_.parent_path() / token_file);
    return std::make_shared<TextCredentials>(std::move(ca), std::move(token), std::move(certificate), std::move(key));
  }

  const Path file_;
  const Json root_;
};

}  // namespace

Result<Cluster> FromKubeconfig(const Path& file, const std::string& context) {
  constexpr size_t kBytesMax = size_t{4} << 20;
  ASSIGN_OR_RETURN(const std::string text, ReadFile(file, kBytesMax));
  ASSIGN_OR_RETURN(const auto documents, api::LoadYaml(file.string(), text, 1));
  if (documents.size() != 1 || !documents[0].root.is_object())
    return InvalidArgument("{} is not a valid kubeconfig", file.string());
  return Kubeconfig(std::filesystem::absolute(file), documents[0].root).Read(context);
}

Result<Cluster> FromPod(const Path& service_account) {
  const char* host = std::getenv("KUBERNETES_SERVICE_HOST");
  const char* port = std::getenv("KUBERNETES_SERVICE_PORT");
  if (host == nullptr || port == nullptr) {
    return FailedPrecondition(
        "this process does not run in a pod (KUBERNETES_SERVICE_HOST or KUBERNETES_SERVICE_PORT is not set); name a "
        "file with --kubeconfig");
  }
  Cluster out;
  const bool is_ipv6 = std::string_view(host).find(':') != std::string_view::npos;
  out.server = is_ipv6 ? fmt::format("https://[{}]:{}", host, port) : fmt::format("https://{}:{}", host, port);
  ASSIGN_OR_RETURN(std::string namespace_, ReadFile(service_account / "namespace"));
  out.namespace_ = Trimmed(std::move(namespace_));
  const TextSource token = TextSource::File(service_account / "token");
  RETURN_IF_ERROR(token.Read());
  out.credentials = std::make_shared<TextCredentials>(TextSource::File(service_account / "ca.crt"), token, TextSource(),
                                                      TextSource());
  return out;
}

}  // namespace longshore::kube
