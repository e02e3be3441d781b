#include "serving-node/observe/replay/capture.h"

#include <fmt/chrono.h>

#include <cctype>
#include <future>

#include "common/os/file.h"
#include "common/os/log.h"
#include "serving-node/models/discovery.h"

namespace longshore::replay {
namespace {

constexpr metrics::Name kTotal{
    "longshore_captures_total",
    "Failed requests by outcome: kept as a bundle, or left out because of a limit or an error."};
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

struct Held {
  size_t files = 0;
  size_t bytes = 0;
};

Held HeldIn(const Path& dir) {
  Held held;
  std::error_code error;
  for (auto it = std::filesystem::directory_iterator(dir, error); !error && it != std::filesystem::directory_iterator();
       it.increment(error)) {
    if (it->path().extension() != kEnding) continue;
    std::error_code vanished;
    const auto bytes = it->file_size(vanished);
    if (vanished) continue;
    ++held.files;
    held.bytes += bytes;
  }
  return held;
}

}  // namespace

struct Capture::Kept {
  models::Handle ready;  // Keeps the version loaded until the bundle is written.
  Error error;
  std::shared_ptr<const tensorflow::serving::PredictRequest> request;

  bool is_non_finite() const { return error.code == Code::kOk; }
  std::string why() const { return is_non_finite() ? "NON_FINITE" : std::string(CodeName(error.code)); }
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

bool Capture::Admit(const Cause& cause, size_t bytes, TimePoint now) {
  const auto is_over = [&](const auto& known) {
    return known.second.waiting == 0 && now - known.second.since >= options_.cause_time;
  };
  const std::lock_guard lock(mutex_);
  if (now < paused_until_ || waiting_bytes_ + bytes > kWaitingBytesMax) return false;
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

void Capture::Settle(const Cause& cause, size_t bytes, bool is_kept) {
  ++(is_kept ? counts_->kept : counts_->left_out);
  const std::lock_guard lock(mutex_);
  Spent& spent = causes_.at(cause);
  --spent.waiting;
  waiting_bytes_ -= bytes;
  if (is_kept) ++spent.kept;
}

void Capture::Offer(const routing::Failure& failure) {
  const Cause cause{failure.ready->model, failure.ready->version, failure.error.code};
  const size_t bytes = failure.call.request.ByteSizeLong();
  if (!Admit(cause, bytes, clock_.Now())) {
    ++counts_->left_out;
    return;
  }
  auto kept = std::make_shared<Kept>(
      Kept{failure.ready, failure.error, std::make_shared<tensorflow::serving::PredictRequest>(failure.call.request)});
  const bool waits = writer_.Post([this, cause, bytes, kept] {
    const Status written = Keep(*kept);
    if (!written) {
      spdlog::warn("model \"{}\": a failed request could not be captured: {}", kept->ready->model,
                   written.error().message);
      const std::lock_guard lock(mutex_);
      paused_until_ = clock_.Now() + options_.pause_on_error;
    }
    Settle(cause, bytes, written.has_value());
  });
  if (!waits) Settle(cause, bytes, false);
}

std::string Capture::OriginOf(const Kept& kept) const {
  std::promise<std::string> promise;
  origins_.Find(kept.ready, kept.request, [&promise](const std::string& origin) { promise.set_value(origin); });
  return promise.get_future().get();
}

capture::Bundle Capture::BundleOf(const Kept& kept) const {
  const models::ReadyVersion& ready = *kept.ready;
  capture::Bundle bundle = options_.every;
  bundle.set_captured_at(Stamp(clock_.Now(), "{:%Y-%m-%dT%H:%M:%SZ}"));
  bundle.set_model(ready.model);
  bundle.set_version(ready.version);
  for (const auto& status : store_.Statuses(ready.model)) {
    if (status.version != ready.version) continue;
    bundle.set_digest(status.digest);
    bundle.set_version_dir(models::FindVersionDir(status.base_path, ready.version).value_or(Path()).string());
  }
  bundle.set_code(std::string(CodeName(kept.error.code)));
  bundle.set_error(kept.error.message);
  if (kept.is_non_finite()) bundle.set_non_finite(OriginOf(kept));
  *bundle.mutable_request() = *kept.request;
  return bundle;
}

Status Capture::Keep(const Kept& kept) {
  // Check the size of the request first, because BundleOf may run the model again, to find the op that made a NaN or
  // Inf. Write checks the size of the bundle, which is larger.
  RETURN_IF_ERROR(CheckRoom(kept.request->ByteSizeLong()));
  const models::ReadyVersion& ready = *kept.ready;
  const capture::Bundle bundle = BundleOf(kept);
  ASSIGN_OR_RETURN(const std::string text, ToText(bundle));
  const Path file = NextFile(fmt::format("{}-{}-{}", ForFile(ready.model), ready.version, kept.why()));
  RETURN_IF_ERROR(Write(file, text));
  spdlog::warn("model \"{}\" version {}: {}{}; the request is captured in {}", ready.model, ready.version, kept.why(),
               bundle.non_finite().empty() ? "" : ": " + bundle.non_finite(), file.filename().string());
  return {};
}

Path Capture::NextFile(const std::string& what) {
  const std::string stamp = Stamp(clock_.Now(), "{:%Y%m%dT%H%M%SZ}");
  while (true) {
    const Path file = options_.dir / fmt::format("{}-{:03}-{}{}", stamp, ++sequence_, what, kEnding);
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) return file;
  }
}

Status Capture::CheckRoom(size_t bytes) const {
  const Held held = HeldIn(options_.dir);
  if (held.files >= options_.files_max)
    return ResourceExhausted("the limit of {} bundles is reached", options_.files_max);
  if (held.bytes + bytes > options_.bytes_max) {
    return ResourceExhausted("the bundles have {} bytes; with {} more they would exceed the limit of {}", held.bytes,
                             bytes, options_.bytes_max);
  }
  return {};
}

Status Capture::Write(const Path& file, const std::string& text) const {
  std::error_code error;
  if (std::filesystem::create_directories(options_.dir, error)) {
    std::filesystem::permissions(options_.dir, std::filesystem::perms::owner_all, error);
  }
  RETURN_IF_ERROR(CheckRoom(text.size()));
  return WriteFileAtomically(file, text);
}

}  // namespace longshore::replay
