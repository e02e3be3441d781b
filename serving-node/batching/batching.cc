#include "serving-node/batching/batching.h"

#include <algorithm>

#include "serving-node/batching/rows.h"
#include "serving-node/batching/scheduler.h"
#include "serving-node/batching/splitting.h"

namespace longshore::batching {

Admission::Admission(Limits limits) : scheduler_(std::make_shared<Scheduler>(limits)) {}
Admission::~Admission() { scheduler_->Stop(); }
void Admission::SetLimits(Limits limits) { scheduler_->SetLimits(limits); }
Load Admission::load() const { return scheduler_->load(); }
int64_t Admission::queued() const { return scheduler_->queued(); }

Queue::Queue(Admission& admission, std::shared_ptr<engine::LoadedModel> model, Options options,
             const std::string& share, std::shared_ptr<RunWatch> watch)
    : state_(std::make_shared<QueueState>(std::move(model), options, admission.scheduler_->GetShare(share),
                                          std::move(watch))),
      scheduler_(admission.scheduler_) {}

Queue::~Queue() {
  scheduler_->Drain(state_);
  state_->model.reset();
}

const Options& Queue::options() const { return state_->options; }

void Queue::Submit(engine::RunRequest request, Terms terms, Done done) {
  Task task{std::move(request), std::move(done), std::chrono::steady_clock::now(), std::move(terms)};
  if (task.terms.deadline <= task.submitted) {
    return task.done(DeadlineExceeded("The deadline had passed before the request reached its queue"));
  }
  task.bytes = static_cast<int64_t>(engine::Bytes(task.request.inputs));
  if (task.terms.background) return scheduler_->SubmitBackground(state_, std::move(task));
  const int batch_rows_max = state_->options.max_batch_size;
  const int rows_max = std::max(batch_rows_max, state_->options.request_rows_max);
  if (batch_rows_max > 1) {
    if (auto found = FindBatchable(state_->model->signatures(), task.request, state_->options.pad_rows)) {
      if (found->rows > rows_max) {
        return task.done(
            InvalidArgument("Task size {} is larger than maximum input batch size {}", found->rows, rows_max));
      }
      task.key = std::move(found->key);
      task.rows = found->rows;
    }
  }
  const TimePoint now = task.submitted;
  if (task.key.empty() || task.rows <= batch_rows_max) return scheduler_->Submit(state_, {&task, 1}, now);
  // The raw pointers are valid in the callback: it runs while the last part is answered, and the queue waits for that
  // answer before it is destroyed.
  auto parts = Cut(std::move(task), batch_rows_max, [state = state_.get(), scheduler = scheduler_.get()](Task whole) {
    whole.key.clear();
    scheduler->Submit(state->shared_from_this(), {&whole, 1}, std::chrono::steady_clock::now());
  });
  scheduler_->Submit(state_, parts, now);
}

}  // namespace longshore::batching
