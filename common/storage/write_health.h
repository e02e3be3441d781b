// Whether one part of what a program keeps on disk can be written, for example a node's journal.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "common/base/error.h"

namespace longshore::storage {

// Returns "item: message", or only the message if the part has a single item, which is "".
std::string WithItem(const std::string& item, const std::string& message);

// Thread-safe.
class WriteHealth {
 public:
  // `what` names the part in log lines, messages and the label of a metric: "journal".
  explicit WriteHealth(std::string what) : what_(std::move(what)) {}

  // Call it after each write. `item` tells the files of a part apart, of which one may fail while another one can be
  // written: an item is good again only when the same file or folder was written. Logs the first failure of each item,
  // and that it can be written again.
  void Report(const Status& written, const std::string& item = "");

  // Call it if the item will not be written any more.
  void Forget(const std::string& item) { Report({}, item); }

  const std::string& what() const { return what_; }

  // Returns why the newest writes failed, by item. Items whose newest write succeeded are not in it.
  std::map<std::string, std::string> Problems() const;

 private:
  const std::string what_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> problems_;
};

}  // namespace longshore::storage
