#include "serving-node/observe/replay/capture.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <cctype>
#include <future>
#include <utility>

#include "common/binary_proto/binary_proto.h"
#include "common/os/file.h"
#include "common/os/log.h"
#include "common/storage/storage.h"
#include "common/version_files/folder.h"

namespace longshore::replay {
namespace {

constexpr metrics::Name kTotal{"longshore_captures_total",
                               "Failed requests, and those with different outputs in a pair, by outcome: kept as a "
                               "bundle, or left out because of a limit or an error."};
constexpr size_t kNameBytesMax = 64;

std::string Stamp(TimePoint at, const char* format) {
  return fmt::format(fmt::runtime(format), fmt::gmtime(std::chrono::system_clock::to_time_t(at)));
}

// Shortens a model's name and replaces the characters that are not safe in a file name.
std::string ForFile(const std::string& name) {
  std::string safe = name.substr(0, kNameBytesMax);
  for (char& c : safe) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '-') c = '_';
  }
  return safe;
}

std::vector<BundleFile> BundlesIn(const Path& dir) {
  std::vector<BundleFile> files;
  std::error_code error;
  for (auto it = std::filesystem::directory_iterator(dir, error); !error && it != std::filesystem::directory_iterator();
       it.increment(error)) {
    if (it->path().extension() != kEnding) continue;
    std::error_code vanished;
    const auto bytes = std::filesystem::file_size(it->path(), vanished);
    if (!vanished) files.push_back({it->path(), bytes});
  }
  return files;
}

tensorflow::serving::PredictRequest MessageOf(const inference::Request& request) {
  tensorflow::serving::PredictRequest message;
  ParseBinaryProto(request.ToPieces(), &message);
  return message;
}

}  // namespace

struct Capture::Kept {
  struct Different {
    int64_t stable_version;
    evidence::OutputRules rules;
    std::string what;
    double severity;
    size_t files_max;
  };
  models::Handle ready;  // Keeps the version loaded until the bundle is written.
  Error error;
  std::shared_ptr<const inference::Request> request;
  size_t bytes = 0;
  std::optional<Different> different{};  // Nullopt for a failure.

  bool is_non_finite() const { return error.code == Code::kOk && !different; }
  Cause cause() const { return {ready->model, ready->version, error.code}; }
  std::string why() const {
    if (different) return "DIFFERS";
    return is_non_finite() ? "NON_FINITE" : std::string(CodeName(error.code));
  }
  // The name of the bundle's file without date, number and ending.
  std::string name() const {
    const std::string model = ForFile(ready->model);
    return different ? NameOfDifference(model, ready->version, different->severity)
                     : fmt::format("{}-{}-{}", model, ready->version, why());
  }
};

struct Capture::Counts {
  std::atomic<int64_t> kept{0};
  std::atomic<int64_t> left_out{0};
};

Capture::Capture(CaptureOptions options, const models::ModelStore& store, routing::OriginSearch& origins,
                 const Clock& clock, metrics::Registry& registry)
    : options_(std::move(options)),
      store_(store),
      origins_(origins),
      clock_(clock),
      counts_(std::make_shared<Counts>()),
      writer_(kWaitingMax) {
  registry.AddSource([counts = counts_](metrics::Exposition* out) {
    out->Count(kTotal, {{"outcome", "kept"}}, static_cast<double>(counts->kept));
    out->Count(kTotal, {{"outcome", "left_out"}}, static_cast<double>(counts->left_out));
  });
}

Capture::~Capture() = default;

// Requires: mutex_ is held.
bool Capture::HasRoom(size_t bytes, TimePoint now) const {
  return now >= paused_until_ && waiting_bytes_ + bytes <= kWaitingBytesMax;
}

