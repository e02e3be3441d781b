// For tests of the Reconciler: fake nodes and processes that carry out each command at once, and a fixture with a fleet
// of one node.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controller/api/parse.h"
#include "controller/reconcile/failed_files.h"
#include "controller/reconcile/reconciler.h"
#include "controller/store/forwarding_store.h"
#include "controller/store/local/local_store.h"

namespace longshore::reconcile {

inline constexpr const char* kFleet = "default/cpu";
inline const api::Key kFleetKey{api::kServingFleetKind, "default", "cpu"};

inline api::Key ModelKey(const std::string& name) { return {api::kModelKind, "default", name}; }

// A fake of nodes::Registry.
class FakeRegistry final : public nodes::Registry {
 public:
  int port() const override { return 0; }
  int64_t epoch() const override { return 1; }
  void Close() override {}
  std::vector<nodes::ViewPtr> Nodes(const std::string&) const override {
    std::vector<nodes::ViewPtr> all;
    for (const auto& [_, view] : views) all.push_back(std::make_shared<const nodes::NodeView>(view));
    return all;
  }
  nodes::ViewPtr Node(const std::string&, const std::string& node) const override {
    const auto found = views.find(node);
    return found == views.end() ? nullptr : std::make_shared<const nodes::NodeView>(found->second);
  }
  Status Send(const std::string&, const std::string& node, control::FromController message,
              std::shared_ptr<const nodes::FleetPart> part) override {
    nodes::NodeView& view = views.at(node);
    if (!view.connected) return NotFound("node {} is not attached", node);
    if (!message.has_snapshot() && !message.has_drain() && !view.sent)
      return FailedPrecondition("node {} has no snapshot yet", node);
    message.set_epoch(1);
    message.set_revision(++revision_);
    nodes::ApplyMessage(message, part, nodes::Unshared(view.sent));
    messages[node].push_back(message);
    if (confirms && view.report) Confirm(node);
    return {};
  }
  void Forget(const std::string&, const std::string& node) override {
    if (const auto found = views.find(node); found != views.end() && !found->second.connected) views.erase(found);
  }

  // Connects the node, which reports the versions in `ready`, for example {"m", 1}, as ready.
  void Attach(const std::string& node, const std::vector<std::pair<std::string, int64_t>>& ready = {}) {
    nodes::NodeView& view = views[node];
    view.hello.set_fleet(kFleet);
    view.hello.set_node(node);
    view.hello.set_incarnation("i");
    view.hello.set_match_rules(true);
    view.connected = view.reported = true;
    view.report.reset();
    control::Report& report = nodes::Unshared(view.report);
    for (const auto& [name, number] : ready) {
      control::VersionReport& version = *report.add_versions();
      version.set_served_name(name);
      version.set_version(number);
      version.set_state(control::VersionReport::READY);
    }
  }
  // Sets how many requests each version of the node has answered since the node started.
  void Answered(const std::string& node, int64_t requests) {
    for (control::VersionReport& version : *nodes::Unshared(views.at(node).report).mutable_versions()) {
      version.mutable_evidence()->set_requests(requests);
      version.mutable_evidence()->mutable_run_time_buckets()->Resize(81, 0);
      version.mutable_evidence()->set_run_time_buckets(80, requests);
    }
  }
  // Sets how many pairs of this version the node has made since it started, and in how many a row differs by the rule.
  void Paired(const std::string& node, int64_t version, const control::OutputEvidence& output) {
    for (control::VersionReport& report : *nodes::Unshared(views.at(node).report).mutable_versions()) {
      if (report.version() != version) continue;
      control::PairEvidence& pairs = *report.mutable_evidence()->mutable_pairs();
      pairs.set_pairs(output.pairs());
      pairs.clear_outputs();
      *pairs.add_outputs() = output;
    }
  }
  // The node reports that it has carried out all messages.
  void Confirm(const std::string& node) {
    nodes::NodeView& view = views.at(node);
    control::Report& report = nodes::Unshared(view.report);
    report.set_epoch(1);
    report.set_revision(revision_);
    if (view.sent) nodes::ForgetDone(report, nodes::Unshared(view.sent));
  }
  void Leave(const std::string& node, MonotonicPoint now = {}) {
    nodes::NodeView& view = views.at(node);
    view.connected = view.reported = false;
    view.lost_at = now;
  }

  bool confirms = true;  // Whether nodes confirm each message at once.
  std::map<std::string, nodes::NodeView> views;
  std::map<std::string, std::vector<control::FromController>> messages;  // Key: node.

