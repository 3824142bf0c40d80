#include <numa.h>
#include <numaif.h>
