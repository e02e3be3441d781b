// Ops with an effect: they change a variable or a table, or raise an error.
//
// Some of these ops have no kernel. Because they have a row here, pruning keeps them, and a model that needs them is
// rejected instead of running without the effect.
#include "serving-node/graph/op_families.h"

namespace longshore::graph {
namespace {

constexpr Op kOps[] = {
    {.name = "Assert", .has_effect = true},
    {.name = "AssignAddVariableOp", .has_effect = true},
    {.name = "AssignSubVariableOp", .has_effect = true},
    {.name = "AssignVariableOp", .has_effect = true},
    {.name = "InitializeTable", .has_effect = true},
    {.name = "InitializeTableFromTextFile", .has_effect = true},
    {.name = "InitializeTableFromTextFileV2", .has_effect = true},
    {.name = "InitializeTableV2", .has_effect = true},
    {.name = "LookupTableImport", .has_effect = true},
    {.name = "LookupTableImportV2", .has_effect = true},
    {.name = "LookupTableInsert", .has_effect = true},
    {.name = "LookupTableInsertV2", .has_effect = true},
    {.name = "LookupTableRemoveV2", .has_effect = true},
};

}  // namespace

std::span<const Op> StateOps() { return kOps; }

}  // namespace longshore::graph
