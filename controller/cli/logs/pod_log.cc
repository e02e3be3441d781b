#include "controller/cli/logs/pod_log.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "controller/kube/api.h"

namespace longshore::cli::logs {
namespace {

// A kubelet ends a log that has had no new line for this time, so this client need not give up earlier.
constexpr std::chrono::hours kQuietMax{4};

std::string TargetOf(const PodContainer& of, const Wanted& wanted) {
  std::string target =
      fmt::format("/api/v1/namespaces/{}/pods/{}/log?container={}", of.namespace_, of.pod, of.container);
  if (wanted.follow) target += "&follow=true";
  if (wanted.previous) target += "&previous=true";
  if (wanted.tail) target += fmt::format("&tailLines={}", *wanted.tail);
  if (wanted.since)  // The API takes whole seconds from 1.
    target += fmt::format("&sinceSeconds={}",
                          std::max<int64_t>(1, std::chrono::ceil<std::chrono::seconds>(*wanted.since).count()));
  return target;
}

}  // namespace

Status PrintPodLog(const kube::Cluster& cluster, const PodContainer& of, const Wanted& wanted, Printer& printer) {
  const SteadyClock timer;
  kube::ApiOptions options;
  if (wanted.follow) options.watch_idle_max = kQuietMax;
  ASSIGN_OR_RETURN(const auto api, kube::Api::Make(cluster, options, timer));
  std::optional<kube::Refusal> refusal;
  const auto print = [&](std::string_view piece) {
    printer.Print(piece);
    return Status();
  };
  const Status read = api->Stream(TargetOf(of, wanted), "read", print, &refusal);
  printer.End();
  if (read || read.error().code != Code::kPermissionDenied) return read;
  return PermissionDenied(
      "you may not read the log of pod {}: this needs the verb get on the resource pods/log in namespace {}, which the "
      "ClusterRole view contains ({})",
      of.pod, of.namespace_, refusal ? refusal->message : read.error().message);
}

}  // namespace longshore::cli::logs
