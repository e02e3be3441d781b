// Metrics that are converted to text immediately, for programs with hundreds of thousands of series. The text is the
// same as that of prometheus-cpp's TextSerializer, which would need an object for each series at the same time.
//
//   for (const Object& object : objects) {
//     Exposition exposition;
//     Show(object, &exposition);
//     page.Append(exposition);
//   }
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/metrics/exposition.h"

namespace longshore::metrics {

// Not thread-safe.
class Page {
 public:
  // Appends counters and gauges, not histograms. Requires: no series is appended twice.
  void Append(const Exposition& exposition);

  // Appends all series to `text` in the text exposition format 0.0.4, ordered by name. The page is empty afterwards.
  void MoveTo(std::string* text);

 private:
  // Key: the name of a family. Value: the lines of the family, in several pieces, so that no lines are copied when
  // others are added, and MoveTo can free each piece after use.
  std::map<std::string, std::vector<std::string>> families_;
};

}  // namespace longshore::metrics
