#include "controller/cli/command/confirm_undo.h"

#include <istream>
#include <ostream>
#include <string>

#include "controller/cli/command/get_or_hint.h"
#include "controller/cli/text/offers.h"
#include "controller/store/document.h"

namespace longshore::cli::command {

Status ConfirmUndo(store::Store& store, const api::Key& key, std::istream& in, std::ostream& out) {
  ASSIGN_OR_RETURN(const store::Object object, GetOrHint(store, key));
  ASSIGN_OR_RETURN(const api::Model model, store::ToModel(object));
  const std::string warning = text::UndoWarning(model);
  if (warning.empty()) return {};
  out << warning << ". Go on? [y/N] " << std::flush;
  std::string answer;
  std::getline(in, answer);
  if (answer == "y" || answer == "yes") return {};
  return FailedPrecondition("nothing was done");
}

}  // namespace longshore::cli::command
