/* A whole program in C11: four ranks in one process, driven by one thread in groups, and one rank's mistakes. */
#include <stdio.h>
#include <string.h>

#include "toric/toric.h"

#define RANKS 4

static int check(toricResult_t result, const char* what) {
  if (result == toricSuccess) return 0;
  fprintf(stderr, "%s: %s: %s\n", what, toricGetErrorString(result), toricGetLastError(NULL));
  return 1;
}

int main(void) {
  toricComm_t comms[RANKS];
  float data[RANKS][1000];
  int bad = check(toricCommInitAll(comms, RANKS, NULL), "toricCommInitAll");
  if (bad) return 1;
  for (int rank = 0; rank < RANKS; ++rank)
    for (int i = 0; i < 1000; ++i) data[rank][i] = (float)(rank * i);

  bad |= check(toricGroupStart(), "toricGroupStart");
  for (int rank = 0; rank < RANKS; ++rank)
    bad |= check(toricAllReduce(data[rank], data[rank], 1000, toricFloat, toricSum, comms[rank], NULL), "toricAllReduce");
  bad |= check(toricGroupEnd(), "toricGroupEnd");

  for (int rank = 0; rank < RANKS; ++rank)
    for (int i = 0; i < 1000; ++i)
      if (data[rank][i] != (float)(6 * i)) bad = 1;

  toricConfig_t config = TORIC_CONFIG_INITIALIZER;
  if (config.size != sizeof(config) || config.blocking != 1 || config.algorithm != NULL) bad = 1;
  if (toricAllReduce(NULL, data[0], 1, toricFloat, toricSum, comms[0], NULL) != toricInvalidArgument) bad = 1;
  if (strstr(toricGetLastError(NULL), "sendbuff is NULL") == NULL) bad = 1;

  for (int rank = 0; rank < RANKS; ++rank) bad |= check(toricCommDestroy(comms[rank]), "toricCommDestroy");
  puts(bad ? "wrong" : "right");
  return bad;
}
