// Credential plugins of a kubeconfig, as managed clusters have them: a program that prints who we are.
//
// Source: "client-go credential plugins", client.authentication.k8s.io/v1.
#pragma once

#include <string>
#include <vector>

#include "common/clock.h"
#include "common/error.h"
#include "common/file.h"
#include "common/json/json.h"

namespace longshore::kube {

struct CredentialPlugin {
  std::vector<std::string> argv{};
  std::vector<std::string> env{};  // "NAME=value", besides ours.
  std::string api_version{};
  std::string install_hint{};
};

struct PluginCredential {
  std::string token{};
  std::string certificate{};
  std::string key{};
  TimePoint expires = TimePoint::max();
};

// The `exec` of a user. A command with a slash is looked for from `dir`, the kubeconfig's. InvalidArgument.
Result<CredentialPlugin> ReadPlugin(const Json& exec, const Path& dir);

// Runs it, for at most a minute. FailedPrecondition with the hint of how to install it when it cannot be run;
// Unavailable with its last words when it fails; InvalidArgument when it prints something else than an ExecCredential.
Result<PluginCredential> RunPlugin(const CredentialPlugin& plugin);

}  // namespace longshore::kube
