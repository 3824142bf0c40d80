#include "reef_kernels.h"
