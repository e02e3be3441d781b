#include "controller/console/requests.h"

#include <arpa/inet.h>

#include <algorithm>
#include <vector>

#include "common/base/lower_case.h"
#include "common/base/sha256.h"
#include "controller/api/types.h"
#include "controller/store/document.h"

namespace longshore::console {
namespace {

using What = Target::What;

// Only files of the console itself run or are shown, no other page may embed the console, and nothing that a name or a
// message contains is executed.
constexpr const char* kContentSecurityPolicy =
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
constexpr const char* kPage = "index.html";

std::vector<std::string_view> PartsOf(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    path.remove_prefix(1);  // The "/".
    const size_t end = std::min(path.find('/'), path.size());
    parts.push_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return parts;
}

Target FileTarget(std::string_view name) {
  const auto files = Files();
  const auto found = std::ranges::find(files, name, &File::name);
  if (found == files.end()) return {};
  return {.what = What::kFile, .file = &*found};
}

// Returns kNothing unless namespace and name are possible names of an object of this kind.
Target ObjectTarget(What what, const char* kind, std::string_view namespace_, std::string_view name) {
  const api::Key key{kind, std::string(namespace_), std::string(name)};
  if (!store::CheckKey(key)) return {};
  return {.what = what, .namespace_ = key.namespace_, .name = key.name};
}

Target ObjectTarget(const std::vector<std::string_view>& parts) {
  if (parts.size() < 3) return {};
  if (parts[0] == "fleets" && parts.size() == 3)
    return ObjectTarget(What::kFleet, api::kServingFleetKind, parts[1], parts[2]);
  if (parts[0] != "models") return {};
  if (parts.size() == 3) return ObjectTarget(What::kModel, api::kModelKind, parts[1], parts[2]);
  if (parts.size() != 4 || (parts[3] != "history" && parts[3] != "commands")) return {};
  return ObjectTarget(parts[3] == "history" ? What::kHistory : What::kCommands, api::kModelKind, parts[1], parts[2]);
}

// Host without the port: "[::1]" for "[::1]:8620".
std::string_view WithoutPort(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, std::min(host.find(']'), host.size() - 1) + 1);
  return host.substr(0, host.find(':'));
}

bool IsAddress(const std::string& name) {
  in_addr v4;
  in6_addr v6;
  if (inet_pton(AF_INET, name.c_str(), &v4) == 1) return true;
  const bool in_brackets = name.size() > 2 && name.front() == '[' && name.back() == ']';
  return in_brackets && inet_pton(AF_INET6, name.substr(1, name.size() - 2).c_str(), &v6) == 1;
}

http::Headers CommonHeaders() {
  return {{"Content-Security-Policy", kContentSecurityPolicy},
          {"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Cache-Control", "no-cache"}};
}

// The only writes are commands, and only if somebody may give them.
std::optional<http::Response> RefusalOfMethod(const http::Request& head, const Target& target, const Access& access) {
  const bool is_command = target.what == What::kCommands && access.identify;
  const bool reads = head.method == "GET" || head.method == "HEAD";
  if (is_command ? head.method == "POST" : reads) return std::nullopt;
  http::Response response = ErrorAnswer(
      405, is_command ? "A command is sent with POST." : "This can only be read: the methods are GET and HEAD.");
  response.headers.emplace_back("Allow", is_command ? "POST" : "GET, HEAD");
  return response;
}

int StatusOf(Code code) {
  switch (code) {
    case Code::kInvalidArgument: return 400;
    case Code::kUnauthenticated: return 401;
    case Code::kPermissionDenied: return 403;
    case Code::kNotFound: return 404;
    case Code::kFailedPrecondition:
    case Code::kAborted: return 409;
    case Code::kResourceExhausted: return 429;
    case Code::kUnavailable: return 503;
    case Code::kDeadlineExceeded: return 504;
    default: return 500;
  }
}

}  // namespace

