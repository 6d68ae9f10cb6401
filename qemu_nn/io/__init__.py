"""Files and data in and out: arrays, data sets, archives, typed JSON, optional libraries, .qnz."""
