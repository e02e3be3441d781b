#include "controller/store/kube/kube_store.h"

#include <algorithm>
#include <utility>

#include "common/net/http/deflate.h"
#include "common/net/http/inflate.h"
#include "controller/store/document.h"

namespace longshore::store::kube {
namespace {

constexpr const char* kFieldManager = "longshore";
constexpr const char* kPatchManager = "longshore-command";
constexpr int kPageSize = 500;
constexpr size_t kObjectBytesMax = 16 << 20;  // Ten times the limit of the API server.

std::string CollectionPath(const std::string& kind, const std::string& namespace_) {
  const std::string plural = kind == api::kModelKind ? "models" : "servingfleets";
  const std::string group = fmt::format("/apis/{}", api::kApiVersion);
  return namespace_.empty() ? fmt::format("{}/{}", group, plural)
                            : fmt::format("{}/namespaces/{}/{}", group, namespace_, plural);
}

std::string ObjectPath(const api::Key& key) { return CollectionPath(key.kind, key.namespace_) + "/" + key.name; }

// Returns the fields that Longshore reads, in compressed form to save memory: there may be many objects, of which few
// are read often. `kind` is a separate argument because the items of a list do not contain it.
Result<std::string> Pack(const std::string& kind, const Json& json) {
  Json document = json;
  document["kind"] = kind;
  ASSIGN_OR_RETURN(const Object object, FromDocument(document));
  std::string packed = http::Gzip(DumpJson(ToDocument(object)));
  if (packed.empty()) return ResourceExhausted("cannot compress the object: out of memory");
  packed.shrink_to_fit();
  return packed;
}

Result<std::string> Unpack(const std::string& packed) { return http::Inflate(packed, kObjectBytesMax); }

Result<Object> FromText(const std::string& text) {
  ASSIGN_OR_RETURN(const Json document, ParseJson(text));
  return FromDocument(document);
}

// Returns the spec without its empty maps; those in lists stay. If the applied document has a map as empty, and the
// stored map has a field that this apply removes, the API server stores null for the map, and refuses that as invalid.
Json WithoutEmptyMaps(const Json& spec) {
  if (!spec.is_object()) return spec;
  Json kept = Json::object();
  for (const auto& [key, value] : spec.items()) {
    Json item = WithoutEmptyMaps(value);
    if (!value.is_object() || !item.empty()) kept[key] = std::move(item);
  }
  return kept;
}

Error UnreadableError(const api::Key& key, const Error& error) {
  return {Code::kDataLoss, fmt::format("cannot read {}: {}", ToString(key), error.message)};
}

}  // namespace

struct KubeStore::Mirrored {
  Mirrored(std::string watched_kind, std::string watched_namespace, OnChange on_change)
      : kind(std::move(watched_kind)),
        namespace_(std::move(watched_namespace)),
        cache([this](const Json& object) { return Pack(kind, object); },
              [this, changed = std::move(on_change)](const longshore::kube::Name& name, const Result<std::string>&) {
                changed({kind, name.namespace_, name.name});
              }) {}

  bool Holds(const api::Key& key) const {
    return key.kind == kind && (namespace_.empty() || key.namespace_ == namespace_);
  }

  const std::string kind;
  const std::string namespace_;  // Empty: all namespaces.
  longshore::kube::Cache<std::string> cache;
  std::unique_ptr<longshore::kube::Reflector> reflector;  // Last, so that it is destroyed first: it uses the cache.
};

class KubeStore::WatchGuard final : public Watch {
 public:
  explicit WatchGuard(KubeStore& store) : store_(store) {}
  ~WatchGuard() override {
    std::vector<std::shared_ptr<Mirrored>> mirrors;
    {
      const std::lock_guard lock(store_.mutex_);
      mirrors.swap(store_.mirrored_);
    }
    for (const auto& mirrored : mirrors) mirrored->reflector.reset();  // No lock: its thread may call the store.
  }

 private:
  KubeStore& store_;
};

Result<std::unique_ptr<KubeStore>> KubeStore::Open(const longshore::kube::Cluster& cluster,
                                                   const KubeStoreOptions& options, const MonotonicClock& clock) {
  std::unique_ptr<KubeStore> store(new KubeStore(options, clock));
  store->cluster_ = cluster;
  ASSIGN_OR_RETURN(store->api_, longshore::kube::Api::Make(cluster, options.api, clock));
  return store;
}

KubeStore::~KubeStore() = default;

std::shared_ptr<KubeStore::Mirrored> KubeStore::MirrorOf(const api::Key& key) const {
  const std::lock_guard lock(mutex_);
  for (const auto& mirrored : mirrored_) {
    if (mirrored->Holds(key)) return mirrored;
  }
  return nullptr;
}

std::vector<std::shared_ptr<KubeStore::Mirrored>> KubeStore::MirrorsOf(const std::string& kind) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Mirrored>> of_kind;
  for (const auto& mirrored : mirrored_) {
    if (mirrored->kind == kind) of_kind.push_back(mirrored);
  }
  return of_kind;
}

