// A fake engine for tests, as strict as a real one: it checks names, types and shapes, and computes on its own threads.
// Tests can make it hold runs and fail.
//
// Every model has the signature "serving_default": x float [-1, 2] -> y = 2 * x + version, float [-1, 2]. The version
// is the number at the end of the directory's path.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/os/file.h"
#include "serving-node/engine/engine.h"

namespace longshore::models {

// A run with this value in any row fails with InvalidArgument.
inline constexpr float kPoison = 666;
// A run with this value in any row fails with Unavailable.
inline constexpr float kOverload = 777;

// Controls and records what the models of a FakeEngine do. The record outlives the models.
struct FakeRecord {
  struct Ran {
    int64_t version;
    int64_t rows;
  };
  std::mutex mutex;
  std::condition_variable changed;
  std::chrono::milliseconds row_time{0};  // Run time per row.
  bool holding = false;                   // While true, runs wait.
  bool searching = true;                  // While false, each search for the origin of a NaN waits.
  bool scalars = false;                   // Outputs are scalars, contrary to the signature.
  bool planning = false;                  // Runs say that they planned for new shapes.
  bool out_of_memory = false;             // Runs end with RESOURCE_EXHAUSTED.
  std::vector<Ran> runs;                  // Runs that have begun.
  int64_t loads = 0;
  int64_t in_memory = 0;

  void Set(bool FakeRecord::*what, bool to) {
    const std::lock_guard lock(mutex);
    this->*what = to;
    changed.notify_all();
  }
  template <typename Predicate>
  void Wait(Predicate predicate) {
    std::unique_lock lock(mutex);
    changed.wait(lock, predicate);
  }
};

class FakeModel final : public engine::LoadedModel {
 public:
  FakeModel(int64_t version, std::shared_ptr<FakeRecord> record) : version_(version), record_(std::move(record)) {
    auto& signature = signatures_["serving_default"];
    for (auto* info : {&(*signature.mutable_inputs())["x"], &(*signature.mutable_outputs())["y"]}) {
      info->set_name("t:0");
      info->set_dtype(tensorflow::DT_FLOAT);
      info->mutable_tensor_shape()->add_dim()->set_size(-1);
      info->mutable_tensor_shape()->add_dim()->set_size(2);
    }
    Count(+1);
    for (int i = 0; i < 4; ++i) threads_.emplace_back([this] { Work(); });
  }
  ~FakeModel() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (auto& thread : threads_) thread.join();
    Count(-1);
  }

  const google::protobuf::Map<std::string, tensorflow::SignatureDef>& signatures() const override {
    return signatures_;
  }
  int64_t memory_bytes() const override { return 1000; }

  void Run(engine::RunRequest request, engine::RunDone done) override {
    const std::lock_guard lock(mutex_);
    CHECK(!stopping_);
    waiting_.emplace_back(std::move(request), std::move(done));
    wake_.notify_one();
  }

 private:
  void Count(int64_t change) {
    const std::lock_guard lock(record_->mutex);
    record_->in_memory += change;
    record_->changed.notify_all();
  }

  void Work() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      auto [request, done] = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      done(Compute(request));
      done = nullptr;
      lock.lock();
    }
  }

  // While `holding` is true, runs wait as on a busy device. This wait does not count as run time.
  Result<engine::RunResult> Compute(const engine::RunRequest& request) {
    if (request.signature != "serving_default") return NotFound("no signature {}", request.signature);
    const auto x = request.inputs.find("x");
    if (request.inputs.size() != 1 || x == request.inputs.end()) return InvalidArgument("the only input must be x");
    if (x->second.type() != tensor::DType::kFloat) return InvalidArgument("x is not a float");
    if (x->second.rank() != 2 || x->second.dim(1) != 2) return InvalidArgument("x is not [-1,2]");
    bool scalars = false, planning = false;
    {
      std::unique_lock lock(record_->mutex);
      record_->runs.push_back({version_, x->second.dim(0)});
      record_->changed.notify_all();
      record_->changed.wait(lock, [this] { return !record_->holding; });
      if (record_->out_of_memory) return ResourceExhausted("no memory");
      scalars = record_->scalars;
      planning = record_->planning;
    }
    const auto began = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(x->second.dim(0) * record_->row_time);
    const auto numbers = x->second.values<float>();
    if (std::find(numbers.begin(), numbers.end(), kPoison) != numbers.end()) return InvalidArgument("poison");
    if (std::find(numbers.begin(), numbers.end(), kOverload) != numbers.end()) return Unavailable("too much");
    std::vector<float> answers;
    for (const float number : numbers) answers.push_back(2 * number + static_cast<float>(version_));
    auto y =
        scalars ? tensor::Tensor::Of<float>({}, {numbers[0]}) : tensor::Tensor::Of<float>(x->second.shape(), answers);
    return engine::RunResult{
        .outputs = {{"y", std::move(y)}}, .took = std::chrono::steady_clock::now() - began, .planned = planning};
  }

  const int64_t version_;
  const std::shared_ptr<FakeRecord> record_;
  google::protobuf::Map<std::string, tensorflow::SignatureDef> signatures_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::deque<std::pair<engine::RunRequest, engine::RunDone>> waiting_;
  std::vector<std::thread> threads_;
};

class FakeEngine final : public engine::Engine {
 public:
  std::vector<tensor::Device> devices() const override { return {tensor::Device{}}; }
  Result<engine::Estimate> EstimateLoad(const Path&, const engine::LoadOptions&) const override {
    return engine::Estimate{1000};
  }

  // Returns NotFound if the directory has no saved_model.pb, DataLoss if the content of this file is "bad".
  Result<std::shared_ptr<engine::LoadedModel>> Load(const Path& version_dir, const engine::LoadOptions&) override {
    {
      const std::lock_guard lock(record_->mutex);
      record_->loads += 1;
      record_->changed.notify_all();
    }
    ASSIGN_OR_RETURN(const std::string bytes, ReadFile(version_dir / "saved_model.pb"));
    if (bytes == "bad") return DataLoss("{} is damaged", (version_dir / "saved_model.pb").string());
    return std::make_shared<FakeModel>(std::stoll(version_dir.filename()), record_);
  }

  FakeRecord& record() { return *record_; }
  std::shared_ptr<FakeRecord> shared_record() { return record_; }

 private:
  const std::shared_ptr<FakeRecord> record_ = std::make_shared<FakeRecord>();
};

// Returns a request with these numbers as x, two in each row.
inline engine::RunRequest RowsRequest(const std::vector<float>& numbers) {
  const auto rows = static_cast<int64_t>(numbers.size() / 2);
  return {"serving_default", {{"x", tensor::Tensor::Of<float>({rows, 2}, numbers)}}, {}};
}

}  // namespace longshore::models