 private:
  int64_t revision_ = 0;
};

class FakeFleet final : public fleet::Fleet {
 public:
  Result<fleet::Addresses> Ensure(const api::ServingFleet&) override { return addresses; }
  Status Scale(const std::string&, int wanted, const std::vector<std::string>& leave_first) override {
    if (wanted != Wanted("")) on_change();
    for (int i = 0; Wanted("") < wanted; ++i) {
      RETURN_IF_ERROR(starting);
      const std::string node = "default.cpu-" + std::to_string(i);
      nodes.try_emplace(node,
                        fleet::NodeInfo{.node = node, .pid = 1, .started_at = {}, .last_exit = {}, .trouble = {}});
    }
    std::vector<std::string> order = leave_first;
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) order.push_back(node->first);
    Status first;
    int too_many = static_cast<int>(nodes.size()) - surplus - wanted;
    for (auto node = order.begin(); too_many > 0 && node != order.end(); ++node, --too_many) {
      if (staying.contains(*node) && first) first = Unavailable("{} cannot be removed", *node);
      if (staying.contains(*node)) continue;
      if (stops_late) {
        ++surplus;
      } else {
        nodes.erase(*node);
      }
    }
    return first;
  }
  Status Restart(const std::string&, const std::string& node) override {
    restarted.push_back(node);
    return restarting;
  }
  int Wanted(const std::string&) const override { return static_cast<int>(nodes.size()) + not_created - surplus; }
  std::vector<fleet::NodeInfo> Nodes(const std::string&) const override {
    std::vector<fleet::NodeInfo> all;
    for (const auto& [_, info] : nodes) all.push_back(info);
    return all;
  }
  fleet::Progress ProgressOf(const std::string&) const override { return progress; }
  std::vector<std::string> Fleets() const override { return {kFleet}; }
  Status Remove(const std::string& fleet) override { return Scale(fleet, 0, {}); }
  Status StopListening(const std::string&) override {
    refuses = true;
    return {};
  }

  std::function<void()> on_change;
  Result<fleet::Addresses> addresses = fleet::Addresses{"grpc", "rest"};
  fleet::Progress progress;
  bool refuses = false;  // Whether StopListening was called.
  Status starting;
  std::vector<std::string> restarted;  // Nodes for which Restart was called.
  Status restarting;
  int not_created = 0;  // Wanted nodes that do not exist yet, like pods above a quota.
  int surplus = 0;      // Nodes that exist although they are not wanted, like the new pod during an update of the pods.
  bool stops_late = false;  // Whether removed nodes go on existing as if they were not asked to stop, as pods do.
  std::set<std::string> staying;
  std::map<std::string, fleet::NodeInfo> nodes;
};

// A fake of signals::Source that returns the same metrics at every time.
class FakeSource final : public signals::Source {
 public:
  FakeSource(const autoscale::FleetMetrics& metrics, size_t& ready) : metrics_(metrics), ready_(ready) {}
  autoscale::FleetMetrics Latest(const std::vector<nodes::ViewPtr>& ready, TimePoint now) override {
    ready_ = ready.size();
    autoscale::FleetMetrics metrics = metrics_;
    metrics.utilization.at = metrics.queue_delay_seconds.at = now;
    metrics.demand.arrivals_per_second.at = metrics.demand.node_capacity_per_second.at = metrics.demand.queued.at = now;
    return metrics;
  }

 private:
  const autoscale::FleetMetrics& metrics_;
  size_t& ready_;
};

// A store whose disk may be full for some objects.
class FullDisk final : public store::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<store::Object> PutStatus(const api::Key& key, const std::string& uid, const std::string& version,
                                  const Json& status) override {
    if (full_for.contains(key)) return ResourceExhausted("no space left on device");
    ++writes[key];
    return ForwardingStore::PutStatus(key, uid, version, status);
  }

  std::set<api::Key> full_for;
  std::map<api::Key, int> writes;  // Number of status writes by object.
};

// A fake of FailedFiles: the versions of all Models get other files at the given times.
class FakeFailedFiles final : public FailedFiles {
 public:
  std::set<int64_t> Watch(const api::Model& model) override {
    std::set<int64_t> others;
    watched[model.metadata.name].clear();
    for (const api::FailedVersion& failed : model.status.failed) {
      watched[model.metadata.name].insert(failed.version);
      const auto changed = changed_at.find(failed.version);
      if (changed != changed_at.end() && changed->second > failed.at) others.insert(failed.version);
    }
    return others;
  }
  void Forget(const api::Key& model) override { watched.erase(model.name); }

  std::map<int64_t, TimePoint> changed_at;
  std::map<std::string, std::set<int64_t>> watched;  // Key: Model. Value: its failed versions.
};

class ReconcilerTest : public ::testing::Test {
 protected:
  ReconcilerTest() {
    char name[] = "/tmp/longshore_reconcile_XXXXXX";
    dir_ = mkdtemp(name);
    local_ = store::local::LocalStore::Open({.dir = dir_}).value();
    disk_ = std::make_unique<FullDisk>(*local_);
    processes_.on_change = [this] { due_.insert(kFleetKey); };
    Apply(api::kServingFleetKind, "cpu", {{"replicas", {{"min", 1}, {"max", 1}}}});
    Restart();
  }
  ~ReconcilerTest() override { std::filesystem::remove_all(dir_); }

