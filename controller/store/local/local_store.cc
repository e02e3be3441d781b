#include "controller/store/local/local_store.h"

#include <mutex>
#include <random>

#include "common/os/log.h"
#include "common/storage/storage.h"
#include "controller/store/document.h"
#include "controller/store/local/manifests.h"
#include "controller/store/local/records.h"
#include "controller/store/local/watcher.h"

namespace longshore::store::local {
namespace {

// Returns a random UUID (RFC 4122, version 4).
std::string NewUid() {
  std::random_device random;
  const auto word = [&] { return (uint64_t{random()} << 32) | random(); };
  const uint64_t high = (word() & ~uint64_t{0xf000}) | 0x4000;
  const uint64_t low = (word() >> 2) | (uint64_t{1} << 63);
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff, high & 0xffff, low >> 48,
                     low & 0xffffffffffff);
}

// The parts of <dir>/.longshore, which are also items of LocalOptions::health.
constexpr const char* kObjects = "objects";
constexpr const char* kManifests = "manifests";
constexpr const char* kLock = "lock";

void CountWrite(api::Metadata& metadata) {
  const std::string& before = metadata.resource_version;
  metadata.resource_version = std::to_string(before.empty() ? 1 : *VersionNumber(before) + 1);
}

class LocalStoreImpl final : public LocalStore {
 public:
  explicit LocalStoreImpl(const LocalOptions& options)
      : options_(options),
        private_dir_(options.dir / ".longshore"),
        records_(private_dir_ / kObjects, options.object_bytes_max),
        manifests_(options.dir, private_dir_ / kManifests,
                   [this](const Status& written) { Report(written, kManifests); }) {}

  Result<Object> Get(const api::Key& key) override { return records_.Read(key); }

  Result<std::vector<api::Key>> Keys(const std::string& kind) override { return records_.Keys(kind); }

  Result<Listing> List(const std::string& kind) override {
    Listing listing;
    for (const api::Key& key : records_.Keys(kind)) {
      Result<Object> object = records_.Read(key);
      if (object) {
        listing.objects.push_back(std::move(*object));
      } else if (object.error().code != Code::kNotFound) {
        listing.unreadable.push_back({key, object.error().message});
      }
    }
    return listing;
  }

  Result<Object> Apply(const Object& object) override {
    const api::Key key = KeyOf(object);
    RETURN_IF_ERROR(CheckKey(key));
    ASSIGN_OR_RETURN(const process::Descriptor lock, Lock());
    ASSIGN_OR_RETURN(const Applied applied, ComputeApply(object));
    if (applied.is_changed) RETURN_IF_ERROR(Write(applied.object));
    return applied.object;
  }

  Result<Object> DryApply(const Object& object) override {
    RETURN_IF_ERROR(CheckKey(KeyOf(object)));
    ASSIGN_OR_RETURN(const Applied applied, ComputeApply(object));
    return applied.object;
  }

  Result<Object> PutStatus(const api::Key& key, const std::string& uid, const std::string& resource_version,
                           const Json& status) override {
    return ChangeStatus(key, uid, resource_version, [&](const Json&) { return status; });
  }

  Result<Object> PatchStatus(const api::Key& key, const std::string& uid, const std::string& resource_version,
                             const Json& fields) override {
    return ChangeStatus(key, uid, resource_version, [&](Json status) {
      status.merge_patch(fields);
      return status;
    });
  }
  Status Delete(const api::Key& key, const std::string& uid) override {
    ASSIGN_OR_RETURN(const process::Descriptor lock, Lock());
    ASSIGN_OR_RETURN(const Object object, records_.Read(key));
    if (object.metadata.uid != uid) {
      return Aborted("{} has uid {}, not {}", ToString(key), object.metadata.uid, uid);
    }
    return records_.Remove(key);
  }

  Result<std::unique_ptr<Watch>> WatchAll(OnChange on_change) override;

  void ApplyManifestsThrough(Store& writer) override {
    const std::scoped_lock lock(manifests_mutex_);
    manifest_writer_ = &writer;
  }

  Status ReadManifests() override {
    const std::scoped_lock lock(manifests_mutex_);
    return manifests_.Read(*manifest_writer_);
  }

  std::optional<ManifestProblem> ProblemOf(const api::Key& key) const override {
    const std::scoped_lock lock(manifests_mutex_);
    return manifests_.ProblemOf(key);
  }

  std::vector<ManifestProblem> Problems() const override {
    const std::scoped_lock lock(manifests_mutex_);
    return manifests_.Problems();
  }

  void TryToWrite() override {
    for (const auto& [item, _] : options_.health->Problems()) {
      if (item == kLock) static_cast<void>(Lock());
      if (item != kLock && item != kObjects) Report(storage::TryFolder(private_dir_ / item), item);
    }
    Report(storage::TryFolder(private_dir_ / kObjects), kObjects);  // A watch sees it.
  }

  Status CreateFolders() const {
    std::error_code error;
    std::filesystem::create_directories(private_dir_ / kObjects, error);
    if (error) return Unavailable("cannot create {}: {}", private_dir_.string(), error.message());
    return {};
  }

 private:
  class LocalWatch;

  void Report(const Status& written, const std::string& item) const {
    if (options_.health != nullptr) options_.health->Report(written, item);
  }

  // On a disk that is read-only, the lock file may be the first one that cannot be opened.
  Result<process::Descriptor> Lock() const {
    auto lock = LockFile(private_dir_ / kLock);
    Report(lock ? Status() : tl::make_unexpected(lock.error()), kLock);
    return lock;
  }

