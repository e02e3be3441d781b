// Finds the op that produced the first NaN or Inf of an answer, so that the model can be repaired.
//
// For this the request runs once more, slowly. Searches therefore run one at a time, within the memory limit of one
// run, and are skipped while the node has a backlog of requests.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/base/budget.h"
#include "common/os/worker.h"
#include "serving-node/batching/batching.h"
#include "serving-node/inference/request.h"
#include "serving-node/models/models.h"

namespace longshore::routing {

// Returns true if more requests wait than may run at once. Optional work should then be skipped.
bool HasBacklog(const batching::Admission& admission);

// Thread-safe. `admission` must outlive this object. The destructor finishes the searches that wait.
class OriginSearch {
 public:
  static constexpr size_t kWaitingMax = 4;
  using Request = std::shared_ptr<const inference::Request>;
  using Found = std::function<void(const std::string&)>;

  explicit OriginSearch(const batching::Admission& admission, Budget budget = {})
      : admission_(admission), budget_(budget), worker_(kWaitingMax) {}

  // Never blocks. Calls `found` once: on another thread with a text such as 'output "y", made by node "div" (op
  // RealDiv)', or on any thread with "" if the search was skipped or found nothing.
  void Find(models::Handle ready, Request request, Found found);
  // Blocks until all searches that were requested before this call have ended.
  void Flush() { worker_.Flush(); }

 private:
  std::string Look(const models::ReadyVersion& ready, const inference::Request& request) const;

  const batching::Admission& admission_;
  const Budget budget_;
  Worker worker_;  // Declared last, so destroyed first: its tasks use the other members.
};

}  // namespace longshore::routing
