#include "controller/runtime/failpoint.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>

#include "controller/store/forwarding_store.h"

namespace longshore::runtime {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Names a status write by phase and weight only, because the timing of other fields, such as the states of nodes,
// varies between runs.
std::string NameOf(const api::Key& key, const Json& status) {
  const auto rollout = status.find("rollout");
  if (rollout == status.end()) return "status of " + ToString(key);
  return fmt::format("status of {} {} {:g}%", ToString(key), rollout->value("phase", ""),
                     rollout->value("weight", 0.0));
}

std::string NameOf(const control::FromController& message, const std::string& node) {
  std::string name = message.has_snapshot() ? "snapshot" : message.has_change() ? "change" : "fleet";
  name += " for " + node;
  for (const control::VersionState& version : message.change().model().versions()) {
    name += fmt::format(" {}@{}{}{}", version.version(), version.weight_bp(), version.load() ? "+load" : "",
                        version.rehearse() ? "+rehearse" : "");
  }
  return name;
}

class CountedStore final : public store::ForwardingStore {
  template <typename Operation>
  auto Counted(const std::string& what, Operation operation) {
    failpoint_.Begin(what);
    auto result = operation();
    failpoint_.Done([] { return true; });
    return result;
  }

 public:
  CountedStore(store::Store& store, Failpoint& failpoint) : ForwardingStore(store), failpoint_(failpoint) {}

  Result<store::Object> Apply(const store::Object& object) override {
    return Counted("apply " + object.kind + " " + object.metadata.name, [&] { return ForwardingStore::Apply(object); });
  }
  Result<store::Object> PutStatus(const api::Key& key, const std::string& uid, const std::string& resource_version,
                                  const Json& status) override {
    return Counted(NameOf(key, status), [&] { return ForwardingStore::PutStatus(key, uid, resource_version, status); });
  }
  Status Delete(const api::Key& key, const std::string& uid) override {
    return Counted("delete " + ToString(key), [&] { return ForwardingStore::Delete(key, uid); });
  }

 private:
  Failpoint& failpoint_;
};

class CountedRegistry final : public nodes::Registry {
 public:
  CountedRegistry(nodes::Registry& registry, Failpoint& failpoint) : registry_(registry), failpoint_(failpoint) {}

  int port() const override { return registry_.port(); }

  int64_t epoch() const override { return registry_.epoch(); }
  void Close() override { registry_.Close(); }
  std::vector<nodes::ViewPtr> Nodes(const std::string& fleet) const override { return registry_.Nodes(fleet); }
  nodes::ViewPtr Node(const std::string& fleet, const std::string& node) const override {
    return registry_.Node(fleet, node);
  }
  void Forget(const std::string& fleet, const std::string& node) override { registry_.Forget(fleet, node); }

  Status Send(const std::string& fleet, const std::string& node, control::FromController message,
              std::shared_ptr<const nodes::FleetPart> part) override {
    failpoint_.Begin(NameOf(message, node));
    const Status sent = registry_.Send(fleet, node, std::move(message), std::move(part));
    failpoint_.Done([&] { return !sent || HasTaken(fleet, node); });
    return sent;
  }

 private:
  bool HasTaken(const std::string& fleet, const std::string& node) const {
    const nodes::ViewPtr view = registry_.Node(fleet, node);
    return !view || !view->connected || !view->sent || view->acked_revision >= view->sent->revision;
  }

  nodes::Registry& registry_;
  Failpoint& failpoint_;
};

}  // namespace

Result<CrashAt> ParseCrashAt(const std::string& text) {
  const size_t colon = text.find(':');
  const std::string mode = text.substr(0, colon);
  const std::string point = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (point.empty() || (mode != "before" && mode != "lost" && mode != "after")) {
    return InvalidArgument("LONGSHORE_CRASH_AT is \"{}\", not before:NAME, lost:NAME or after:NAME", text);
  }
  return CrashAt{mode == "before" ? CrashMode::kBefore : mode == "lost" ? CrashMode::kLost : CrashMode::kAfter, point};
}

Failpoint::Failpoint(std::optional<CrashAt> crash_at, Path count_file)
    : crash_at_(crash_at), count_file_(std::move(count_file)) {}

Result<std::unique_ptr<Failpoint>> Failpoint::FromEnvironment() {
  std::optional<CrashAt> crash_at;
  if (const std::string text = Environment("LONGSHORE_CRASH_AT"); !text.empty()) {
    ASSIGN_OR_RETURN(crash_at, ParseCrashAt(text));
  }
  return std::make_unique<Failpoint>(crash_at, Environment("LONGSHORE_CRASH_COUNT_FILE"));
}

void Failpoint::Begin(const std::string& what) {
  const std::scoped_lock lock(mutex_);
  if (Is(CrashMode::kAfter)) Die();
  point_ = fmt::format("{}#{}", what, ++counts_[what]);
  if (!count_file_.empty()) {
    const int file = open(count_file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    const std::string line = point_ + "\n";
    // Exits if the line cannot be written: with a wrong count the test would be useless.
    if (file < 0 || write(file, line.data(), line.size()) < 0) Die();
    close(file);
  }
  if (Is(CrashMode::kBefore)) Die();
}

void Failpoint::Done(const std::function<bool()>& is_applied) {
  const std::scoped_lock lock(mutex_);
  if (!Is(CrashMode::kLost)) return;
  constexpr int kChecksMax = 5000;
  for (int i = 0; i < kChecksMax && !is_applied(); ++i) poll(nullptr, 0, 1);
  Die();
}

void Failpoint::Processed() {
  const std::scoped_lock lock(mutex_);
  if (Is(CrashMode::kAfter)) Die();
}

void Failpoint::Die() {
  raise(SIGKILL);
  std::abort();
}

std::unique_ptr<store::Store> WithFailpoints(store::Store& store, Failpoint& failpoint) {
  return std::make_unique<CountedStore>(store, failpoint);
}

std::unique_ptr<nodes::Registry> WithFailpoints(nodes::Registry& registry, Failpoint& failpoint) {
  return std::make_unique<CountedRegistry>(registry, failpoint);
}

}  // namespace longshore::runtime
