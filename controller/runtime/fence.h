// What only the leader may do, it does only while it leads.
//
// Asked before each write, by the clock. A write that is on its way when a term ends may still arrive: a status then
// fails on its resource version, a message to a node on its epoch, and an object of a fleet is put right by the next
// leader.
#pragma once

#include <functional>
#include <memory>

#include "controller/fleet/fleet.h"
#include "controller/store/store.h"

namespace longshore::runtime {

using MayWrite = std::function<bool()>;

// Whatever changes something is FailedPrecondition once it may not. All references outlive what is returned.
std::unique_ptr<store::Store> WithFence(store::Store& store, MayWrite may_write);
std::unique_ptr<fleet::Fleet> WithFence(fleet::Fleet& fleet, MayWrite may_write);

}  // namespace longshore::runtime