  // Starts a new controller on the same directory.
  void Restart(Duration unwritten_max = Duration(0), Duration evidence_unwritten_min = Duration(0)) {
    Deps deps{*disk_,
              nodes_,
              processes_,
              clock_,
              timer_,
              [](const api::Key&) { return std::nullopt; },
              [this](const signals::Query& query) {
                queries_.push_back(query);
                return has_source_ ? std::make_unique<FakeSource>(metrics_, ready_nodes_) : nullptr;
              },
              [this](const api::Key& key, Duration after) {
                due_.insert(key);
                queued_after_[key] = after;
              },
              [this](const Event& event) { events_.push_back(event); },
              [this](const api::Key& key, const api::RolloutStatus& rollout) {
                ended_.push_back(ToString(key) + ": " + std::string(api::RolloutPhaseName(rollout.phase)));
              },
              &failed_files_};
    reconciler_ =
        std::make_unique<Reconciler>(std::move(deps), Options{.adoption_grace = adoption_grace_,
                                                              .unwritten_max = unwritten_max,
                                                              .model_pause = std::chrono::milliseconds(10),
                                                              .evidence_unwritten_min = evidence_unwritten_min});
  }
  void Apply(const char* kind, const std::string& name, Json spec, const std::string& namespace_ = "default") {
    store::Object object;
    object.kind = kind;
    object.metadata.name = name;
    object.metadata.namespace_ = namespace_;
    object.spec = std::move(spec);
    ASSERT_TRUE(disk_->Apply(object));
  }
  void ApplyModel(const std::string& name) {
    Apply(api::kModelKind, name, {{"fleet", "cpu"}, {"source", {{"uri", "file:///models/" + name}}}, {"version", 1}});
    due_.insert(ModelKey(name));
  }
  // Applies a Model of namespace "team" for the fleet of namespace "default".
  void ApplyGuest(const std::string& name) {
    Apply(api::kModelKind, name, {{"fleet", kFleet}, {"source", {{"uri", "file:///models/" + name}}}, {"version", 1}},
          "team");
    due_.insert({api::kModelKind, "team", name});
  }
  std::string GuestCondition(const std::string& name, const std::string& type) {
    const auto status = api::ModelStatusFromJson(disk_->Get({api::kModelKind, "team", name})->status).value();
    const auto found = std::ranges::find(status.conditions, type, &api::Condition::type);
    return found == status.conditions.end() ? "none" : found->status + ": " + found->reason;
  }
  // Reconciles all objects that are due, and those that become due meanwhile, until nothing changes. Ignores failures.
  void Settle(std::set<api::Key> first = {kFleetKey}) {
    due_.merge(first);
    constexpr int kReconcilesMax = 1000;
    for (int i = 0; i < kReconcilesMax && !due_.empty(); ++i) {
      const api::Key key = due_.extract(due_.begin()).value();
      const auto outcome = reconciler_->Reconcile(key);
      if (outcome && *outcome && **outcome == Duration(0)) due_.insert(key);
    }
    due_.clear();
  }
  api::ModelStatus StatusOf(const std::string& model) {
    return api::ModelStatusFromJson(disk_->Get(ModelKey(model))->status).value();
  }
  void Damage(const std::string& model) {
    std::ofstream(dir_ / ".longshore/objects/Model/default" / (model + ".json")) << "{";
  }
  std::vector<std::string> Holds(const std::string& node) {
    std::vector<std::string> names;
    if (!nodes_.views.at(node).sent) return {"no snapshot"};
    for (const auto& [name, _] : nodes_.views.at(node).sent->models) names.push_back(name);
    return names;
  }
  // Returns the condition of the fleet as "<status>: <reason>: <message>".
  std::string ConditionOf(const std::string& type) {
    const auto status = api::ServingFleetStatusFromJson(disk_->Get(kFleetKey)->status).value();
    for (const api::Condition& condition : status.conditions) {
      if (condition.type == type) return condition.status + ": " + condition.reason + ": " + condition.message;
    }
    return "none";
  }

  Path dir_;
  FakeClock clock_{TimePoint(std::chrono::hours(1))};
  FakeMonotonicClock timer_;
  Duration adoption_grace_{0};
  std::unique_ptr<store::local::LocalStore> local_;
  std::unique_ptr<FullDisk> disk_;
  FakeRegistry nodes_;
  FakeFleet processes_;
  FakeFailedFiles failed_files_;
  std::set<api::Key> due_;
  std::map<api::Key, Duration> queued_after_;  // The delay with which the object was last scheduled.
  std::vector<Event> events_;
  std::vector<signals::Query> queries_;  // The queries for which a source of metrics was requested.
  bool has_source_ = true;               // Whether such a request succeeds.
  autoscale::FleetMetrics metrics_;      // The metrics that each source returns.
  size_t ready_nodes_ = 0;               // The number of ready nodes in the newest request to a source.
  std::vector<std::string> ended_;       // Rollouts that ended: "<key>: <phase>".
  std::unique_ptr<Reconciler> reconciler_;
};

}  // namespace longshore::reconcile
