// Checks of what comes through the C API. Every refusal names the function, the argument and the remedy. Nothing here
// allocates or composes text unless it refuses.
#pragma once

#include "toric/comm/communicator.hpp"

#include <cstddef>

namespace toric {

/// A collective call as the C API received it; enums are plain numbers, which may be anything.
struct RawCall {
  const char* function;
  Collective what;
  const void* send;
  void* receive;
  std::size_t count;
  int type;
  int op;         // reductions only
  int root = -1;  // rooted collectives only
  const void* stream;
};

/// Fills `call` from `raw`, or says what is wrong with it.
Status check_call(const RawCall& raw, Communicator& communicator, CollectiveCall& call);

/// A data type's number, or what is wrong with it.
Status check_type(const char* function, int number, DataType& type);

}  // namespace toric