  // An object that is too large says nothing about the disk.
  Status Write(const Object& object) const {
    ASSIGN_OR_RETURN(const std::string text, records_.TextOf(object));
    const api::Key key = KeyOf(object);
    const Status written = records_.Write(key, text);
    Report(written, (Path(kObjects) / key.kind / key.namespace_).string());
    return written;
  }

  // Replaces the status by `change(status)`, unless they are equal.
  Result<Object> ChangeStatus(const api::Key& key, const std::string& uid, const std::string& resource_version,
                              const std::function<Json(const Json& status)>& change) const {
    ASSIGN_OR_RETURN(const process::Descriptor lock, Lock());
    ASSIGN_OR_RETURN(Object object, records_.Read(key));
    if (object.metadata.uid != uid) return NotFound("{} with uid {} does not exist", ToString(key), uid);
    if (object.metadata.resource_version != resource_version) {
      return Aborted("{} is at resource version {}, not {}", ToString(key), object.metadata.resource_version,
                     resource_version);
    }
    Json status = change(object.status);
    if (object.status == status) return object;
    object.status = std::move(status);
    CountWrite(object.metadata);
    RETURN_IF_ERROR(Write(object));
    return object;
  }

  struct Applied {
    Object object;
    bool is_changed = false;  // Whether it differs from the stored object.
  };

  Result<Applied> ComputeApply(const Object& object) const {
    Result<Object> stored = records_.Read(KeyOf(object));
    if (!stored && stored.error().code != Code::kNotFound) return tl::make_unexpected(stored.error());
    return stored ? Result<Applied>(Updated(std::move(*stored), object)) : Created(object);
  }

  Result<Applied> Created(Object object) const {
    if (records_.All().size() >= options_.objects_max) {
      return ResourceExhausted("{} has {} objects already, which is the limit", options_.dir.string(),
                               options_.objects_max);
    }
    object.metadata.uid = NewUid();
    object.metadata.generation = 1;
    object.metadata.resource_version.clear();
    object.status = Json();
    CountWrite(object.metadata);
    return Applied{std::move(object), true};
  }

  static Applied Updated(Object stored, const Object& wanted) {
    const bool new_spec = stored.spec != wanted.spec;
    if (!new_spec && stored.metadata.labels == wanted.metadata.labels &&
        stored.metadata.annotations == wanted.metadata.annotations) {
      return {std::move(stored), false};
    }
    stored.spec = wanted.spec;
    stored.metadata.labels = wanted.metadata.labels;
    stored.metadata.annotations = wanted.metadata.annotations;
    if (new_spec) ++stored.metadata.generation;
    CountWrite(stored.metadata);
    return {std::move(stored), true};
  }

  const LocalOptions options_;
  const Path private_dir_;
  const Records records_;
  mutable std::mutex manifests_mutex_;
  Manifests manifests_;
  Store* manifest_writer_ = this;
};

class LocalStoreImpl::LocalWatch final : public Watch {
 public:
  LocalWatch(LocalStoreImpl& store, OnChange on_change) : store_(store), on_change_(std::move(on_change)) {}

  Status Start() {
    const bool manifests = store_.options_.read_manifests;
    const std::vector<Path> directories = manifests ? std::vector<Path>{store_.options_.dir} : std::vector<Path>{};
    ASSIGN_OR_RETURN(watcher_,
                     Watcher::Start(directories, {store_.private_dir_ / kObjects}, [this] { ReportChanges(); }));
    return {};
  }

 private:
  void ReportChanges() {
    if (store_.options_.read_manifests) {
      const Status read = store_.ReadManifests();
      if (!read)
        spdlog::error("cannot read the manifests in {}: {}", store_.options_.dir.string(), read.error().message);
      ReportProblemChanges();
    }
    std::map<api::Key, RecordStamp> now = store_.records_.All();
    for (const auto& [key, stamp] : now) {
      const auto before = seen_.find(key);
      if (before == seen_.end() || before->second != stamp) on_change_(key);
    }
    for (const auto& [key, _] : seen_) {
      if (!now.contains(key)) on_change_(key);
    }
    seen_ = std::move(now);
  }

  // The status of an object reports the problem of its manifest, so a new or solved problem counts as a change of the
  // object.
  void ReportProblemChanges() {
    std::map<api::Key, std::string> now;
    for (const auto& [key, _] : store_.records_.All()) {
      if (const auto problem = store_.ProblemOf(key); problem) now[key] = problem->message;
    }
    for (const auto& [key, message] : now) {
      if (const auto before = problems_.find(key); before == problems_.end() || before->second != message)
        on_change_(key);
    }
    for (const auto& [key, _] : problems_) {
      if (!now.contains(key)) on_change_(key);
    }
    problems_ = std::move(now);
  }

  LocalStoreImpl& store_;
  const OnChange on_change_;
  std::map<api::Key, RecordStamp> seen_;
  std::map<api::Key, std::string> problems_;
  std::unique_ptr<Watcher> watcher_;  // Last, so that it is destroyed first: its thread uses the other members.
};

Result<std::unique_ptr<Watch>> LocalStoreImpl::WatchAll(OnChange on_change) {
  auto watch = std::make_unique<LocalWatch>(*this, std::move(on_change));
  RETURN_IF_ERROR(watch->Start());
  return std::unique_ptr<Watch>(std::move(watch));
}

}  // namespace

Result<std::unique_ptr<LocalStore>> LocalStore::Open(LocalOptions options) {
  auto store = std::make_unique<LocalStoreImpl>(options);
  RETURN_IF_ERROR(store->CreateFolders());
  return std::unique_ptr<LocalStore>(std::move(store));
}

}  // namespace longshore::store::local