bool Capture::Admit(const Cause& cause, size_t bytes, TimePoint now) {
  const auto is_over = [&](const auto& known) {
    return known.second.waiting == 0 && now - known.second.since >= options_.cause_time;
  };
  const std::lock_guard lock(mutex_);
  if (!HasRoom(bytes, now)) return false;
  if (const auto known = causes_.find(cause); known != causes_.end() && is_over(*known)) causes_.erase(known);
  if (!causes_.contains(cause)) {
    if (causes_.size() >= kCausesMax) std::erase_if(causes_, is_over);
    if (causes_.size() >= kCausesMax) return false;
    causes_[cause].since = now;
  }
  Spent& spent = causes_.at(cause);
  if (spent.kept + spent.waiting >= options_.per_cause_max) return false;
  ++spent.waiting;
  waiting_bytes_ += bytes;
  return true;
}

bool Capture::Admit(size_t bytes, TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (!HasRoom(bytes, now)) return false;
  waiting_bytes_ += bytes;
  return true;
}

void Capture::Settle(const Kept& kept, bool is_kept) {
  ++(is_kept ? counts_->kept : counts_->left_out);
  const std::lock_guard lock(mutex_);
  waiting_bytes_ -= kept.bytes;
  if (kept.different) return;
  Spent& spent = causes_.at(kept.cause());
  --spent.waiting;
  if (is_kept) ++spent.kept;
}

void Capture::Post(const std::shared_ptr<const Kept>& kept) {
  const bool waits = writer_.Post([this, kept] {
    const Result<bool> written = Keep(*kept);
    if (!written) {
      spdlog::warn("model \"{}\": a request could not be captured: {}", kept->ready->model, written.error().message);
      const std::lock_guard lock(mutex_);
      paused_until_ = clock_.Now() + options_.pause_on_error;
    }
    Settle(*kept, written.value_or(false));
  });
  if (!waits) Settle(*kept, false);
}

void Capture::Offer(const routing::Failure& failure) {
  Kept kept{.ready = failure.ready, .error = failure.error, .request = {}, .bytes = failure.call.request.bytes()};
  if (!Admit(kept.cause(), kept.bytes, clock_.Now())) {
    ++counts_->left_out;
    return;
  }
  kept.request = std::make_shared<const inference::Request>(failure.call.request.Detached());
  Post(std::make_shared<const Kept>(std::move(kept)));
}

void Capture::Offer(const routing::Difference& difference) {
  const size_t bytes = difference.request.bytes();
  if (!Admit(bytes, clock_.Now())) {
    ++counts_->left_out;
    return;
  }
  Post(std::make_shared<const Kept>(
      Kept{.ready = difference.candidate,
           .error = {Code::kOk, ""},
           .request = std::make_shared<const inference::Request>(difference.request),
           .bytes = bytes,
           .different = Kept::Different{difference.stable_version, difference.rules, difference.what,
                                        difference.severity, difference.differences_max}}));
}

std::string Capture::OriginOf(const Kept& kept) const {
  std::promise<std::string> promise;
  origins_.Find(kept.ready, kept.request, [&promise](const std::string& origin) { promise.set_value(origin); });
  return promise.get_future().get();
}

// Returns where the files of the version are; "" if the node does not know it.
std::string Capture::DirOf(const std::string& model, int64_t version) const {
  for (const auto& status : store_.Statuses(model)) {
    if (status.version == version)
      return version_files::FindVersionDir(status.base_path, version).value_or(Path()).string();
  }
  return "";
}

capture::Bundle Capture::BundleOf(const Kept& kept) const {
  const models::ReadyVersion& ready = *kept.ready;
  capture::Bundle bundle = options_.every;
  bundle.set_captured_at(Stamp(clock_.Now(), "{:%Y-%m-%dT%H:%M:%SZ}"));
  bundle.set_model(ready.model);
  bundle.set_version(ready.version);
  for (const auto& status : store_.Statuses(ready.model)) {
    if (status.version == ready.version) bundle.set_digest(status.digest);
  }
  bundle.set_version_dir(DirOf(ready.model, ready.version));
  bundle.set_code(std::string(CodeName(kept.error.code)));
  bundle.set_error(kept.error.message);
  if (kept.is_non_finite()) bundle.set_non_finite(OriginOf(kept));
  *bundle.mutable_request() = MessageOf(*kept.request);
  if (!kept.different) return bundle;
  bundle.set_difference(kept.different->what);
  for (const evidence::NamedRule& rule : kept.different->rules) *bundle.add_output_rules() = rule.rule;
  bundle.set_stable_version(kept.different->stable_version);
  bundle.set_stable_version_dir(DirOf(ready.model, kept.different->stable_version));
  return bundle;
}

