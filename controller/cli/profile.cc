#include "controller/cli/profile.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <ostream>
#include <string_view>
#include <thread>

#include "common/json/json.h"
#include "common/net/auth/tokens.h"
#include "common/net/http_client/client.h"
#include "common/os/file.h"

namespace longshore::cli {
namespace {

constexpr std::chrono::milliseconds kPollInterval{200};
// How long to wait for the trace after the requested time. It must exceed the 10 s that a node gives the last runs to
// finish.
constexpr std::chrono::seconds kGrace{15};
constexpr size_t kTraceBytesMax = size_t{512} << 20;
constexpr const char* kProfile = "/debug/profile";
constexpr const char* kState = "/debug/profile/state";
// In the message of the HTTP client if the server closes the connection without an answer, as a gRPC listener does.
constexpr const char* kNotHttp = "HTTP status line";

Code CodeOf(int status) {
  switch (status) {
    case 400: return Code::kInvalidArgument;
    case 401: return Code::kUnauthenticated;
    case 404: return Code::kNotFound;
    case 409: return Code::kFailedPrecondition;
    default: return Code::kInternal;
  }
}

// A client of one node's administration listener.
class Admin {
 public:
  static Result<Admin> Open(const ProfileOptions& options) {
    Admin admin;
    admin.address_ = options.address;
    const bool is_url = options.address.find("://") != std::string::npos;
    ASSIGN_OR_RETURN(admin.client_,
                     http_client::Client::Make({.base_url = is_url ? options.address : "http://" + options.address,
                                                .body_bytes_max = kTraceBytesMax}));
    if (options.token_file.empty()) return admin;
    auto token = auth::ReadToken(options.token_file);
    if (!token) return Prefixed(token.error(), "--token-file");
    admin.headers_["Authorization"] = "Bearer " + *token;
    return admin;
  }

  Result<std::string> Send(const std::string& method, const std::string& target, const std::string& body = "") const {
    auto response = client_->Send({method, target, headers_, body});
    if (!response && response.error().message.find(kNotHttp) != std::string::npos) return NotAdmin();
    if (!response) return tl::make_unexpected(response.error());
    return BodyOf(*std::move(response));
  }

  Result<Json> State() const {
    ASSIGN_OR_RETURN(const std::string text, Send("GET", kState));
    return ParseJson(text);
  }

 private:
  tl::unexpected<Error> NotAdmin() const {
    return FailedPrecondition(
        "{}: this is not the administration listener of a node, whose port is 8502 by default; `longshore describe "
        "fleet NAME` lists it under ADMIN",
        address_);
  }

  Result<std::string> BodyOf(http_client::Response response) const {
    if (response.status == 200) return std::move(response.body);
    if (response.status == 404 && response.body.starts_with("<")) return NotAdmin();
    std::string reason = response.body.substr(0, response.body.find('\n'));
    if (response.status == 401) reason += ": use --token-file";
    return Fail(CodeOf(response.status), "{}: {}", address_,
                reason.empty() ? fmt::format("HTTP status {}", response.status) : reason);
  }

