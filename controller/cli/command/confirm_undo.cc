#include "controller/cli/command/confirm_undo.h"

#include <istream>
#include <ostream>
#include <string>

#include "controller/cli/command/get_or_hint.h"
#include "controller/cli/input/ask.h"
#include "controller/cli/text/offers.h"
#include "controller/store/document.h"

namespace longshore::cli::command {

Result<SeenRollout> ConfirmUndo(store::Store& store, const api::Key& key, std::istream& in, std::ostream& out) {
  ASSIGN_OR_RETURN(const store::Object object, GetOrHint(store, key));
  ASSIGN_OR_RETURN(const api::Model model, store::ToModel(object));
  const std::string warning = text::UndoWarning(model);
  if (!warning.empty() && !input::AskYes(warning + ". Go on?", in, out)) return FailedPrecondition("nothing was done");
  const api::Command command = api::CommandFor("undo", model.metadata.generation, model.status);
  return SeenRollout{command.generation, command.attempt, command.step, command.from};
}

}  // namespace longshore::cli::command
