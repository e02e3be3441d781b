#include "controller/leader/leadership.h"

#include <algorithm>
#include <utility>

#include "common/os/log.h"

namespace longshore::leader {
namespace {

std::string PathOf(const LeaseName& name, bool of_collection) {
  const std::string collection = fmt::format("/apis/coordination.k8s.io/v1/namespaces/{}/leases", name.namespace_);
  return of_collection ? collection : collection + "/" + name.name;
}

// Formats a time as metav1.MicroTime.
std::string MicroTime(TimePoint at) {
  const std::time_t seconds = ToUnixMillis(at) / 1000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                     utc.tm_hour, utc.tm_min, utc.tm_sec, at.time_since_epoch().count() % 1'000'000);
}

// The metadata that other clients have set. A replacement of the Lease must keep it.
Json ForeignMetadata(const Json& lease) {
  Json foreign = Json::object();
  const Json metadata = lease.value("metadata", Json::object());
  for (const char* key : {"labels", "annotations", "ownerReferences", "finalizers"}) {
    if (metadata.contains(key)) foreign[key] = metadata[key];
  }
  return foreign;
}

}  // namespace

Json ToJson(const LeaseName& name, const Lease& lease, TimePoint now, const Json& foreign_metadata) {
  Json metadata = foreign_metadata;
  metadata["name"] = name.name;
  metadata["namespace"] = name.namespace_;
  if (!lease.version.empty()) metadata["resourceVersion"] = lease.version;
  return {{"apiVersion", "coordination.k8s.io/v1"},
          {"kind", "Lease"},
          {"metadata", std::move(metadata)},
          {"spec",
           {{"holderIdentity", lease.holder},
            {"leaseDurationSeconds", std::chrono::ceil<std::chrono::seconds>(lease.duration).count()},
            {"leaseTransitions", lease.transitions},
            {"renewTime", MicroTime(now)}}}};
}

Result<Lease> FromJson(const Json& json) try {
  Lease lease;
  lease.version = json.at("metadata").at("resourceVersion").get<std::string>();
  const Json spec = json.value("spec", Json::object());
  lease.holder = spec.value("holderIdentity", "");
  lease.duration = std::chrono::seconds(spec.value("leaseDurationSeconds", int64_t{0}));
  lease.transitions = spec.value("leaseTransitions", int64_t{0});
  return lease;
} catch (const Json::exception& error) {  // A field is missing or has the wrong type.
  return DataLoss("not a valid Lease: {}", error.what());
}

Result<std::unique_ptr<Leadership>> Leadership::Start(const kube::Cluster& cluster, const LeaseName& lease,
                                                      const Options& options, const MonotonicClock& clock,
                                                      std::function<int64_t()> epoch_floor) {
  if (const std::string problem = ProblemWith(options); !problem.empty()) return InvalidArgument("{}", problem);
  kube::ApiOptions api_options;
  api_options.request_idle_max =
      std::chrono::duration_cast<std::chrono::milliseconds>((options.renew_deadline - options.retry_period) / 2);
  ASSIGN_OR_RETURN(auto api, kube::Api::Make(cluster, api_options, clock));
  return std::unique_ptr<Leadership>(new Leadership(std::move(api), lease, options, clock, std::move(epoch_floor)));
}

Leadership::Leadership(std::unique_ptr<kube::Api> api, LeaseName lease, Options options, const MonotonicClock& clock,
                       std::function<int64_t()> epoch_floor)
    : api_(std::move(api)),
      lease_(std::move(lease)),
      options_(options),
      clock_(clock),
      epoch_floor_(std::move(epoch_floor)),
      election_(options, clock.Now()),
      thread_([this] { Run(); }) {}

Leadership::~Leadership() {
  Stop();
  thread_.join();
  std::optional<Write> release;
  {
    const std::lock_guard lock(mutex_);
    if (election_.IsLeading(clock_.Now())) release = election_.Release();
  }
  if (!release) return;
  const auto written = api_->Send({.method = "PUT",
                                   .target = PathOf(lease_, false),
                                   .body = DumpJson(ToJson(lease_, release->lease, SystemClock().Now(), Metadata()))});
  if (!written)
    spdlog::warn("cannot release the Lease {}/{}, so another controller takes over only when it expires: {}",
                 lease_.namespace_, lease_.name, written.error().message);
}