// Returns false if it is a difference without room: see ReplacedBy.
Result<bool> Capture::Keep(const Kept& kept) {
  // Check the size of the request first, because BundleOf may run the model again, to find the op that made a NaN or
  // Inf. The size of the bundle, which is larger, is checked afterwards.
  ASSIGN_OR_RETURN(auto room, RoomFor(kept, kept.bytes));
  if (!room) return false;
  const capture::Bundle bundle = BundleOf(kept);
  ASSIGN_OR_RETURN(const std::string text, ToText(bundle));
  ASSIGN_OR_RETURN(room, RoomFor(kept, text.size()));
  if (!room) return false;
  const Path file = NextFile(kept.name());
  RETURN_IF_ERROR(Write(file, text, *room));
  const std::string detail = bundle.non_finite() + bundle.difference();  // At most one of them is set.
  spdlog::warn("model \"{}\" version {}: {}{}; the request is captured in {}", bundle.model(), bundle.version(),
               kept.why(), detail.empty() ? "" : ": " + detail, file.filename().string());
  return true;
}

Path Capture::NextFile(const std::string& what) {
  const std::string stamp = Stamp(clock_.Now(), "{:%Y%m%dT%H%M%SZ}");
  while (true) {
    const Path file = options_.dir / fmt::format("{}-{:03}-{}{}", stamp, ++sequence_, what, kEnding);
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) return file;
  }
}

void Capture::TryAgain() {
  CreateDir();
  health_.Report(storage::TryFolder(options_.dir));
}

// If this fails, so does the write of a file into the folder.
void Capture::CreateDir() const {
  std::error_code error;
  if (std::filesystem::create_directories(options_.dir, error)) {
    std::filesystem::permissions(options_.dir, std::filesystem::perms::owner_all, error);
  }
}

Status Capture::CheckRoom(size_t bytes, const std::vector<BundleFile>& held) const {
  if (held.size() >= options_.files_max)
    return ResourceExhausted("the limit of {} bundles is reached", options_.files_max);
  size_t held_bytes = 0;
  for (const BundleFile& file : held) held_bytes += file.bytes;
  if (held_bytes + bytes > options_.bytes_max) {
    return ResourceExhausted("the bundles have {} bytes; with {} more they would exceed the limit of {}", held_bytes,
                             bytes, options_.bytes_max);
  }
  return {};
}

// Returns the bundles that one of this size replaces. A failure without room is an error, and a difference without room
// gives nullopt.
Result<std::optional<std::vector<Path>>> Capture::RoomFor(const Kept& kept, size_t bytes) const {
  std::vector<BundleFile> held = BundlesIn(options_.dir);
  std::optional<std::vector<Path>> replaced(std::in_place);
  if (kept.different) {
    replaced = ReplacedBy({kept.name(), bytes}, held,
                          {kept.different->files_max, options_.files_max / 2, options_.bytes_max / 2});
    if (!replaced) return replaced;
    std::erase_if(held, [&](const BundleFile& file) { return std::ranges::count(*replaced, file.path) > 0; });
  }
  const Status has_room = CheckRoom(bytes, held);
  if (has_room) return replaced;
  if (kept.different) return std::nullopt;
  return tl::make_unexpected(has_room.error());
}

Status Capture::Write(const Path& file, const std::string& text, const std::vector<Path>& replaced) {
  CreateDir();
  const Status written = WriteFileAtomically(file, text);
  health_.Report(written);
  RETURN_IF_ERROR(written);
  std::error_code ignored;
  for (const Path& milder : replaced) std::filesystem::remove(milder, ignored);
  return {};
}

}  // namespace longshore::replay
