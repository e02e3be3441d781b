// Seam: the files of failed versions, for controllers that see the same files as their nodes.
#pragma once

#include <cstdint>
#include <set>

#include "controller/api/types.h"

namespace longshore::reconcile {

class FailedFiles {
 public:
  virtual ~FailedFiles() = default;

  // Watches the files of the Model's failed versions, instead of those of an earlier call. Returns those of these
  // versions of which it is known already that their files differ from the ones that failed. When it becomes known of
  // another version, the Model is scheduled. Never waits for the file system.
  virtual std::set<int64_t> Watch(const api::Model& model) = 0;
  virtual void Forget(const api::Key& model) = 0;
};

}  // namespace longshore::reconcile
