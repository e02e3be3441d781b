// Series as text from the beginning, for a program that shows hundreds of thousands of them.
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
  // Each series once. Requires: no histograms.
  void Append(const Exposition& exposition);

  // Appends all in the text exposition format 0.0.4, ordered by name, and is empty then.
  void MoveTo(std::string* text);

 private:
  // Lines in pieces, so that they are never copied when there are more, and each goes as soon as it was moved.
  std::map<std::string, std::vector<std::string>> families_;
};

}  // namespace longshore::metrics