  std::string address_;
  std::unique_ptr<http_client::Client> client_;
  std::map<std::string, std::string> headers_;
};

struct Progress {
  int64_t id = 0;  // The number of the recording.
  bool done = false;
  int64_t runs = 0;
  int64_t runs_left_out = 0;
  int64_t nodes = 0;
  int64_t nodes_left_out = 0;
};

Result<Progress> ProgressOf(const Json& state) try {
  if (!state.is_object()) return DataLoss("the node sent a recording state that is not a JSON object");
  return Progress{.id = state.value("id", int64_t{0}),
                  .done = state.value("state", "") == "done",
                  .runs = state.value("runs", int64_t{0}),
                  .runs_left_out = state.value("runs_left_out", int64_t{0}),
                  .nodes = state.value("nodes", int64_t{0}),
                  .nodes_left_out = state.value("nodes_left_out", int64_t{0})};
} catch (const Json::type_error& error) {
  return DataLoss("the node sent a malformed recording state: {}", error.what());
}

Status CheckIsOurs(const Progress& now, const Progress& first) {
  if (now.id == first.id) return {};
  return FailedPrecondition("another recording has replaced this one: try again");
}

Result<Progress> Wait(const Admin& admin, const Progress& first, const ProfileOptions& options, std::ostream& notes) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(options.seconds) + kGrace;
  Progress seen = first;
  while (!seen.done) {
    if (std::chrono::steady_clock::now() > deadline)
      return DeadlineExceeded("the recording did not end {} s after its time limit", kGrace.count());
    std::this_thread::sleep_for(kPollInterval);
    ASSIGN_OR_RETURN(const Json state, admin.State());
    ASSIGN_OR_RETURN(const Progress now, ProgressOf(state));
    RETURN_IF_ERROR(CheckIsOurs(now, first));
    if (now.runs != seen.runs) notes << fmt::format("recorded {} of {} runs", now.runs, options.runs) << std::endl;
    seen = now;
  }
  return seen;
}

// Parses the recording's state from the head of a trace, without parsing its many events.
Result<Progress> ProgressIn(std::string_view trace) {
  const size_t events = trace.find(",\"traceEvents\"");
  if (events == std::string_view::npos) return DataLoss("the node's answer is not a trace");
  ASSIGN_OR_RETURN(const Json head, ParseJson(std::string(trace.substr(0, events)) + "}"));
  return ProgressOf(head.value("otherData", Json()));
}

struct Trace {
  std::string text;
  Progress progress;
};

Result<Trace> Fetch(const Admin& admin, const Progress& first) {
  Trace trace;
  ASSIGN_OR_RETURN(trace.text, admin.Send("GET", kProfile));
  ASSIGN_OR_RETURN(trace.progress, ProgressIn(trace.text));
  RETURN_IF_ERROR(CheckIsOurs(trace.progress, first));
  return trace;
}

// Called before the recording, so that the user does not wait for a trace that cannot be written.
Status CheckCanBeWritten(const std::string& out) {
  if (out == "-") return {};
  std::error_code ignored;
  if (std::filesystem::is_directory(out, ignored)) return InvalidArgument("--out: {} is a folder", out);
  const Path folder = Path(out).has_parent_path() ? Path(out).parent_path() : Path(".");
  if (access(folder.c_str(), W_OK | X_OK) == 0) return {};
  return InvalidArgument("--out: cannot write to folder {}: {}", folder.string(), strerror(errno));
}

void PrintSummary(const Progress& seen, const ProfileOptions& options, std::ostream& notes) {
  if (seen.runs < options.runs) {
    notes << fmt::format("only {} of {} runs happened within {} s\n", seen.runs, options.runs, options.seconds);
  }
  if (seen.runs_left_out > 0) {
    notes << fmt::format("the node did not record {} of the runs for lack of memory\n", seen.runs_left_out);
  }
  if (seen.nodes_left_out > 0) {
    notes << fmt::format("{} more graph nodes did not fit into the recording: use a smaller --runs\n",
                         seen.nodes_left_out);
  }
  if (options.out == "-") return;
  notes << fmt::format("{}: {} runs, {} graph nodes; open it at https://ui.perfetto.dev or in chrome://tracing\n",
                       options.out, seen.runs, seen.nodes);
}

}  // namespace

Status RecordProfile(const ProfileOptions& options, std::ostream& out, std::ostream& notes) {
  RETURN_IF_ERROR(CheckCanBeWritten(options.out));
  ASSIGN_OR_RETURN(const Admin admin, Admin::Open(options));
  const Json wanted = {{"model", options.model}, {"runs", options.runs}, {"seconds", options.seconds}};
  ASSIGN_OR_RETURN(const std::string begun, admin.Send("POST", kProfile, wanted.dump()));
  ASSIGN_OR_RETURN(const Json state, ParseJson(begun));
  ASSIGN_OR_RETURN(const Progress first, ProgressOf(state));
  const std::string models = options.model.empty() ? "any model" : "model \"" + options.model + "\"";
  notes << fmt::format("waiting for {} runs of {} for at most {} s", options.runs, models, options.seconds)
        << std::endl;
  ASSIGN_OR_RETURN(const Progress seen, Wait(admin, first, options, notes));
  if (seen.runs == 0) {
    return DeadlineExceeded(
        "no run of {} happened within {} s: send requests during the recording, or use a larger --seconds", models,
        options.seconds);
  }
  ASSIGN_OR_RETURN(const Trace trace, Fetch(admin, first));
  if (options.out == "-") {
    out << trace.text;
  } else {
    RETURN_IF_ERROR(WriteFileAtomically(options.out, trace.text));
  }
  PrintSummary(trace.progress, options, notes);
  return {};
}

}  // namespace longshore::cli
