#include "serving-node/replay/capture.h"

#include <fmt/chrono.h>

#include <cctype>
#include <future>

#include "common/log.h"
#include "serving-node/replay/bundle.h"
#include "serving-node/routing/inputs.h"

namespace longshore::replay {
namespace {

constexpr metrics::Name kTotal{"longshore_captures_total", "Requests that failed: kept as a bundle, or left out."};
constexpr size_t kNameBytesMax = 64;

std::string Stamp(TimePoint at, const char* format) {
  return fmt::format(fmt::runtime(format), fmt::gmtime(std::chrono::system_clock::to_time_t(at)));
}

// A model's name as a part of a file's name.
std::string ForFile(const std::string& name) {
  std::string safe = name.substr(0, kNameBytesMax);
  for (char& c : safe) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '-') c = '_';
  }
  return safe;
}

// Where the first NaN or Inf came from; "" when the engine cannot say.
std::string FindOrigin(const models::ReadyVersion& ready, const tensorflow::serving::PredictRequest& request) {
  auto run = routing::ToRunRequest(request, ready.loaded->signatures());
  if (!run) return "";
  std::promise<std::string> promise;
  ready.loaded->FindNonFinite(std::move(*run), [&promise](const Result<std::optional<engine::NonFinite>>& found) {
    promise.set_value(found && *found ? ToString(**found) : "");
  });
  return promise.get_future().get();
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
  models::Handle ready;  // Loaded until the bundle is written.
  Error error;
  tensorflow::serving::PredictRequest request;
};

struct Capture::Counts {
  std::atomic<int64_t> kept{0};
  std::atomic<int64_t> left_out{0};
};

Capture::Capture(CaptureOptions options, const models::ModelStore& store, const Clock& clock,
                 metrics::Registry& registry)
    : options_(std::move(options)),
      store_(store),
      clock_(clock),
      counts_(std::make_shared<Counts>()),
      writer_(kWaitingMax) {
  registry.AddSource([counts = counts_](metrics::Exposition* out) {
    out->Count(kTotal, {{"outcome", "kept"}}, static_cast<double>(counts->kept));
    out->Count(kTotal, {{"outcome", "left_out"}}, static_cast<double>(counts->left_out));
  });
}

Capture::~Capture() = default;

bool Capture::Admit(const Cause& cause) {
  const std::lock_guard lock(mutex_);
  if (causes_.size() >= kCausesMax && !causes_.contains(cause)) return false;
  size_t& count = causes_[cause];
  if (count >= options_.per_cause_max) return false;
  ++count;
  return true;
}

void Capture::Offer(const routing::Failure& failure) {
  const bool admitted = Admit({failure.ready->model, failure.ready->version, failure.error.code});
  if (admitted) {
    auto kept = std::make_shared<Kept>(Kept{failure.ready, failure.error, failure.call.request});
    if (writer_.Post([this, kept] { Keep(*kept); })) return;
  }
  ++counts_->left_out;
}

void Capture::Keep(const Kept& kept) {
  const models::ReadyVersion& ready = *kept.ready;
  const TimePoint now = clock_.Now();
  capture::Bundle bundle = options_.every;
  bundle.set_captured_at(Stamp(now, "{:%Y-%m-%dT%H:%M:%SZ}"));
  bundle.set_model(ready.model);
  bundle.set_version(ready.version);
  for (const auto& status : store_.Statuses(ready.model)) {
    if (status.version != ready.version) continue;
    bundle.set_digest(status.digest);
    bundle.set_version_dir(models::FindVersionDir(status.base_path, ready.version).value_or(Path()).string());
  }
  bundle.set_code(std::string(CodeName(kept.error.code)));
  bundle.set_error(kept.error.message);
  if (kept.error.code == Code::kOk) bundle.set_non_finite(FindOrigin(ready, kept.request));
  *bundle.mutable_request() = kept.request;
  const std::string why = kept.error.code == Code::kOk ? "NON_FINITE" : bundle.code();
  const Path file =
      NextFile(Stamp(now, "{:%Y%m%dT%H%M%SZ}"), fmt::format("{}-{}-{}", ForFile(ready.model), ready.version, why));
  const Status written = Write(file, ToText(bundle));
  ++(written ? counts_->kept : counts_->left_out);
  if (!written) return spdlog::warn("a failed request is not kept: {}", written.error().message);
  spdlog::warn("model \"{}\" version {}: {}{}; the request is kept in {}", ready.model, ready.version, why,
               bundle.non_finite().empty() ? "" : ": " + bundle.non_finite(), file.filename().string());
}

Path Capture::NextFile(const std::string& stamp, const std::string& what) {
  while (true) {
    const Path file = options_.dir / fmt::format("{}-{:03}-{}{}", stamp, ++sequence_, what, kEnding);
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) return file;
  }
}

Status Capture::Write(const Path& file, const std::string& text) const {
  std::error_code error;
  if (std::filesystem::create_directories(options_.dir, error)) {
    std::filesystem::permissions(options_.dir, std::filesystem::perms::owner_all, error);
  }
  const Held held = HeldIn(options_.dir);
  if (held.files >= options_.files_max) return ResourceExhausted("{} bundles are there, the limit", held.files);
  if (held.bytes + text.size() > options_.bytes_max) {
    return ResourceExhausted("{} bytes of bundles are there; {} more are over the limit", held.bytes, text.size());
  }
  return WriteFileAtomically(file, text);
}

}  // namespace longshore::replay
