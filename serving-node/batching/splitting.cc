#include "serving-node/batching/splitting.h"

#include <algorithm>
#include <mutex>

#include "serving-node/batching/padding.h"

namespace longshore::batching {
namespace {

using tensor::Tensor;

// Collects the answers of the parts of one request.
struct Gathered {
  Gathered(Task uncut, size_t parts, std::function<void(Task)> run_whole)
      : task(std::move(uncut)), whole(std::move(run_whole)), outcomes(parts), left(parts) {}

  std::mutex mutex;  // Guards outcomes and left.
  Task task;
  std::function<void(Task)> whole;
  std::vector<Result<RunOutcome>> outcomes;
  std::vector<int64_t> rows;
  size_t left;
};

// Returns the outputs `name` of the parts, concatenated along dimension 0; nullopt if an output does not have the rows
// of its part, or if the other dimensions differ.
std::optional<Tensor> Concatenate(const Gathered& gathered, const std::string& name) {
  std::vector<const Tensor*> parts;
  for (size_t i = 0; i < gathered.outcomes.size(); ++i) {
    const auto found = gathered.outcomes[i]->outputs.find(name);
    if (found == gathered.outcomes[i]->outputs.end()) return std::nullopt;
    const Tensor& part = found->second;
    if (part.rank() < 1 || part.dim(0) != gathered.rows[i]) return std::nullopt;
    const Tensor& first = parts.empty() ? part : *parts.front();
    if (!std::equal(part.shape().begin() + 1, part.shape().end(), first.shape().begin() + 1, first.shape().end()))
      return std::nullopt;
    parts.push_back(&part);
  }
  tensor::Shape shape = parts.front()->shape();
  shape[0] = gathered.task.rows;
  auto joined = Tensor::Make(parts.front()->type(), std::move(shape));
  if (!joined) return std::nullopt;
  int64_t at_row = 0;
  for (const Tensor* part : parts) {
    CopyRows(*part, at_row, &*joined);
    at_row += part->dim(0);
  }
  return std::move(*joined);
}

void Answer(Gathered& gathered) {
  const auto failed = std::ranges::find_if(gathered.outcomes, [](const auto& outcome) { return !outcome; });
  if (failed != gathered.outcomes.end()) return gathered.task.done(std::move(*failed));
  RunOutcome whole{.outputs = {}, .first_of_batch = false};
  for (const auto& outcome : gathered.outcomes) {
    whole.queue_time = std::max(whole.queue_time, outcome->queue_time);
    whole.fill_time = std::max(whole.fill_time, outcome->fill_time);
    whole.run_time = std::max(whole.run_time, outcome->run_time);
    whole.started = std::max(whole.started, outcome->started);
    if (!whole.traced) whole.traced = outcome->traced;
    whole.planned = whole.planned || outcome->planned;
    if (outcome->batch_rows > whole.batch_rows) {
      whole.batch_rows = outcome->batch_rows;
      whole.padded_rows = outcome->padded_rows;
    }
    whole.first_of_batch |= outcome->first_of_batch;
  }
  for (const auto& [name, part] : gathered.outcomes.front()->outputs) {
    auto joined = Concatenate(gathered, name);
    if (!joined) return gathered.whole(std::move(gathered.task));
    whole.outputs.emplace(name, std::move(*joined));
  }
  gathered.task.done(std::move(whole));
}

Task Part(const Task& task, int64_t begin, int64_t end) {
  Task part{{task.request.signature, {}, task.request.outputs}, nullptr, task.submitted, task.terms};
  for (const auto& [name, input] : task.request.inputs) part.request.inputs.emplace(name, input.Rows(begin, end));
  part.rows = end - begin;
  part.bytes = task.bytes / task.rows * part.rows;
  part.key = task.key;
  return part;
}

}  // namespace

std::vector<Task> Cut(Task task, int64_t rows_max, std::function<void(Task)> whole) {
  std::vector<Task> parts;
  for (int64_t begin = 0; begin < task.rows; begin += rows_max) {
    parts.push_back(Part(task, begin, std::min(begin + rows_max, task.rows)));
  }
  const auto gathered = std::make_shared<Gathered>(std::move(task), parts.size(), std::move(whole));
  for (size_t i = 0; i < parts.size(); ++i) {
    gathered->rows.push_back(parts[i].rows);
    parts[i].done = [gathered, i](Result<RunOutcome> outcome) {
      {
        const std::lock_guard lock(gathered->mutex);
        gathered->outcomes[i] = std::move(outcome);
        if (--gathered->left > 0) return;
      }
      Answer(*gathered);
    };
  }
  return parts;
}

}  // namespace longshore::batching
