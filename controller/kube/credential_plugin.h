// Credential plugins of a kubeconfig, which managed clusters use: a program that prints a token or a certificate.
//
// Source: "client-go credential plugins", client.authentication.k8s.io/v1.
#pragma once

#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/path.h"
#include "common/json/json.h"

namespace longshore::kube {

struct CredentialPlugin {
  std::vector<std::string> argv{};
  std::vector<std::string> env{};  // "NAME=value", added to the environment of this process.
  std::string api_version{};
  std::string install_hint{};
};

struct PluginCredential {
  std::string token{};
  std::string certificate{};
  std::string key{};
  TimePoint expires = TimePoint::max();
};

// Reads the field `exec` of a user in a kubeconfig. A command with a slash is relative to `dir`, the folder of the
// kubeconfig. Returns InvalidArgument if a field is missing or has the wrong type.
Result<CredentialPlugin> ReadPlugin(const Json& exec, const Path& dir);

// Runs the plugin for at most a minute. Returns FailedPrecondition with the install hint if it is not installed,
// Unavailable with its exit code if it fails, DeadlineExceeded if it does not end its output in time, and
// InvalidArgument if it prints anything other than an ExecCredential.
Result<PluginCredential> RunPlugin(const CredentialPlugin& plugin);

}  // namespace longshore::kube