Result<Object> KubeStore::Get(const api::Key& key) {
  RETURN_IF_ERROR(CheckKey(key));
  Result<std::string> text = std::string();
  if (const auto mirrored = MirrorOf(key); mirrored != nullptr) {
    auto cached = mirrored->cache.Get({key.namespace_, key.name});
    if (!cached) return NotFound("{} does not exist", ToString(key));
    text = *cached ? Unpack(**cached) : tl::make_unexpected(cached->error());
  } else {
    text = api_->Send({.target = ObjectPath(key)});
    if (!text) return Prefixed(text.error(), ToString(key));
  }
  auto object = text ? FromText(*text) : tl::make_unexpected(text.error());
  if (!object) return tl::make_unexpected(UnreadableError(key, object.error()));
  return object;
}

Result<std::vector<api::Key>> KubeStore::Keys(const std::string& kind) {
  const auto mirrors = MirrorsOf(kind);
  std::vector<api::Key> keys;
  for (const auto& mirrored : mirrors) {
    mirrored->cache.ForEach([&](const longshore::kube::Name& name, const auto&) {
      keys.push_back({kind, name.namespace_, name.name});
    });
  }
  if (mirrors.empty()) {
    ASSIGN_OR_RETURN(const Listing listing, ListDirectly(kind));
    for (const Object& object : listing.objects) keys.push_back(KeyOf(object));
  }
  std::ranges::sort(keys);
  return keys;
}

Result<Listing> KubeStore::List(const std::string& kind) {
  if (MirrorsOf(kind).empty()) return ListDirectly(kind);
  ASSIGN_OR_RETURN(const std::vector<api::Key> keys, Keys(kind));
  Listing listing;
  for (const api::Key& key : keys) {
    auto object = Get(key);
    if (object) {
      listing.objects.push_back(std::move(*object));
    } else if (object.error().code != Code::kNotFound) {
      listing.unreadable.push_back({key, object.error().message});
    }
  }
  return listing;
}

Result<Listing> KubeStore::ListDirectly(const std::string& kind) {
  Listing listing;
  const std::vector<std::string> all = {""};
  for (const std::string& namespace_ : options_.namespaces.empty() ? all : options_.namespaces) {
    std::string token;
    do {
      std::string target = fmt::format("{}?limit={}", CollectionPath(kind, namespace_), kPageSize);
      if (!token.empty()) target += "&continue=" + http_client::Encode(token);
      ASSIGN_OR_RETURN(const std::string answer, api_->Send({.target = target}));
      ASSIGN_OR_RETURN(const Json page, ParseJson(answer));
      if (!page.is_object() || !page.contains("items") || !page.at("items").is_array())
        return DataLoss("{}: the answer is not a list", target);
      for (Json item : page.at("items")) {
        item["kind"] = kind;
        auto object = FromDocument(item);
        if (!object) return Prefixed(object.error(), target);
        listing.objects.push_back(std::move(*object));
      }
      const Json metadata = page.value("metadata", Json::object());
      token = metadata.value("continue", "");
    } while (!token.empty());
  }
  std::sort(listing.objects.begin(), listing.objects.end(),
            [](const Object& a, const Object& b) { return KeyOf(a) < KeyOf(b); });
  return listing;
}

// Returns the object in the answer to a write, and stores it in the cache.
Result<Object> KubeStore::Written(const std::string& answer) {
  ASSIGN_OR_RETURN(Json document, ParseJson(answer));
  ASSIGN_OR_RETURN(Object object, FromDocument(document));
  if (const auto mirrored = MirrorOf(KeyOf(object)); mirrored != nullptr) mirrored->cache.PutOwnWrite(document);
  return object;
}

Result<std::string> KubeStore::SendApply(const Object& object, Mode mode) {
  const api::Key key = KeyOf(object);
  RETURN_IF_ERROR(CheckKey(key));
  Json metadata = {{"name", key.name}, {"namespace", key.namespace_}};
  if (!object.metadata.labels.empty()) metadata["labels"] = object.metadata.labels;
  if (!object.metadata.annotations.empty()) metadata["annotations"] = object.metadata.annotations;
  const Json document = {{"apiVersion", api::kApiVersion},
                         {"kind", key.kind},
                         {"metadata", metadata},
                         {"spec", WithoutEmptyMaps(object.spec)}};
  const std::string target = fmt::format("{}?fieldManager={}&force=true&fieldValidation=Strict{}", ObjectPath(key),
                                         kFieldManager, mode == Mode::kDryRun ? "&dryRun=All" : "");
  auto answer = api_->Send(
      {.method = "PATCH", .target = target, .body = DumpJson(document), .content_type = longshore::kube::kApplyPatch});
  if (!answer) return Prefixed(answer.error(), ToString(key));
  return answer;
}

Result<Object> KubeStore::Apply(const Object& object) {
  ASSIGN_OR_RETURN(const std::string answer, SendApply(object, Mode::kWrite));
  return Written(answer);
}