Target TargetOf(std::string_view path) {
  path = path.substr(0, path.find('?'));
  if (!path.starts_with('/')) return {};
  const std::vector<std::string_view> parts = PartsOf(path);
  if (path == "/") return FileTarget(kPage);
  if (parts[0] == "files" && parts.size() == 2) return FileTarget(parts[1]);
  if (parts[0] != "api") {
    const What page = ObjectTarget(parts).what;
    return page == What::kModel || page == What::kFleet ? FileTarget(kPage) : Target();
  }
  if (parts.size() < 2 || parts[1] != "v1") return {};
  if (parts.size() == 3 && parts[2] == "access") return {.what = What::kAccess};
  if (parts.size() == 3 && parts[2] == "overview") return {.what = What::kOverview};
  return ObjectTarget({parts.begin() + 2, parts.end()});
}

bool IsAllowedHost(std::string_view host, const std::set<std::string>& names) {
  if (host.empty()) return false;
  const std::string name = LowerCase(WithoutPort(host));
  return name == "localhost" || IsAddress(name) || names.contains(name);
}

std::optional<http::Response> Refusal(const http::Request& head, const Policy& policy) {
  if (!IsAllowedHost(head.Header("host"), policy.allowed_hosts)) {
    return ErrorAnswer(421,
                       "The console does not answer for this host name. Use an address or \"localhost\", or name the "
                       "host with --console_allowed_hosts.");
  }
  const Target target = TargetOf(head.target);
  if (auto refusal = RefusalOfMethod(head, target, policy.access)) return refusal;
  if (target.what == What::kFile || target.what == What::kNothing) return std::nullopt;
  const bool is_command = target.what == What::kCommands;
  if (is_command) {
    if (const Status origin = CheckOrigin(head); !origin) return ErrorAnswer(origin.error());
  }
  const bool reading_needs_token = policy.reading_needs_token && target.what != What::kAccess;
  const auto person = Admit(head, policy.access, is_command ? Right::kCommand : Right::kRead, reading_needs_token);
  if (!person) return ErrorAnswer(person.error());
  if (target.what == What::kAccess || !policy.standby) return std::nullopt;
  const std::string standby = policy.standby();
  if (standby.empty()) return std::nullopt;
  http::Response refusal = ErrorAnswer(503, standby);
  refusal.headers.emplace_back("X-Longshore-Standby", "1");  // The page asks again: nothing was executed.
  return refusal;
}

Json AccessJson(const http::Request& head, const Policy& policy) {
  const auto person = Admit(head, policy.access, Right::kRead, false);
  const bool is_known = person && !person->name.empty();
  return {{"canCommand", static_cast<bool>(policy.access.identify)},
          {"readingNeedsToken", policy.reading_needs_token},
          {"howToSignIn", policy.access.how_to_sign_in},
          {"name", is_known ? person->name : ""},
          {"mayCommand", is_known && person->right == Right::kCommand}};
}

http::Response Answer(const http::Request& request, std::string content_type, std::string body) {
  http::Response response;
  response.content_type = std::move(content_type);
  response.headers = CommonHeaders();
  // Weak, because the compressed text is another sequence of bytes.
  const std::string tag = "W/\"" + ToHex(Sha256(body)).substr(0, 32) + "\"";
  response.headers.emplace_back("ETag", tag);
  if (request.Header("if-none-match") == tag) {
    response.status = 304;
  } else {
    response.body = std::move(body);
  }
  return response;
}

http::Response JsonAnswer(const http::Request& request, const Json& json) {
  return Answer(request, "application/json", DumpJson(json));
}

http::Response ErrorAnswer(int status, const std::string& message) {
  http::Response response;
  response.status = status;
  response.headers = CommonHeaders();
  response.body = DumpJson({{"error", message}});
  return response;
}

http::Response ErrorAnswer(const Error& error) {
  http::Response response = ErrorAnswer(StatusOf(error.code), error.message);
  if (response.status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

}  // namespace longshore::console
