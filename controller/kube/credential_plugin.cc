#include "controller/kube/credential_plugin.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/json/path.h"
#include "common/os/process/process.h"
#include "controller/api/units.h"

namespace longshore::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kTimeMax{60};
constexpr size_t kOutputBytesMax = size_t{1} << 20;
constexpr int kNotFoundCode = 127;  // The exit code of env(1) if the program does not exist.

// Reads until the other end of the pipe is closed. Returns DeadlineExceeded if it is still open at `until`.
Result<std::string> ReadAll(int fd, steady_clock::time_point until) {
  std::string out;
  char piece[4096];
  for (;;) {
    const auto left = std::chrono::duration_cast<milliseconds>(until - steady_clock::now());
    pollfd waiting{fd, POLLIN, 0};
    const int ready = left.count() > 0 ? poll(&waiting, 1, static_cast<int>(left.count())) : 0;
    if (ready == 0) return DeadlineExceeded("it did not end within {} s", kTimeMax.count());
    if (ready < 0 && errno != EINTR) return Unavailable("{}", std::strerror(errno));
    if (ready < 0) continue;
    const ssize_t count = read(fd, piece, sizeof piece);
    if (count == 0) return out;
    if (count < 0) return Unavailable("{}", std::strerror(errno));
    out.append(piece, static_cast<size_t>(count));
    if (out.size() > kOutputBytesMax) return ResourceExhausted("it printed more than {} bytes", kOutputBytesMax);
  }
}

Result<PluginCredential> ReadCredential(const std::string& output) {
  const auto json = ParseJson(output);
  if (!json || !json->is_object() || TextAt(*json, {"kind"}) != "ExecCredential" || !json->contains("status") ||
      !json->at("status").is_object()) {
    return InvalidArgument("it did not print an ExecCredential with a status");
  }
  const Json& status = json->at("status");
  PluginCredential credential{.token = TextAt(status, {"token"}),
                              .certificate = TextAt(status, {"clientCertificateData"}),
                              .key = TextAt(status, {"clientKeyData"})};
  if (credential.token.empty() && credential.certificate.empty())
    return InvalidArgument("it printed neither a token nor a certificate");
  if (const std::string expires = TextAt(status, {"expirationTimestamp"}); !expires.empty()) {
    ASSIGN_OR_RETURN(credential.expires, api::ParseTime(expires));
  }
  return credential;
}

Result<std::string> Output(const CredentialPlugin& plugin) {
  const Json info = {
      {"kind", "ExecCredential"}, {"apiVersion", plugin.api_version}, {"spec", {{"interactive", false}}}};
  process::SpawnOptions options;
  options.argv = {"/usr/bin/env", "KUBERNETES_EXEC_INFO=" + info.dump()};  // env(1) searches the PATH.
  options.argv.insert(options.argv.end(), plugin.env.begin(), plugin.env.end());
  options.argv.insert(options.argv.end(), plugin.argv.begin(), plugin.argv.end());
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Unavailable("{}", std::strerror(errno));
  const process::Descriptor reading(ends[0]);
  process::Descriptor writing(ends[1]);
  options.descriptors = {{STDOUT_FILENO, writing.get()}, {STDERR_FILENO, STDERR_FILENO}};
  ASSIGN_OR_RETURN(process::Process program, process::Spawn(options));
  writing.Reset();
  const auto output = ReadAll(reading.get(), steady_clock::now() + kTimeMax);
  if (!output && program.Signal(SIGKILL)) program.Wait(milliseconds(1000));
  if (!output) return tl::make_unexpected(output.error());
  const auto exit = program.Wait(kTimeMax);
  if (exit && exit->code == kNotFoundCode) return NotFound("it is not installed");
  if (!exit || !exit->ok()) return Unavailable("it {}", exit ? ToString(*exit) : "does not end");
  return *output;
}

}  // namespace

Result<CredentialPlugin> ReadPlugin(const Json& exec, const Path& dir) {
  if (!exec.is_object() || TextAt(exec, {"command"}).empty()) return InvalidArgument("exec.command: missing");
  CredentialPlugin plugin{.api_version = TextAt(exec, {"apiVersion"}), .install_hint = TextAt(exec, {"installHint"})};
  const std::string command = TextAt(exec, {"command"});
  plugin.argv.push_back(command.find('/') == std::string::npos ? command : (dir / command).string());
  if (const auto args = exec.find("args"); args != exec.end() && args->is_array()) {
    for (const Json& arg : *args) {
      if (!arg.is_string()) return InvalidArgument("exec.args: not a list of strings");
      plugin.argv.push_back(arg.get<std::string>());
    }
  }
  if (const auto env = exec.find("env"); env != exec.end() && env->is_array()) {
    for (const Json& entry : *env) {
      if (!entry.is_object()) return InvalidArgument("exec.env: not a list of {{name, value}}");
      plugin.env.push_back(TextAt(entry, {"name"}) + "=" + TextAt(entry, {"value"}));
    }
  }
  return plugin;
}

Result<PluginCredential> RunPlugin(const CredentialPlugin& plugin) {
  const std::string subject = fmt::format("the credential plugin {}", plugin.argv.front());
  const auto output = Output(plugin);
  if (!output && output.error().code == Code::kNotFound) {
    return FailedPrecondition("{} is not installed. {}", subject, plugin.install_hint);
  }
  if (!output) return Prefixed(output.error(), subject);
  auto credential = ReadCredential(*output);
  if (!credential) return Prefixed(credential.error(), subject);
  return credential;
}

}  // namespace longshore::kube