Result<Object> KubeStore::DryApply(const Object& object) {
  ASSIGN_OR_RETURN(const std::string answer, SendApply(object, Mode::kDryRun));
  return FromText(answer);
}

Result<Object> KubeStore::PutStatus(const api::Key& key, const std::string& uid, const std::string& resource_version,
                                    const Json& status) {
  RETURN_IF_ERROR(CheckKey(key));
  // In a write of the status, the server ignores this spec, but the schema requires one.
  const Json document = {
      {"apiVersion", api::kApiVersion},
      {"kind", key.kind},
      {"metadata",
       {{"name", key.name}, {"namespace", key.namespace_}, {"uid", uid}, {"resourceVersion", resource_version}}},
      {"spec", Json::object()},
      {"status", status}};
  return WriteStatus(key, uid,
                     {.method = "PUT",
                      .target = fmt::format("{}/status?fieldManager={}", ObjectPath(key), kFieldManager),
                      .body = DumpJson(document)});
}

Result<Object> KubeStore::PatchStatus(const api::Key& key, const std::string& uid, const std::string& resource_version,
                                      const Json& fields) {
  RETURN_IF_ERROR(CheckKey(key));
  // The server ignores the uid of a patch, but no two objects have the same resource version.
  const Json patch = {{"metadata", {{"resourceVersion", resource_version}}}, {"status", fields}};
  return WriteStatus(
      key, uid,
      {.method = "PATCH",
       .target = fmt::format("{}/status?fieldManager={}&fieldValidation=Strict", ObjectPath(key), kPatchManager),
       .body = DumpJson(patch),
       .content_type = longshore::kube::kMergePatch});
}

Result<Object> KubeStore::WriteStatus(const api::Key& key, const std::string& uid, const longshore::kube::Call& call) {
  const auto answer = api_->Send(call);
  if (answer) return Written(*answer);
  if (answer.error().code == Code::kAborted) {
    // Either the version or the uid conflicts; the current object shows which. Written also stores the object in the
    // cache, for the next reconciliation.
    const auto current = api_->Send({.target = ObjectPath(key)});
    const auto object = current ? Written(*current) : tl::make_unexpected(current.error());
    if (object && object->metadata.uid != uid) return NotFound("{} with uid {} does not exist", ToString(key), uid);
  }
  return Prefixed(answer.error(), ToString(key));
}

Status KubeStore::Delete(const api::Key& key, const std::string& uid) {
  RETURN_IF_ERROR(CheckKey(key));
  const Json options = {{"apiVersion", "v1"},
                        {"kind", "DeleteOptions"},
                        {"propagationPolicy", "Background"},
                        {"preconditions", {{"uid", uid}}}};
  const auto answer = api_->Send({.method = "DELETE", .target = ObjectPath(key), .body = options.dump()});
  if (!answer) return Prefixed(answer.error(), ToString(key));
  return {};
}

Result<std::unique_ptr<Watch>> KubeStore::WatchAll(OnChange on_change) {
  std::vector<std::shared_ptr<Mirrored>> mirrors;
  const std::vector<std::string> all = {""};
  for (const char* kind : {api::kModelKind, api::kServingFleetKind}) {
    for (const std::string& namespace_ : options_.namespaces.empty() ? all : options_.namespaces) {
      ASSIGN_OR_RETURN(auto api, longshore::kube::Api::Make(cluster_, options_.api, clock_));
      auto mirrored = std::make_shared<Mirrored>(kind, namespace_, on_change);
      mirrored->reflector = std::make_unique<longshore::kube::Reflector>(
          std::move(api), longshore::kube::Collection{.path = CollectionPath(kind, namespace_)}, clock_,
          mirrored->cache);
      mirrors.push_back(std::move(mirrored));
    }
  }
  const auto until = std::chrono::steady_clock::now() + options_.first_list_max;
  for (const auto& mirrored : mirrors) {
    auto left =
        std::max(std::chrono::milliseconds(0),
                 std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()));
    // With 0 ms, WaitUntilComplete returns what the server has said.
    if (options_.fails_if_forbidden && mirrored->cache.WaitUntilCompleteOrForbidden(left)) left = {};
    const Status complete = mirrored->cache.WaitUntilComplete(left);
    if (!complete) return Prefixed(complete.error(), CollectionPath(mirrored->kind, mirrored->namespace_));
  }
  const std::lock_guard lock(mutex_);
  if (!mirrored_.empty()) return FailedPrecondition("the store already has a watch");
  mirrored_ = std::move(mirrors);
  return std::unique_ptr<Watch>(std::make_unique<WatchGuard>(*this));
}

int64_t KubeStore::lists() const {
  const std::lock_guard lock(mutex_);
  int64_t lists = 0;
  for (const auto& mirrored : mirrored_) lists += mirrored->reflector->lists();
  return lists;
}

Duration KubeStore::staleness() const {
  const std::lock_guard lock(mutex_);
  Duration longest{0};
  for (const auto& mirrored : mirrored_)
    longest = std::max(longest, clock_.Now() - mirrored->reflector->last_answer_at());
  return longest;
}

}  // namespace longshore::store::kube
