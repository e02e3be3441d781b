#include "tests/bench/control/writers.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include "controller/api/types.h"
#include "controller/kube/api.h"
#include "controller/store/kube/kube_store.h"

namespace longshore::bench::control {
namespace {

constexpr double kUnlimited = 1e6;  // Requests per second: so many that the limit has no effect.
const SteadyClock kClock;

kube::ApiOptions Unlimited() {
  kube::ApiOptions options;
  options.requests_per_second = options.burst = kUnlimited;
  options.request_idle_max = std::chrono::milliseconds(60'000);
  return options;
}

std::string CollectionOf(const std::string& namespace_) {
  return fmt::format("/apis/{}/namespaces/{}/models", api::kApiVersion, namespace_);
}

Json ModelOf(int i, const WriteOptions& options) {
  return {{"apiVersion", api::kApiVersion},
          {"kind", api::kModelKind},
          {"metadata", {{"name", fmt::format("m{}", i)}, {"namespace", options.namespace_}}},
          {"spec",
           {{"fleet", fmt::format("f{}", i % options.fleets)},
            {"source", {{"uri", "file:///models/digits"}}},
            {"version", 1},
            {"replicas", 1}}}};
}

// A status like the one that the controller writes for a Model that is served.
Json StatusOf() {
  Json conditions = Json::array();
  for (const char* type : {"Ready", "Reconciling", "Stalled", "Progressing", "FleetFound", "NameAccepted", "FilesAgree",
                           "ManifestAccepted"}) {
    conditions.push_back({{"type", type},
                          {"status", "True"},
                          {"reason", "Because"},
                          {"message", "version 1 is ready on 1 of 1 nodes"},
                          {"observedGeneration", 1},
                          {"lastTransitionTime", "2026-01-01T00:00:00.000Z"}});
  }
  return {{"conditions", conditions}, {"observedGeneration", 1}, {"stableVersion", 1}, {"epoch", 1}};
}

Status WriteOne(kube::Api& api, int i, const WriteOptions& options) {
  Json model = ModelOf(i, options);
  const std::string collection = CollectionOf(options.namespace_);
  ASSIGN_OR_RETURN(const std::string made, api.Send({.method = "POST", .target = collection, .body = model.dump()}));
  if (!options.status) return {};
  ASSIGN_OR_RETURN(const Json stored, ParseJson(made));
  model["metadata"]["resourceVersion"] = stored.at("metadata").at("resourceVersion");
  model["status"] = StatusOf();
  RETURN_IF_ERROR(
      api.Send({.method = "PUT", .target = fmt::format("{}/m{}/status", collection, i), .body = model.dump()}));
  return {};
}

Status TouchOne(kube::Api& api, int i, const WriteOptions& options) {
  const Json patch = {{"metadata", {{"annotations", {{"longshore.dev/touched", std::to_string(i)}}}}}};
  RETURN_IF_ERROR(api.Send({.method = "PATCH",
                            .target = fmt::format("{}/m{}", CollectionOf(options.namespace_), i % options.models),
                            .body = patch.dump(),
                            .content_type = "application/merge-patch+json"}));
  return {};
}

// Calls write(api, i) for each i below `count` on several threads. Returns how long that took, or the first error.
template <typename WriteIt>
Result<Duration> InParallel(const kube::Cluster& cluster, int threads, int count, const WriteIt& write) {
  ASSIGN_OR_RETURN(const auto api, kube::Api::Make(cluster, Unlimited(), kClock));
  const MonotonicPoint began = kClock.Now();
  std::atomic<int> next = 0;
  std::mutex mutex;
  Status first_error;
  std::vector<std::thread> writers;
  for (int w = 0; w < threads; ++w) {
    writers.emplace_back([&] {
      for (int i = next++; i < count; i = next++) {
        const Status written = write(*api, i);
        if (written) continue;
        const std::lock_guard lock(mutex);
        if (first_error) first_error = written;
        next = count;
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  if (!first_error) return tl::make_unexpected(first_error.error());
  return kClock.Now() - began;
}

bool IsReady(const store::Object& object) {
  if (!object.status.is_object()) return false;
  for (const Json& condition : object.status.value("conditions", Json::array())) {
    if (condition.at("type") == "Ready") return condition.at("status") == "True";
  }
  return false;
}

}  // namespace

Result<Duration> WriteModels(const kube::Cluster& cluster, const WriteOptions& options) {
  return InParallel(cluster, options.writers, options.models,
                    [&](kube::Api& api, int i) { return WriteOne(api, i, options); });
}

Result<Duration> TouchModels(const kube::Cluster& cluster, const WriteOptions& options, int times) {
  return InParallel(cluster, options.writers, times, [&](kube::Api& api, int i) { return TouchOne(api, i, options); });
}

Status DeleteModels(const kube::Cluster& cluster, const std::string& namespace_) {
  ASSIGN_OR_RETURN(const auto api, kube::Api::Make(cluster, Unlimited(), kClock));
  for (;;) {
    const auto answer = api->Send({.method = "DELETE", .target = CollectionOf(namespace_)});
    if (!answer) return tl::make_unexpected(answer.error());
    ASSIGN_OR_RETURN(const std::string left, api->Send({.target = CollectionOf(namespace_) + "?limit=1"}));
    ASSIGN_OR_RETURN(const Json list, ParseJson(left));
    if (list.at("items").empty()) return {};
  }
}

Status AwaitReady(const kube::Cluster& cluster, const WriteOptions& options, Duration time_max,
                  const std::stop_token& given_up, const std::function<void()>& begun) {
  store::kube::KubeStoreOptions store_options;
  store_options.namespaces = {options.namespace_};
  ASSIGN_OR_RETURN(const auto store, store::kube::KubeStore::Open(cluster, store_options, kClock));
  std::mutex mutex;
  std::condition_variable_any changed;
  std::set<api::Key> ready;
  const auto look = [&](const api::Key& key) {
    if (key.kind != api::kModelKind) return;
    const auto object = store->Get(key);
    if (!object || !IsReady(*object)) return;
    const std::lock_guard lock(mutex);
    ready.insert(key);
    if (ready.size() == static_cast<size_t>(options.models)) changed.notify_all();
  };
  ASSIGN_OR_RETURN(const auto watch, store->WatchAll(look));
  begun();
  std::unique_lock lock(mutex);
  const auto all = [&] { return ready.size() == static_cast<size_t>(options.models); };
  if (changed.wait_for(lock, given_up, time_max, all)) return {};
  if (given_up.stop_requested()) return Cancelled("not all Models could be created");
  return Unavailable("after {} s, only {} of {} Models are Ready", time_max / std::chrono::seconds(1), ready.size(),
                     options.models);
}

}  // namespace longshore::bench::control
