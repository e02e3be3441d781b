// Finds the op that made the first NaN or Inf of an answer, for the people who will mend the model.
//
// The request runs once more for it, slowly. So it is done after everything else: one at a time, within the memory of a
// run, and not at all while so many requests wait that nothing else should run.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/budget.h"
#include "common/worker.h"
#include "serving-node/batching/batching.h"
#include "serving-node/models/models.h"
#include "tensorflow_serving/apis.pb.h"

namespace longshore::routing {

// Whether so many requests wait that nothing else should run.
bool UsersComeFirst(const batching::Admission& admission);

// Thread-safe. The admission outlives it. What waits when it goes is still looked for.
class OriginSearch {
 public:
  static constexpr size_t kWaitingMax = 4;
  using Request = std::shared_ptr<const tensorflow::serving::PredictRequest>;
  using Found = std::function<void(const std::string&)>;

  explicit OriginSearch(const batching::Admission& admission, Budget budget = {})
      : admission_(admission), budget_(budget), worker_(kWaitingMax) {}

  // Never waits. Calls found once, on another thread, with 'output "y", made by node "div" (op RealDiv)'; with "", on
  // whichever thread, where nobody looked or nothing was found.
  void Find(models::Handle ready, Request request, Found found);
  // Waits until what was asked before is answered.
  void Flush() { worker_.Flush(); }

 private:
  std::string Look(const models::ReadyVersion& ready, const tensorflow::serving::PredictRequest& request) const;

  const batching::Admission& admission_;
  const Budget budget_;
  Worker worker_;  // Last: it uses the rest.
};

}  // namespace longshore::routing
