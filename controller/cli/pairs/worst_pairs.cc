#include "controller/cli/pairs/worst_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "common/base/text.h"
#include "common/net/http_client/client.h"
#include "controller/cli/text/shadow.h"
#include "controller/cli/text/table.h"
#include "controller/store/local/controller_lock.h"

namespace longshore::cli::pairs {
namespace {

constexpr std::chrono::milliseconds kPatience{1000};
constexpr size_t kAnswerBytesMax = size_t{8} << 20;
constexpr size_t kPairsMax = 3;
constexpr size_t kErrorBytesMax = 60;
constexpr const char* kInConsole = "  The console shows the pairs whose answers differ most: longshore console\n";

// A null value if the key is absent.
Json ValueIn(const Json& json, const char* key) { return json.is_object() ? json.value(key, Json()) : Json(); }

std::string TextIn(const Json& json, const char* key) {
  const Json text = ValueIn(json, key);
  return text.is_string() ? text.get<std::string>() : "";
}

std::string NumberIn(const Json& json, const char* key) {
  const Json number = ValueIn(json, key);
  return number.is_number() ? fmt::format("{:.3g}", number.get<double>()) : "-";
}

// What differs: the output, or the version whose run failed.
std::string WhatDiffers(const Json& pair) {
  if (std::string output = TextIn(pair, "output"); !output.empty()) return output;
  for (const char* version : {"stable", "candidate"}) {
    const std::string error = TextIn(ValueIn(pair, version), "error");
    if (!error.empty()) return fmt::format("{} failed: {}", version, CutText(error, kErrorBytesMax));
  }
  return "-";
}

Result<Json> AskConsole(const std::string& console, const api::Metadata& metadata) {
  ASSIGN_OR_RETURN(
      const auto client,
      http_client::Client::Make({.base_url = console, .idle_max = kPatience, .body_bytes_max = kAnswerBytesMax}));
  const std::string target = fmt::format("/api/v1/models/{}/{}/history", metadata.namespace_, metadata.name);
  ASSIGN_OR_RETURN(const http_client::Response answer, client->Send({.target = target}));
  if (answer.status != 200) return Unavailable("HTTP status {}", answer.status);
  return ParseJson(answer.body);
}

}  // namespace

std::string WorstPairsTable(const Json& history) {
  const Json pairs = ValueIn(history, "worstPairs");
  if (!pairs.is_array() || pairs.empty()) return "";
  text::Table table({"DIFFERS MOST", "RELATIVE", "ABSOLUTE", "REQUEST", "NODE", "TRACE"});
  for (size_t i = 0; i < std::min(pairs.size(), kPairsMax); ++i) {
    const Json& pair = pairs[i];
    const std::string trace = TextIn(pair, "traceId");
    table.Add({WhatDiffers(pair), NumberIn(pair, "relativeDifference"), NumberIn(pair, "absoluteDifference"),
               fmt::format("{}, {} rows", TextIn(pair, "signature"), NumberIn(pair, "rows")), TextIn(pair, "node"),
               trace.empty() ? "-" : trace});
  }
  return table.Text(2) + "  The console shows more of these pairs: longshore console\n";
}

std::string WorstPairsText(const api::Model& model, const Path& manifests) {
  if (text::PairsText(model.status.rollout).empty()) return "";
  if (manifests.empty()) return kInConsole;
  const auto controller = store::local::ReadControllerLock(manifests);
  if (!controller || !controller->is_running || controller->console.empty()) return "";
  const auto history = AskConsole(controller->console, model.metadata);
  return history ? WorstPairsTable(*history) : kInConsole;
}

}  // namespace longshore::cli::pairs