void Leadership::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
}

int64_t Leadership::EpochAt(MonotonicPoint now) const { return election_.IsLeading(now) ? election_.epoch() : 0; }

int64_t Leadership::AwaitTerm() {
  std::unique_lock lock(mutex_);
  int64_t epoch = 0;
  changed_.wait(lock, [&] { return stopping_ || (epoch = EpochAt(clock_.Now())) != 0; });
  return stopping_ ? 0 : epoch;
}

void Leadership::AwaitEnd(int64_t epoch) {
  std::unique_lock lock(mutex_);
  while (!stopping_ && EpochAt(clock_.Now()) == epoch) {
    // While a renewal hangs, nothing notifies `changed_`, so this waits at most until the deadline.
    changed_.wait_for(lock, std::max(election_.deadline() - clock_.Now(), Duration(1000)));
  }
}

bool Leadership::IsLeading(int64_t epoch) const {
  const std::lock_guard lock(mutex_);
  return EpochAt(clock_.Now()) == epoch;
}

std::string Leadership::holder() const {
  const std::lock_guard lock(mutex_);
  return election_.holder();
}

void Leadership::Run() {
  for (;;) {
    const int64_t floor = epoch_floor_();
    std::unique_lock lock(mutex_);
    if (stopping_) return;
    const Move move = election_.Next(clock_.Now(), floor);
    if (const auto* wait = std::get_if<WaitUntil>(&move)) {
      changed_.wait_for(lock, wait->at - clock_.Now(), [this] { return stopping_; });
      continue;
    }
    lock.unlock();
    if (const auto* write = std::get_if<Write>(&move)) {
      WriteLease(*write);
    } else {
      ReadLease();
    }
    changed_.notify_all();
  }
}

Json Leadership::Metadata() const {
  Json metadata = foreign_metadata_;
  for (const auto& [name, text] : options_.annotations) metadata["annotations"][name] = text;
  return metadata;
}

void Leadership::ReadLease() {
  const auto answer = api_->Send({.target = PathOf(lease_, false)});
  const bool is_missing = !answer && answer.error().code == Code::kNotFound;
  const auto json = answer ? ParseJson(*answer) : tl::make_unexpected(answer.error());
  Result<std::optional<Lease>> lease = std::nullopt;
  if (!is_missing) {
    const auto read = json ? FromJson(*json) : tl::make_unexpected(json.error());
    lease = read ? Result<std::optional<Lease>>(*read) : tl::make_unexpected(read.error());
  }
  foreign_metadata_ = lease && *lease ? ForeignMetadata(*json) : Json::object();
  const std::lock_guard lock(mutex_);
  if (lease) return election_.OnRead(*lease, clock_.Now());
  spdlog::warn("cannot read the Lease {}/{}: {}", lease_.namespace_, lease_.name, lease.error().message);
  election_.OnReadFailed(clock_.Now());
}

void Leadership::WriteLease(const Write& write) {
  const bool creates = write.over.empty();
  Lease lease = write.lease;
  lease.version = write.over;
  const MonotonicPoint sent_at = clock_.Now();
  const auto answer = api_->Send({.method = creates ? "POST" : "PUT",
                                  .target = PathOf(lease_, creates),
                                  .body = DumpJson(ToJson(lease_, lease, SystemClock().Now(), Metadata()))});
  const auto json = answer ? ParseJson(*answer) : tl::make_unexpected(answer.error());
  const auto written = json ? FromJson(*json) : tl::make_unexpected(json.error());
  const std::lock_guard lock(mutex_);
  if (written) {
    lease.version = written->version;
    return election_.OnWritten(lease, sent_at, clock_.Now());
  }
  const Code code = written.error().code;
  if (code == Code::kAborted || code == Code::kAlreadyExists || code == Code::kNotFound)
    return election_.OnConflict(clock_.Now());
  spdlog::warn("cannot write the Lease {}/{}: {}", lease_.namespace_, lease_.name, written.error().message);
  election_.OnWriteFailed(clock_.Now());
}

}  // namespace longshore::leader
