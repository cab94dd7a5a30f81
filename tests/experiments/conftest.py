"""The task and the run with many uncertain sources, for the simulated reviewer."""

from reviewing import doubtful as doubtful
from reviewing import doubtful_run as doubtful_run
from reviewing import doubtful_task as doubtful_task
