#include "serving-node/batching/batching.h"

#include "serving-node/batching/rows.h"
#include "serving-node/batching/scheduler.h"

namespace longshore::batching {

Admission::Admission(Limits limits) : scheduler_(std::make_shared<Scheduler>(limits)) {}
Admission::~Admission() { scheduler_->Stop(); }
void Admission::SetLimits(Limits limits) { scheduler_->SetLimits(limits); }
Load Admission::load() const { return scheduler_->load(); }
int64_t Admission::queued() const { return scheduler_->queued(); }

Queue::Queue(Admission& admission, std::shared_ptr<engine::LoadedModel> model, Options options)
    : state_(std::make_shared<State>(std::move(model), options)), scheduler_(admission.scheduler_) {}

Queue::~Queue() {
  scheduler_->Drain(state_);
  state_->model.reset();
}

const Options& Queue::options() const { return state_->options; }

void Queue::Submit(engine::RunRequest request, TimePoint deadline, Done done) {
  Task task{std::move(request), std::move(done), std::chrono::steady_clock::now(), deadline};
  if (deadline <= task.submitted) {
    return task.done(DeadlineExceeded("The deadline had passed before the request reached its queue"));
  }
  const int rows_max = state_->options.max_batch_size;
  const auto signature = state_->model->signatures().find(task.request.signature);
  if (rows_max > 1 && signature != state_->model->signatures().end()) {
    if (auto found = FindBatchable(signature->second, task.request)) {
      if (found->rows > rows_max) {
        return task.done(
            InvalidArgument("Task size {} is larger than maximum input batch size {}", found->rows, rows_max));
      }
      task.key = std::move(found->key);
      task.rows = found->rows;
    }
  }
  scheduler_->Submit(state_, std::move(task));
}

}  // namespace longshore::batching
