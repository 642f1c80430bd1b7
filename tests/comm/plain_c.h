/* Calls with any number where the API has an enum: a C++ test may not even make such an enum, a C program may. */
#ifndef TORIC_TESTS_PLAIN_C_H_
#define TORIC_TESTS_PLAIN_C_H_

#include "toric/toric.h"

#ifdef __cplusplus
extern "C" {
#endif

toricResult_t all_reduce_with(const void* send, void* receive, size_t count, int type, int op, toricComm_t comm);
toricResult_t all_gather_with(const void* send, void* receive, size_t count, int type, toricComm_t comm);
toricResult_t create_with(toricRedOp_t* op, void* scalar, int type, int residence, toricComm_t comm);
const char* error_string_of(int code);

#ifdef __cplusplus
}
#endif

#endif
